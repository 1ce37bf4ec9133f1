"""Skuggkast, rules 3 and 10: rolling, claiming, the raise, and whose turn it is."""

from typing import Any

import msgspec
import pytest

from ledger.games.skuggkast import messages as m
from tests.games.skuggkast_support import POT, THREE, Tavern, dice, named

SYMBOLS = ("star", "sun", "moon", "crown", "sword", "skull")
RUNES = ("wind", "fire", "shadows", "star", "earth", "water")


@pytest.fixture
def tavern() -> Tavern:
    """Real dice, a stake of 5 krona, alva's turn."""
    tavern = Tavern()
    tavern.open()
    return tavern


# ---- rule 3: roll ----


def test_a_roll_seals_the_three_dice(tavern: Tavern) -> None:
    (rolled,) = tavern.do("roll", "alva", "skull-2-cursed")
    assert isinstance(rolled, m.Rolled)
    assert rolled.seat == "alva"
    assert [(sealed.seat, sealed.what) for sealed in rolled.sealed] == [("alva", "cup")]
    assert tavern.cup() == "skull-2-cursed"
    assert (tavern.view["phase"], tavern.view["turn"], tavern.view["waiting_for"]) == ("claim", "alva", ["alva"])
    assert tavern.view["claim"] is None


def test_what_was_rolled_is_nowhere_until_it_is_uncovered(tavern: Tavern) -> None:
    """No event, view, refusal or repr shows the dice; they are named in none once the claim was accepted."""
    tavern.do("roll", "alva", "skull-2-cursed")
    details = [tavern.refused("wrong_phase", "roll", "alva", "skull-2-cursed")]
    tavern.do("claim", "alva", "star-5-neutral")
    details.append(tavern.refused("own_claim", "challenge", "alva"))
    tavern.do("accept")
    tavern.void()
    seen = repr(tavern.larp.applied[1:]) + b"".join(one.body for one in tavern.larp.journal).decode()
    for text in (seen, str(tavern.view), *details[1:]):
        assert not any(word in text for word in ("skull", "cursed"))


def test_refusals_of_a_roll_come_in_their_order(tavern: Tavern) -> None:
    tavern.refused("not_seated", "roll", "kurt")
    tavern.refused("not_your_turn", "roll", "birk")
    tavern.refused("dice_required", "roll", "alva")
    detail = tavern.refused("illegal_move", "roll", "alva", "water-1-neutral")
    assert "star, sun, moon" in detail
    tavern.refused("illegal_move", "roll", "alva", "star-1-guardian")
    tavern.do("roll", "alva", "sun-1-neutral")
    tavern.refused("wrong_phase", "roll", "birk")
    tavern.refused("not_seated", "roll", "kurt")


@pytest.mark.parametrize(
    "shown",
    [
        {**dice("star-1-neutral"), "number": 7},
        {**dice("star-1-neutral"), "number": 0},
        {**dice("star-1-neutral"), "number": True},
        {**dice("star-1-neutral"), "symbol": "dragon"},
        {**dice("star-1-neutral"), "shadow": "pale"},
        {**dice("star-1-neutral"), "colour": "red"},
        {"symbol": "star", "number": 1},
        ["star", 1, "neutral"],
    ],
)
def test_dice_that_no_table_has_are_malformed(tavern: Tavern, shown: object) -> None:
    tavern.refused("malformed", "roll", "alva", dice=shown)


