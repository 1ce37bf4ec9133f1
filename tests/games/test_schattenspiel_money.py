"""Schattenspiel: the pot, the markers (rule 5), what the end gives to whom (rule 6), and voids."""

from typing import Any

import pytest

from ledger.games.table import TableClosed
from ledger.messages import Posting
from tests.games.schattenspiel_support import POT, PURSE_A, PURSE_B, SEAT_A, SEAT_B, Tavern

MARKERS = {"format": "markers"}
NOTE_A, NOTE_B = "iou/anselm/schraube", "iou/brunhild/schraube"


def with_markers(stake: int, *variants: str, **body: Any) -> Tavern:
    tavern = Tavern()
    tavern.open(stake=stake, rules={**MARKERS, "variants": list(variants)}, **body)
    return tavern


def on_credit(stake: int, rules: dict[str, Any]) -> Tavern:
    """anselm has 2 schraube and brunhild none; both may owe 10."""
    tavern = Tavern()
    tavern.collect("anselm", 8)
    tavern.collect("brunhild", 10)
    for character in ("anselm", "brunhild"):
        tavern.credit(character, 10)
    tavern.open(stake=stake, credit=True, rules=rules)
    return tavern


def a_loses(tavern: Tavern) -> None:
    tavern.round("rH", "sL")


def b_loses(tavern: Tavern) -> None:
    tavern.round("sL", "rH")


# ---- the pot ----


def test_winner_takes_the_whole_pot() -> None:
    """Rule 6, on the event that closes the table."""
    tavern = Tavern()
    tavern.open(stake=3, rules={"format": "single"})
    _, closed = tavern.round("rH", "sL")
    assert isinstance(closed, TableClosed) and (closed.how, closed.winner) == ("won", "brunhild")
    assert tavern.last_postings == (Posting(POT, PURSE_B, "schraube", 6),)
    assert (tavern.account(PURSE_A), tavern.account(PURSE_B)) == ({"schraube": 7}, {"schraube": 13})


def test_rounds_of_best_of_move_nothing() -> None:
    tavern = Tavern()
    tavern.open(stake=3)
    b_loses(tavern)
    assert tavern.last_postings == () and tavern.account(POT) == {"schraube": 6}


def test_pot_with_notes_is_won_whole() -> None:
    """Whole wins: tokens and notes to the winner's purse, notes of the winner's own go home."""
    tavern = on_credit(3, {"format": "single"})
    assert tavern.view["pot"] == {NOTE_A: 1, NOTE_B: 3, "schraube": 2}
    b_loses(tavern)
    assert tavern.account(PURSE_A) == {"schraube": 2, NOTE_B: 3}
    assert tavern.account("debtor/anselm") == {} and tavern.account("debtor/brunhild") == {NOTE_B: -3}


def test_pot_with_notes_is_won_by_the_other() -> None:
    tavern = on_credit(3, {"format": "single"})
    tavern.resign("anselm")
    assert tavern.account(PURSE_B) == {"schraube": 2, NOTE_A: 1}
    assert tavern.account("debtor/brunhild") == {} and tavern.account("debtor/anselm") == {NOTE_A: -1}


def test_stake_in_a_promise_is_paid_in_notes() -> None:
    """A promise asset is staked wholly in notes, at a credit table."""
    tavern = Tavern()
    tavern.open(credit=True, rules={"format": "single"}, stake=2, asset="pint")
    assert tavern.view["pot"] == {"iou/anselm/pint": 2, "iou/brunhild/pint": 2}
    b_loses(tavern)
    assert tavern.account(PURSE_A) == {"schraube": 10, "iou/brunhild/pint": 2}


def test_credit_has_its_limit() -> None:
    """Past it: credit_exceeded; both seats are asked before anything moves."""
    tavern = Tavern()
    tavern.credit("anselm", 5)
    stake = {"asset": "schraube", "amount": 12}
    detail = tavern.refuses_opening("credit_exceeded", stake=stake, credit=True, rules=MARKERS)
    assert detail == "brunhild has 10 schraube and may owe 0 more, the stake is 12"
    tavern.refuses_opening("insufficient_funds", stake=stake, rules=MARKERS)
    tavern.credit("brunhild", 2)
    tavern.open(credit=True, stake=12, rules=MARKERS)
    assert tavern.account(SEAT_B) == {"schraube": 10, NOTE_B: 2}


# ---- rule 5 ----


