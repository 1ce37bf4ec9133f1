"""Schocken: the halves, the final, what the loser owes or pays, and giving everything back."""

import pytest

from ledger.games.schocken.messages import HalfLost, MatchLost
from ledger.games.table import TableClosed, TableVoided
from ledger.messages import Posting
from tests.games.schocken_support import EIGHT, FOUR, HIGH, LOW, MARKS, SCHNAPPS, Table, names, won_by

# ---- halves, final, match ----


def test_a_final_between_the_losers_of_the_halves() -> None:
    """All lids in the middle, only those two, started by the loser of the second half; its loser loses the match."""
    table = Table(rules={"lids": 3})
    table.lose("dieter", "anna")
    table.lose("bernd", "anna")
    view = table.view
    assert (view["half"], view["round"], view["half_losers"], view["middle"]) == ("final", 1, ["dieter", "bernd"], 3)
    assert [s["playing"] for s in view["seats"]] == [False, True, False, True]
    assert table.state.playing == ("bernd", "dieter")
    table.says_no("not_your_turn", "throw", "anna", dice=[1, 1, 1])
    table.round({"bernd": HIGH, "dieter": LOW})
    assert (table.lids(), table.view["turn"], table.view["half"]) == ({"dieter": 1}, "dieter", "final")
    table.round({"dieter": HIGH, "bernd": LOW})
    table.round({"bernd": HIGH, "dieter": LOW})
    assert (table.view["middle"], table.lids()) == (0, {"bernd": 1, "dieter": 2})
    came = table.round({"dieter": LOW, "bernd": (4, 4, 4)})
    assert names(came) == ["thrown", "round_scored", "half_lost", "match_lost", "closed"]
    assert came[2:] == [
        HalfLost(half="final", loser="dieter", next=None),
        MatchLost(loser="dieter"),
        TableClosed(how="lost", winner=None),
    ]
    view = table.view
    assert (view["phase"], view["loser"], view["winner"], view["half"]) == ("closed", "dieter", None, "final")
    assert view["half_losers"] == ["dieter", "bernd"]
    assert view["last_round"] == {"best": "bernd", "worst": "dieter", "hand": "general", "lids": 1}
    table.is_closed_and_empty()
    table.is_sound()


def test_in_the_final_only_the_two_drop_dice_but_all_others_are_owed() -> None:
    table = Table(rules={"lids": 3, "dropped_die_forfeit": SCHNAPPS})
    table.lose("dieter", "anna")
    table.lose("bernd", "anna")
    table.says_no("not_playing", "drop", "carla")
    table.act("drop", "dieter")
    assert [table.owed(seat) for seat in FOUR] == [{"dieter/schnapps": 2}] * 3 + [{}]


def test_who_loses_both_halves_loses_the_match() -> None:
    """Without a final; the closed table shows the last hands, all cups lifted."""
    table = Table(rules={"lids": 3})
    table.lose("dieter", "anna")
    came = table.lose("dieter", "carla")
    assert names(came) == ["thrown", "round_scored", "half_lost", "match_lost", "closed"]
    assert came[2] == HalfLost(half=2, loser="dieter", next=None)
    view = table.view
    assert (view["loser"], view["half_losers"], view["half"]) == ("dieter", ["dieter", "dieter"], 2)
    assert [s["hand"] for s in view["seats"]] == [[6, 6, 5], [6, 6, 5], [1, 1, 1], [2, 2, 1]]
    table.is_closed_and_empty()
    table.is_sound()


def test_the_loser_owes_the_forfeit_to_each_other_seat() -> None:
    """A promise becomes notes at the end, clockwise from the loser, also without credit."""
    table = Table(rules={"lids": 3, "forfeit": {"asset": "drink", "amount": 4}}, credit=False)
    table.lose("carla", "anna")
    assert table.owed("anna") == {}
    table.lose("carla", "anna")
    assert [table.owed(seat) for seat in FOUR] == [{"carla/drink": 4}, {"carla/drink": 4}, {}, {"carla/drink": 4}]
    lost = next(r for r in table.larp.journal if isinstance(r.event, MatchLost))
    assert [p.to for p in lost.postings] == ["purse/dieter", "purse/anna", "purse/bernd"]
    table.is_closed_and_empty()
    table.is_sound()


def test_the_loser_pays_tokens_from_what_it_put_down() -> None:
    """Every other seat takes back its own and gets the amount; the loser's purse is not touched."""
    table = Table(marks=dict.fromkeys(FOUR, 10), rules={"lids": 3, "forfeit": MARKS})
    table.lose("bernd", "anna")
    table.lose("bernd", "anna")
    assert [table.account(f"purse/{seat}") for seat in FOUR] == [{"mark": 13}, {"mark": 1}, {"mark": 13}, {"mark": 13}]
    table.is_closed_and_empty()
    table.is_sound()