def test_the_two_dice_sets_have_their_own_sides() -> None:
    """A side of the other set is illegal_move, in a roll, a claim and a reveal."""
    for dice_set, own, others in (
        ("symbols", [f"{s}-1-cursed" for s in SYMBOLS], ["fire-1-neutral", "star-1-shadow", "star-1-guardian"]),
        ("runes", [f"{s}-6-guardian" for s in RUNES], ["skull-1-neutral", "star-1-blessed", "star-1-cursed"]),
    ):
        for cast in own:
            tavern = Tavern()
            tavern.open(dice_set=dice_set)
            tavern.do("roll", "alva", cast)
            tavern.do("claim", "alva", cast)
        for cast in others:
            tavern = Tavern()
            tavern.open(dice_set=dice_set)
            tavern.refused("illegal_move", "roll", "alva", cast)
            tavern.refused("illegal_move", "claim", "alva", cast)
            tavern.do("claim", "alva", "star-1-neutral")
            tavern.do("challenge", "birk")
            tavern.refused("illegal_move", "reveal", "alva", cast)


def test_the_service_rolls_every_side_and_no_other() -> None:
    for dice_set, symbols, shadows in (
        ("symbols", set(SYMBOLS), {"neutral", "blessed", "cursed"}),
        ("runes", set(RUNES), {"neutral", "shadow", "guardian"}),
    ):
        tavern = Tavern()
        tavern.open("alva", "birk", dice="service", dice_set=dice_set)
        seen: list[str] = []
        for turn in range(80):
            seat = ("alva", "birk")[turn % 2]
            tavern.do("roll", seat)
            seen.append(tavern.cup())
            tavern.do("claim", seat, "fire-1-neutral" if dice_set == "runes" else "sun-1-neutral")
            tavern.do("accept")
        for column, sides in enumerate((symbols, {"1", "2", "3", "4", "5", "6"}, shadows)):
            assert {cast.split("-")[column] for cast in seen} == sides


def test_a_service_table_takes_no_dice() -> None:
    tavern = Tavern()
    tavern.open(dice="service")
    tavern.refused("not_your_turn", "roll", "birk", "star-1-neutral")
    tavern.refused("dice_not_accepted", "roll", "alva", "star-1-neutral")
    tavern.refused("dice_not_accepted", "roll", "alva", "fire-1-neutral")
    tavern.do("roll", "alva")


# ---- rule 3: claim ----


def test_a_claim_opens_the_window(tavern: Tavern) -> None:
    tavern.do("roll", "alva", "sun-1-neutral")
    said = m.Dice("star", 5, "neutral")
    assert tavern.do("claim", "alva", "star-5-neutral") == [m.ClaimMade(seat="alva", claimed=said, show=False)]
    view = tavern.view
    assert (view["phase"], view["turn"], view["waiting_for"]) == ("response", "alva", ["birk", "embla"])
    assert view["claim"] == {
        "seat": "alva",
        "symbol": "star",
        "number": 5,
        "shadow": "neutral",
        "believed": [],
        "challenger": None,
    }


def test_at_a_reported_table_a_claim_needs_no_recorded_roll(tavern: Tavern) -> None:
    tavern.do("claim", "alva", "star-5-neutral")
    assert tavern.view["phase"] == "response"
    assert tavern.larp.book.secrets.get("t") is None


def test_any_combination_may_be_claimed() -> None:
    """Also one that is no Skuggkast, and the guardian's own side."""
    for cast, dice_set in (("skull-6-cursed", "symbols"), ("water-3-guardian", "runes"), ("star-3-guardian", "runes")):
        tavern = Tavern()
        tavern.open(dice_set=dice_set)
        tavern.do("claim", "alva", cast)
        assert tavern.do("accept")[-1] == m.ClaimStood(seat="alva", cast=cast, counts=0)


def test_at_a_service_table_a_claim_needs_a_roll() -> None:
    """In phase turn that is wrong_phase, which comes before whose turn it is."""
    tavern = Tavern()
    tavern.open(dice="service", named_casts=[named(6, "cursed")])
    for seat in THREE:
        tavern.refused("wrong_phase", "claim", seat, "star-5-neutral")
        tavern.refused("wrong_phase", "claim", seat, "star-6-cursed", show=True, dice="star-6-cursed")
    tavern.do("roll", "alva")
    tavern.refused("not_your_turn", "claim", "birk", "star-5-neutral")
    tavern.do("claim", "alva", "star-5-neutral")