def test_loser_of_a_round_gives_one_marker_into_the_pot() -> None:
    """Rule 5, ruled: from its seat into the pot, on the event that judges the round."""
    tavern = with_markers(3)
    b_loses(tavern)
    assert tavern.last_postings == (Posting(SEAT_B, POT, "schraube", 1),)
    assert tavern.markers == [3, 2] and tavern.view["pot"] == {"schraube": 1}
    tavern.shown_round("rH", "sL")
    assert tavern.last_postings == (Posting(SEAT_A, POT, "schraube", 1),)
    assert tavern.markers == [2, 2] and tavern.view["pot"] == {"schraube": 2}


def test_who_has_no_marker_left_loses() -> None:
    """Rules 5 and 6: the winner takes the pot and takes back what is still in front of it."""
    tavern = with_markers(2)
    a_loses(tavern)
    b_loses(tavern)
    b_loses(tavern)
    assert tavern.view["winner"] == "anselm" and tavern.view["phase"] == "closed"
    assert set(tavern.last_postings) == {Posting(POT, PURSE_A, "schraube", 3), Posting(SEAT_A, PURSE_A, "schraube", 1)}
    assert (tavern.account(PURSE_A), tavern.account(PURSE_B)) == ({"schraube": 12}, {"schraube": 8})
    assert tavern.markers == [0, 0] and tavern.view["pot"] == {}


def test_one_marker_each_is_a_single_round() -> None:
    tavern = with_markers(1)
    a_loses(tavern)
    assert tavern.view["winner"] == "brunhild"
    assert tavern.account(PURSE_B) == {"schraube": 11}


def test_points_are_shown_and_decide_nothing() -> None:
    """Rule 5: with markers a seat may be far ahead in points."""
    tavern = with_markers(9)
    for _ in range(8):
        b_loses(tavern)
    assert tavern.points == [8, 0] and tavern.markers == [9, 1] and tavern.view["phase"] == "play"
    assert tavern.view["round"] == 9


@pytest.mark.parametrize(("of_a", "of_b"), [("sL", "sH"), ("rL", "rL"), ("lH", "lH")])
def test_annulled_rounds_move_no_marker(of_a: str, of_b: str) -> None:
    """Rules 2.2 and 2.6: nobody lost."""
    tavern = with_markers(1)
    tavern.round(of_a, of_b)
    assert tavern.last_postings == () and tavern.markers == [1, 1] and tavern.view["phase"] == "play"


def test_round_annulled_by_discipline_moves_no_marker() -> None:
    """Rule 2.1: both broke it."""
    tavern = with_markers(2, "feu_werk")
    tavern.round("lL", "lH")
    assert tavern.markers == [1, 2]
    tavern.round("sH", "rH")
    assert tavern.markers == [1, 2] and tavern.last_postings == ()


def test_double_shadow_of_konklave_nord_moves_no_marker_and_counts() -> None:
    """Rule 5, ruled: nobody lost the round."""
    tavern = with_markers(1, "konklave_nord")
    tavern.round("sL", "sL")
    assert tavern.last_postings == () and tavern.markers == [1, 1]
    assert tavern.points == [1, 1] and tavern.view["round"] == 2 and tavern.view["phase"] == "play"


@pytest.mark.parametrize(("variant", "of_a", "of_b"), [("feu_werk", "rL", "lH"), ("dust_covenant", "lL", "rL")])
def test_every_way_of_losing_a_round_costs_a_marker(variant: str, of_a: str, of_b: str) -> None:
    """Rule 5: by discipline and by the break value too."""
    tavern = with_markers(5, variant)
    tavern.round("sL", "lL")
    assert tavern.markers == [5, 4]
    tavern.round(of_a, of_b)
    assert tavern.markers == [5, 3]


def test_tokens_are_given_before_notes() -> None:
    """Rule 5: its tokens first, then its notes."""
    tavern = on_credit(4, MARKERS)
    assert tavern.account(SEAT_A) == {"schraube": 2, NOTE_A: 2}
    assert tavern.account(SEAT_B) == {NOTE_B: 4}
    assert tavern.markers == [4, 4]
    given = []
    for _ in range(3):
        a_loses(tavern)
        given.append(tavern.last_postings[0].asset)
    assert given == ["schraube", "schraube", NOTE_A]
    b_loses(tavern)
    assert tavern.view["pot"] == {NOTE_A: 1, NOTE_B: 1, "schraube": 2}
    assert tavern.markers == [1, 3]
    a_loses(tavern)
    assert tavern.view["winner"] == "brunhild"
    assert tavern.account(PURSE_B) == {"schraube": 2, NOTE_A: 2}
    assert tavern.account("debtor/brunhild") == {} and tavern.account("debtor/anselm") == {NOTE_A: -2}


