"""How notes age: the three rules of `projections.lots`, one by one."""

from projections.lots import NoteMove, lying

NOTE = "iou/alva/krona"
HOME = "debtor/alva"


def fold(*moves: tuple[int, str, str, int] | tuple[int, str, str, int, int]) -> dict[str, dict[int, int]]:
    """position, from, to, amount and what it reverses; a name is a purse. Where alva's krona notes lie."""

    def account(name: str) -> str:
        return name if "/" in name else f"purse/{name}"

    found = lying(NoteMove(at, NOTE, account(f), account(t), n, *rest) for at, f, t, n, *rest in moves)
    return {holder.removeprefix("purse/"): dict(lots) for (_, holder), lots in found.items()}


def test_a_note_is_as_old_as_the_event_that_issued_it() -> None:
    assert fold((3, HOME, "birk", 5), (7, HOME, "birk", 2), (8, HOME, "cato", 1)) == {
        "birk": {3: 5, 7: 2},
        "cato": {8: 1},
    }


def test_what_is_settled_in_part_is_the_oldest_part() -> None:
    assert fold((3, HOME, "birk", 5), (7, HOME, "birk", 2), (9, "birk", HOME, 6)) == {"birk": {7: 1}}
    assert fold((3, HOME, "birk", 5), (9, "birk", HOME, 5)) == {}


def test_what_changes_hands_keeps_its_age() -> None:
    """Handed on, staked and won: and among what is there already it is as old as it was."""
    moves = [(3, HOME, "birk", 5), (7, HOME, "cato", 2), (8, "birk", "cato", 4)]
    assert fold(*moves) == {"birk": {3: 1}, "cato": {3: 4, 7: 2}}
    assert fold(*moves, (9, "cato", HOME, 5)) == {"birk": {3: 1}, "cato": {7: 1}}
    assert fold((3, HOME, "pot/t", 5), (6, "pot/t", "birk", 5)) == {"birk": {3: 5}}
    assert fold((3, HOME, "seat/t/alva", 5), (6, "seat/t/alva", "pot/t", 2)) == {
        "seat/t/alva": {3: 3},
        "pot/t": {3: 2},
    }


def test_a_reversed_note_is_the_one_that_goes_not_an_older_one() -> None:
    assert fold((3, HOME, "birk", 5), (7, HOME, "birk", 5), (9, "birk", HOME, 5, 7)) == {"birk": {3: 5}}


def test_a_note_that_a_reversal_brings_back_is_as_old_as_it_was() -> None:
    issued = [(3, HOME, "birk", 5), (7, HOME, "birk", 2)]
    assert fold(*issued, (9, "birk", HOME, 6), (12, HOME, "birk", 6, 9)) == {"birk": {3: 5, 7: 2}}


def test_a_reversed_hand_over_brings_back_the_very_notes() -> None:
    moves = [(2, HOME, "cato", 4), (3, HOME, "birk", 5), (8, "birk", "cato", 3)]
    assert fold(*moves) == {"birk": {3: 2}, "cato": {2: 4, 3: 3}}
    assert fold(*moves, (9, "cato", "birk", 3, 8)) == {"birk": {3: 5}, "cato": {2: 4}}


def test_where_the_very_notes_are_gone_the_oldest_go_instead() -> None:
    """7's notes were handed on by cato; birk gets as many back, of those that are there."""
    moves = [(3, HOME, "birk", 5), (7, HOME, "cato", 5), (8, "birk", "cato", 5), (9, "cato", "dana", 5)]
    assert fold(*moves, (10, "cato", "birk", 5, 8)) == {"birk": {7: 5}, "dana": {3: 5}}


def test_an_event_with_several_postings_is_reversed_posting_by_posting() -> None:
    """The last first: a plan took back notes from two holders."""
    issued = [(3, HOME, "birk", 5), (4, HOME, "cato", 1)]
    plan = [(6, "birk", HOME, 5), (6, "cato", HOME, 1)]
    assert fold(*issued, *plan, (8, HOME, "cato", 1, 6), (8, HOME, "birk", 5, 6)) == {"birk": {3: 5}, "cato": {4: 1}}


def test_notes_of_one_event_are_one_lot() -> None:
    assert fold((3, HOME, "pot/t", 5), (6, "pot/t", "birk", 2), (7, "pot/t", "birk", 3)) == {"birk": {3: 5}}