def test_notes_in_the_pot_tokens_first_then_notes() -> None:
    """Clockwise from the loser; the notes of the others go home, the loser's go to who is paid last."""
    table = Table(
        marks={"anna": 2, "bernd": 4, "carla": 9, "dieter": 50},
        limits={"anna": 7, "bernd": 5},
        rules={"lids": 3, "forfeit": MARKS},
        credit=True,
    )
    assert table.view["pot"] == {"mark": 24, "iou/anna/mark": 7, "iou/bernd/mark": 5}
    table.lose("bernd", "dieter")
    table.lose("bernd", "dieter")
    lost = next(r for r in table.larp.journal if isinstance(r.event, MatchLost))
    assert lost.postings == (
        Posting("pot/t", "purse/carla", "mark", 9),
        Posting("pot/t", "purse/dieter", "mark", 9),
        Posting("pot/t", "debtor/anna", "iou/anna/mark", 7),
        Posting("pot/t", "purse/anna", "mark", 2),
        Posting("pot/t", "purse/carla", "mark", 3),
        Posting("pot/t", "purse/dieter", "mark", 1),
        Posting("pot/t", "purse/dieter", "iou/bernd/mark", 2),
        Posting("pot/t", "purse/anna", "iou/bernd/mark", 3),
    )
    assert table.account("purse/anna") == {"mark": 2, "iou/bernd/mark": 3}
    assert table.account("debtor/bernd") == {"iou/bernd/mark": -5}
    assert table.account("debtor/anna") == {}
    table.is_closed_and_empty()
    table.is_sound()


def test_everybody_on_credit_alone() -> None:
    """Eight seats without a single token: only the loser's notes are left in the world."""
    table = Table(
        seats=EIGHT,
        limits=dict.fromkeys(EIGHT, 21),
        rules={"lids": 3, "forfeit": MARKS, "starter": "emil"},
        credit=True,
    )
    assert table.view["pot"] == {f"iou/{seat}/mark": 21 for seat in EIGHT}
    table.lose("frida", "dieter")
    table.lose("frida", "dieter")
    assert [table.account(f"debtor/{seat}") for seat in EIGHT if seat != "frida"] == [{}] * 7
    assert [table.owed(seat) for seat in EIGHT] == [{"frida/mark": 3} if s != "frida" else {} for s in EIGHT]
    table.is_closed_and_empty()
    table.is_sound()


# ---- void ----


def in_throwing(table: Table) -> None:
    table.throw("anna", *HIGH)


def with_lids_in_front(table: Table) -> None:
    table.round(won_by((1, 1, 2)))


def with_an_empty_middle(table: Table) -> None:
    table.round(won_by((1, 1, 2)))
    table.round({"carla": HIGH, "dieter": LOW, "anna": (1, 1, 2), "bernd": HIGH})


def with_sealed_dice(table: Table) -> None:
    for seat in FOUR[:2]:
        for _ in range(3):
            table.throw(seat, *HIGH)


def in_uncovering(table: Table) -> None:
    for _ in range(2):
        table.throw("anna", *HIGH)
    table.throw("anna")
    for seat in FOUR[1:]:
        table.throw(seat, *LOW)
        table.stand(seat)
    assert table.view["phase"] == "uncovering"


def in_the_second_half(table: Table) -> None:
    table.lose("carla", "anna")


def in_the_final(table: Table) -> None:
    table.lose("carla", "anna")
    table.lose("dieter", "anna")
    table.round({"dieter": HIGH, "carla": LOW})
    assert (table.view["half"], table.lids()) == ("final", {"carla": 1})


@pytest.mark.parametrize("forfeit", [MARKS, {"asset": "drink", "amount": 1}])
@pytest.mark.parametrize(
    "play",
    [
        lambda table: None,
        in_throwing,
        with_lids_in_front,
        with_an_empty_middle,
        with_sealed_dice,
        in_uncovering,
        in_the_second_half,
        in_the_final,
    ],
)
def test_a_void_gives_back_exactly_what_was_paid_in(play: object, forfeit: dict[str, object]) -> None:
    """In every phase: tokens to who put them down, notes home, lids to the mint; sealed dice stay sealed."""
    table = Table(
        marks={"anna": 9, "bernd": 5, "carla": 30},
        limits={"bernd": 4, "dieter": 9},
        rules={"lids": 4, "forfeit": forfeit},
        credit=True,
    )
    assert callable(play)
    play(table)
    view, secrets = table.view, [r for r in table.larp.journal if b'"uncovered":[{' in r.body]
    assert table.void() == [TableVoided(reason="rain")]
    assert table.larp.balances() == table.before
    after = table.view
    assert (after["phase"], after["turn"], after["waiting_for"]) == ("voided", None, [])
    assert (after["loser"], after["middle"], after["pot"], table.lids()) == (None, 0, {}, {})
    assert [s["hand"] for s in after["seats"]] == [s["hand"] for s in view["seats"]]
    assert (after["half_losers"], after["last_round"]) == (view["half_losers"], view["last_round"])
    assert secrets == [r for r in table.larp.journal if b'"uncovered":[{' in r.body]
    table.is_closed_and_empty()
    table.is_sound()


def test_forfeits_that_have_fallen_due_stay_due_after_a_void() -> None:
    """Rounds of schnapps are owed whatever becomes of the table."""
    table = Table(
        marks=dict.fromkeys(FOUR, 9),
        rules={"forfeit": MARKS, "dropped_die_forfeit": SCHNAPPS, "hand_schock_forfeit": SCHNAPPS},
    )
    table.act("drop", "dieter")
    table.round(won_by((1, 1, 1)))
    table.void()
    assert [table.account(f"purse/{seat}").get("mark") for seat in FOUR] == [9] * 4
    assert [table.owed(seat) for seat in FOUR] == [
        {"dieter/schnapps": 2},
        {"anna/schnapps": 2, "dieter/schnapps": 2},
        {"anna/schnapps": 2, "dieter/schnapps": 2},
        {"anna/schnapps": 2},
    ]
    table.is_closed_and_empty()
    table.is_sound()