def test_refusals_of_a_claim_come_in_their_order(tavern: Tavern) -> None:
    tavern.refused("malformed", "claim", "kurt", "star-5-neutral", dice={"symbol": "star"})
    tavern.refused("not_seated", "claim", "kurt", "fire-5-neutral", dice="star-5-neutral")
    tavern.refused("not_your_turn", "claim", "birk", "fire-5-neutral", dice="star-5-neutral")
    tavern.refused("dice_not_accepted", "claim", "alva", "fire-5-neutral", dice="star-5-neutral")
    tavern.refused("dice_required", "claim", "alva", "fire-5-neutral", show=True)
    tavern.refused("illegal_move", "claim", "alva", "fire-5-neutral", show=True, dice="star-5-neutral")
    tavern.refused("illegal_move", "claim", "alva", "star-5-neutral", show=True, dice="fire-5-neutral")
    tavern.refused("not_named", "claim", "alva", "star-5-neutral", show=True, dice="star-5-neutral")
    tavern.do("claim", "alva", "star-5-neutral")
    tavern.refused("wrong_phase", "claim", "birk", "star-5-neutral")
    tavern.refused("wrong_phase", "claim", "alva", "fire-5-neutral", dice="star-5-neutral")


def test_a_claim_without_words_is_malformed(tavern: Tavern) -> None:
    tavern.refused("malformed", "claim", "alva")
    tavern.refused("malformed", "claim", "alva", symbol="star", number=5)
    tavern.refused("malformed", "claim", "alva", "star-5-neutral", show="yes")
    tavern.refused("malformed", "claim", None, "star-5-neutral")


@pytest.mark.parametrize("action", ["throw", "show", "resign", "", "roll_sok"])
def test_actions_of_other_games_are_malformed(tavern: Tavern, action: str) -> None:
    tavern.refused("malformed", action, "alva")


# ---- rule 3: the raise ----


def test_the_raise_is_paid_once_a_turn_with_the_roll() -> None:
    tavern = Tavern()
    tavern.open(turn_raise=2)
    tavern.do("roll", "alva", "sun-1-neutral")
    assert tavern.postings == [("purse/alva", POT, "krona", 2)]
    tavern.do("claim", "alva", "star-1-neutral")
    assert tavern.postings == []
    tavern.do("accept")
    tavern.do("claim", "birk", "star-1-neutral")
    assert tavern.postings == [("purse/birk", POT, "krona", 2)]
    tavern.do("accept")
    tavern.do("roll", "embla", "sun-1-neutral")
    assert tavern.postings == [("purse/embla", POT, "krona", 2)]
    tavern.do("claim", "embla", "star-1-neutral")
    tavern.do("accept")
    tavern.do("claim", "alva", "star-2-neutral")
    assert tavern.postings == [("purse/alva", POT, "krona", 2)]
    assert tavern.view["pot"] == {"krona": 23}


def test_a_rebuy_of_the_active_seat_pays_the_raise_first() -> None:
    """And the roll after it pays none."""
    tavern = out_of_contention(turn_raise=2)
    tavern.do("claim", "birk", "star-1-neutral")
    tavern.do("accept")
    tavern.do("rebuy", "alva")
    assert tavern.postings == [("purse/alva", POT, "krona", 2), ("purse/alva", POT, "krona", 5)]
    tavern.do("roll", "alva", "star-1-neutral")
    assert tavern.postings == []


def test_a_rebuy_out_of_turn_pays_no_raise_and_does_not_save_one() -> None:
    tavern = out_of_contention(turn_raise=2)
    tavern.do("rebuy", "alva")
    assert tavern.postings == [("purse/alva", POT, "krona", 5)]
    tavern.do("roll", "birk", "sun-1-neutral")
    assert tavern.postings == [("purse/birk", POT, "krona", 2)]
    tavern.do("claim", "birk", "star-1-neutral")
    tavern.do("accept")
    tavern.do("roll", "alva", "star-1-neutral")
    assert tavern.postings == [("purse/alva", POT, "krona", 2)]


