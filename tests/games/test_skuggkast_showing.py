"""Skuggkast, rule 8: a named cast that is shown openly."""

import pytest

from ledger.games.skuggkast import messages as m
from ledger.sealing import holds
from tests.games.skuggkast_support import POT, Tavern, named


def test_a_named_cast_that_is_shown_counts_more_at_once() -> None:
    tavern = Tavern()
    tavern.open(target=5, named_casts=[named(6, "cursed", 2)])
    tavern.do("roll", "alva", "star-6-cursed")
    made, judged, stood = tavern.do("claim", "alva", "star-6-cursed", show=True)
    said = m.Dice("star", 6, "cursed")
    assert made == m.ClaimMade(seat="alva", claimed=said, show=True)
    assert isinstance(judged, m.ClaimJudged)
    assert (judged.verdict, judged.challenger, judged.dice, judged.falls_out) == ("true", None, said, False)
    assert [holds(uncovered) for uncovered in judged.uncovered] == [True]
    assert stood == m.ClaimStood(seat="alva", cast="star-6-cursed", counts=3)
    assert (tavern.view["phase"], tavern.view["turn"], tavern.view["claim"]) == ("turn", "birk", None)
    assert tavern.seat("alva")["casts"] == ["star-6-cursed"] and tavern.counted()["alva"] == 3


def test_without_a_recorded_roll_the_claim_brings_the_dice() -> None:
    tavern = Tavern()
    tavern.open(named_casts=[named(6, "cursed")], turn_raise=1)
    tavern.refused("dice_required", "claim", "alva", "star-6-cursed", show=True)
    tavern.refused("dice_not_accepted", "claim", "alva", "star-6-cursed", dice="star-6-cursed")
    tavern.refused("dice_not_accepted", "claim", "alva", "star-6-cursed", show=False, dice="star-6-cursed")
    events = tavern.do("claim", "alva", "star-6-cursed", show=True, dice="star-6-cursed")
    assert isinstance(events[1], m.ClaimJudged) and events[1].uncovered == ()
    assert events[2] == m.ClaimStood(seat="alva", cast="star-6-cursed", counts=2)
    assert tavern.postings == [("purse/alva", POT, "krona", 1)]


def test_where_a_roll_is_sealed_the_claim_brings_no_dice() -> None:
    for mode in ("reported", "service"):
        tavern = Tavern()
        tavern.open(dice=mode, named_casts=[named(6, "cursed")])
        tavern.do("roll", "alva", **({"dice": "star-6-cursed"} if mode == "reported" else {}))
        tavern.refused("dice_not_accepted", "claim", "alva", "star-6-cursed", show=True, dice="star-6-cursed")
        tavern.refused("dice_not_accepted", "claim", "alva", "star-6-cursed", dice="star-6-cursed")


@pytest.mark.parametrize("cast", ["star-5-cursed", "star-6-neutral", "sun-6-cursed"])
def test_only_a_named_cast_with_the_star_is_shown(cast: str) -> None:
    tavern = Tavern()
    tavern.open(named_casts=[named(6, "cursed")])
    tavern.do("roll", "alva", cast)
    assert "star-6-cursed" in tavern.refused("not_named", "claim", "alva", cast, show=True)
    assert tavern.view["phase"] == "claim"


@pytest.mark.parametrize(("rolled", "verdict"), [("star-6-neutral", "lie"), ("star-6-guardian", "guardian")])
def test_an_untrue_cast_that_is_shown_is_a_lie(rolled: str, verdict: str) -> None:
    """As at a challenge: out of contention, the stake burnt, nobody else pays or misses a turn."""
    tavern = Tavern()
    tavern.open(
        dice_set="runes",
        named_casts=[named(6, "shadow")],
        burnt_stake="burnt",
        wrong_challenge_skips_turn=True,
    )
    tavern.do("roll", "alva", rolled)
    _, judged = tavern.do("claim", "alva", "star-6-shadow", show=True)
    assert isinstance(judged, m.ClaimJudged)
    assert (judged.verdict, judged.falls_out, judged.misses_turn, judged.burnt) == (verdict, True, False, 5)
    assert tavern.postings == [(POT, "burnt", "krona", 5)]
    assert not tavern.seat("alva")["in_contention"]
    assert tavern.view["turn"] == "birk"


def test_a_named_cast_that_is_not_shown_counts_one() -> None:
    for proved in (True, False):
        tavern = Tavern()
        tavern.open(named_casts=[named(6, "cursed", 2)], target=6)
        tavern.do("roll", "alva", "star-6-cursed")
        tavern.do("claim", "alva", "star-6-cursed")
        events = tavern.do("challenge", "birk") if proved else tavern.do("accept")
        assert events[-1] == m.ClaimStood(seat="alva", cast="star-6-cursed", counts=1)


def test_a_shown_cast_counts_only_where_a_claim_would() -> None:
    """Not again, and not for a seat that is out of contention (rule 6)."""
    tavern = Tavern()
    tavern.open("alva", "birk", target=9, named_casts=[named(6, "cursed", 2)])
    for seat in ("alva", "birk"):
        tavern.do("claim", seat, "star-6-cursed", show=True, dice="star-6-cursed")
    stood = tavern.do("claim", "alva", "star-6-cursed", show=True, dice="star-6-cursed")[-1]
    assert stood == m.ClaimStood(seat="alva", cast="star-6-cursed", counts=0)
    tavern.do("claim", "birk", "star-6-cursed", show=True, dice="star-1-cursed")
    tavern.do("claim", "alva", "sun-6-cursed")
    tavern.do("accept")
    stood = tavern.do("claim", "birk", "star-6-cursed", show=True, dice="star-6-cursed")[-1]
    assert stood == m.ClaimStood(seat="birk", cast="star-6-cursed", counts=0)
    assert tavern.counted() == {"alva": 3, "birk": 3}


def test_the_bonus_alone_can_win() -> None:
    tavern = Tavern()
    tavern.open(named_casts=[named(6, "cursed", 10**15)])
    tavern.do("claim", "alva", "star-6-cursed", show=True, dice="star-6-cursed")
    assert (tavern.view["phase"], tavern.view["winner"]) == ("closed", "alva")
    assert tavern.counted()["alva"] == 1 + 10**15