def test_markers_of_a_promise_are_notes() -> None:
    tavern = Tavern()
    tavern.open(credit=True, rules=MARKERS, stake=2, asset="pint")
    assert tavern.account(SEAT_A) == {"iou/anselm/pint": 2}
    b_loses(tavern)
    b_loses(tavern)
    assert tavern.view["winner"] == "anselm"
    assert tavern.account(PURSE_A) == {"schraube": 10, "iou/brunhild/pint": 2}
    assert tavern.account("debtor/anselm") == {}


def test_a_note_one_holds_is_never_staked() -> None:
    """Playing on credit: own tokens, then one's own new notes."""
    tavern = Tavern()
    tavern.credit("kurt", 5)
    tavern.credit("anselm", 3)
    tavern.ask("ious", debtor="kurt", creditor="anselm", asset="schraube", amount=5)
    tavern.open(stake=10, credit=True, rules=MARKERS)
    assert tavern.account(SEAT_A) == {"schraube": 10}
    assert tavern.account(PURSE_A) == {"iou/kurt/schraube": 5}
    tavern.resign("anselm")
    assert tavern.account(PURSE_A) == {"iou/kurt/schraube": 5, "schraube": 10}


# ---- rule 6 ----


def test_both_take_back_their_markers_when_one_resigns() -> None:
    """Rule 6: the other wins in the same way: the pot to it, to each its own markers."""
    tavern = with_markers(4)
    a_loses(tavern)
    b_loses(tavern)
    a_loses(tavern)
    tavern.resign("brunhild")
    assert tavern.view["winner"] == "anselm"
    assert (tavern.account(PURSE_A), tavern.account(PURSE_B)) == ({"schraube": 11}, {"schraube": 9})
    assert tavern.account(SEAT_A) == tavern.account(SEAT_B) == tavern.account(POT) == {}


def test_notes_in_front_of_who_resigns_go_home() -> None:
    """Rule 6: what it takes back of its own notes is void."""
    tavern = on_credit(4, MARKERS)
    b_loses(tavern)
    tavern.resign("brunhild")
    assert tavern.account(PURSE_A) == {"schraube": 2, NOTE_B: 1}
    assert tavern.account("debtor/anselm") == {} and tavern.account("debtor/brunhild") == {NOTE_B: -1}


def test_resigning_before_a_round_moves_the_markers_back() -> None:
    """Rule 6: nothing is in the pot yet, so nobody has lost a marker."""
    tavern = with_markers(4)
    before = dict(tavern.larp.balances())
    tavern.resign("anselm")
    assert tavern.view["winner"] == "brunhild"
    assert (tavern.account(PURSE_A), tavern.account(PURSE_B)) == ({"schraube": 10}, {"schraube": 10})
    assert before != tavern.larp.balances()


# ---- void ----


def rounds_of(count: int) -> list[tuple[str, str]]:
    return [("sL", "rH"), ("rH", "sL"), ("sL", "rH"), ("sL", "sL")][:count]


@pytest.mark.parametrize("rules", [{}, {"format": "single"}, MARKERS], ids=lambda rules: rules.get("format", "best_of"))
@pytest.mark.parametrize("sealed", [False, True], ids=["no hand", "a hand sealed"])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_void_gives_back_exactly_what_was_paid_in(rules: dict[str, str], sealed: bool, count: int) -> None:
    """At a credit table: tokens to whoever paid them, notes home, whatever has moved between the seats."""
    if rules == {"format": "single"}:
        count = 0
    tavern = Tavern()
    tavern.collect("anselm", 8)
    for character in ("anselm", "brunhild"):
        tavern.credit(character, 10)
    before = tavern.larp.balances()
    tavern.open(stake=4, credit=True, rules=rules)
    for of_a, of_b in rounds_of(count):
        tavern.round(of_a, of_b)
    if sealed:
        tavern.show("brunhild", "lH")
    tavern.void()
    assert tavern.larp.balances() == before
    assert tavern.view["phase"] == "voided" and tavern.view["winner"] is None
    assert tavern.markers == [0, 0] and tavern.view["pot"] == {}


def test_events_of_a_table_are_not_reversed() -> None:
    """Corrections: a table is voided as a whole."""
    tavern = with_markers(2)
    b_loses(tavern)
    for position in range(len(tavern.larp.journal) - 1, len(tavern.larp.journal) + 1):
        tavern.refused("not_reversible", "reversals", position=position, reason="please")