def test_who_cannot_cover_the_raise_can_only_leave() -> None:
    tavern = Tavern(krona={"alva": 7})
    tavern.open(turn_raise=3, named_casts=[named(6, "cursed")])
    for action, more in (
        ("roll", {"dice": "star-1-neutral"}),
        ("claim", dice("star-1-neutral")),
        ("claim", {**dice("star-6-cursed"), "show": True, "dice": "star-6-cursed"}),
    ):
        assert tavern.refused("insufficient_funds", action, "alva", **more) == "alva has 2 krona, the raise is 3"
    tavern.refused("in_contention", "rebuy", "alva")
    tavern.do("leave", "alva")
    assert tavern.view["turn"] == "birk"


def test_who_can_cover_the_raise_and_not_the_stake_cannot_rebuy() -> None:
    """Both are paid or neither, and the roll alone is still possible."""
    tavern = out_of_contention(turn_raise=2)
    tavern.do("claim", "birk", "star-1-neutral")
    tavern.do("accept")
    tavern.spend("alva", tavern.purse("alva") - 6)
    assert tavern.refused("insufficient_funds", "rebuy", "alva") == "alva has 4 krona, the stake is 5"
    tavern.do("roll", "alva", "star-1-neutral")
    assert tavern.postings == [("purse/alva", POT, "krona", 2)]


def test_the_raise_is_paid_on_credit_where_the_table_gives_it() -> None:
    tavern = Tavern(krona={"alva": 6}, limits={"alva": 3})
    tavern.open(turn_raise=4, credit=True)
    tavern.do("roll", "alva", "star-1-neutral")
    assert tavern.postings == [("purse/alva", POT, "krona", 1), ("debtor/alva", POT, "iou/alva/krona", 3)]
    for seat in ("alva", "birk", "embla"):
        tavern.do("claim", seat, "star-1-neutral")
        tavern.do("accept")
    assert "0 more" in tavern.refused("credit_exceeded", "claim", "alva", "star-1-neutral")


def test_a_seat_that_left_on_its_turn_leaves_the_next_its_own_raise() -> None:
    tavern = Tavern()
    tavern.open(turn_raise=2)
    tavern.do("roll", "alva", "star-1-neutral")
    tavern.do("leave", "alva")
    tavern.do("roll", "birk", "star-1-neutral")
    assert tavern.postings == [("purse/birk", POT, "krona", 2)]


# ---- rule 10 ----


def test_the_turn_goes_clockwise_past_seats_that_left(tavern: Tavern) -> None:
    turns = []
    for step in range(7):
        seat = tavern.view["turn"]
        turns.append(seat)
        tavern.do("claim", seat, "sun-1-neutral")
        tavern.do("accept")
        if step == 3:
            tavern.do("leave", "embla")
    assert turns == ["alva", "birk", "embla", "alva", "birk", "alva", "birk"]


def test_seats_out_of_contention_take_their_turns() -> None:
    tavern = out_of_contention()
    tavern.do("claim", "birk", "star-1-neutral")
    tavern.do("accept")
    assert tavern.view["turn"] == "alva"


# ---- helpers ----


def out_of_contention(**rules: Any) -> Tavern:
    """alva lied to birk, its only neighbour, and is out; it is birk's turn."""
    tavern = Tavern()
    tavern.open("alva", "birk", **rules)
    tavern.do("roll", "alva", "sun-1-neutral")
    tavern.do("claim", "alva", "star-1-neutral")
    tavern.do("challenge", "birk")
    assert not tavern.seat("alva")["in_contention"]
    return tavern


def test_dice_of_the_wire_are_those_of_the_journal() -> None:
    assert msgspec.to_builtins(m.Dice("star", 5, "neutral")) == dice("star-5-neutral")
