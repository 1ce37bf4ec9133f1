"""Skuggkast, rules 6 and 7: what counts, and being out of contention."""

from typing import Any

import pytest

from ledger.games.skuggkast import messages as m
from tests.games.skuggkast_support import POT, Tavern, pass_turn

# ---- rule 6 ----


def test_the_same_three_results_count_once_for_each_seat() -> None:
    tavern = Tavern()
    tavern.open("alva", "birk", target=9)
    for seat, counts in (("alva", 1), ("birk", 1), ("alva", 0)):
        tavern.do("claim", seat, "star-5-neutral")
        assert tavern.do("accept")[-1] == m.ClaimStood(seat=seat, cast="star-5-neutral", counts=counts)
    for cast in ("star-5-cursed", "star-4-neutral"):
        pass_turn(tavern, "birk")
        tavern.do("claim", "alva", cast)
        tavern.do("accept")
    assert tavern.seat("alva")["casts"] == ["star-5-neutral", "star-5-cursed", "star-4-neutral"]
    assert tavern.counted() == {"alva": 3, "birk": 1}


def test_what_was_claimed_and_did_not_count_may_count_later() -> None:
    """A lie about a cast is no cast that was counted."""
    tavern = Tavern()
    tavern.open()
    tavern.do("roll", "alva", "sun-5-neutral")
    tavern.do("claim", "alva", "star-5-neutral")
    tavern.do("challenge", "birk")
    tavern.do("rebuy", "alva")
    pass_turn(tavern, "birk", "embla")
    tavern.do("claim", "alva", "star-5-neutral")
    assert tavern.do("accept")[-1] == m.ClaimStood(seat="alva", cast="star-5-neutral", counts=1)


# ---- rule 7 ----


def out(**opening: Any) -> Tavern:
    """alva counted one, then lied; it is birk's turn and alva is out."""
    tavern = Tavern()
    tavern.open(target=5, **opening)
    tavern.do("claim", "alva", "star-1-neutral")
    tavern.do("accept")
    pass_turn(tavern, "birk", "embla")
    tavern.do("roll", "alva", "sun-5-neutral")
    tavern.do("claim", "alva", "star-5-neutral")
    tavern.do("challenge", "birk")
    return tavern


def test_out_of_contention_what_was_counted_is_kept_and_nothing_more_counts() -> None:
    tavern = out()
    pass_turn(tavern, "birk", "embla")
    tavern.do("roll", "alva", "star-6-neutral")
    tavern.do("claim", "alva", "star-6-neutral")
    assert tavern.do("challenge", "birk")[-1] == m.ClaimStood(seat="alva", cast="star-6-neutral", counts=0)
    assert (tavern.seat("alva")["casts"], tavern.counted()["alva"]) == (["star-1-neutral"], 1)


def test_a_second_lie_of_a_seat_that_is_out_burns_nothing_more() -> None:
    tavern = out(burnt_stake="burnt")
    assert tavern.postings == [(POT, "burnt", "krona", 5)]
    pass_turn(tavern, "birk", "embla")
    tavern.do("claim", "alva", "star-6-neutral")
    tavern.do("challenge", "embla")
    (judged,) = tavern.do("reveal", "alva", refuse=True)
    assert isinstance(judged, m.ClaimJudged) and (judged.falls_out, judged.burnt) == (False, 0)
    assert tavern.postings == [(POT, "purse/embla", "krona", 5)]


def test_a_seat_that_is_out_can_challenge() -> None:
    tavern = out()
    tavern.do("claim", "birk", "star-6-neutral")
    tavern.do("challenge", "alva")
    tavern.do("reveal", "birk", refuse=True)
    assert not tavern.seat("birk")["in_contention"]


@pytest.mark.parametrize("phase", ["turn", "claim", "response"])
def test_out_of_turn_a_seat_buys_in_again_in_three_phases(phase: str) -> None:
    tavern = out()
    if phase != "turn":
        tavern.do("roll", "birk", "star-1-neutral")
    if phase == "response":
        tavern.do("claim", "birk", "star-1-neutral")
    assert tavern.view["phase"] == phase
    assert tavern.do("rebuy", "alva") == [m.Rebought(seat="alva")]
    assert tavern.postings == [("purse/alva", POT, "krona", 5)]
    assert tavern.view["phase"] == phase
    assert (tavern.seat("alva")["in_contention"], tavern.counted()["alva"]) == (True, 1)
    tavern.refused("in_contention", "rebuy", "alva")


def test_the_active_seat_buys_in_only_before_it_has_rolled_or_claimed() -> None:
    tavern = out()
    pass_turn(tavern, "birk", "embla")
    tavern.do("roll", "alva", "star-6-neutral")
    tavern.refused("wrong_phase", "rebuy", "alva")
    tavern.do("claim", "alva", "star-6-neutral")
    tavern.refused("wrong_phase", "rebuy", "alva")
    tavern.do("accept")
    pass_turn(tavern, "birk", "embla")
    tavern.do("rebuy", "alva")
    tavern.do("claim", "alva", "star-6-neutral")
    assert tavern.do("accept")[-1] == m.ClaimStood(seat="alva", cast="star-6-neutral", counts=1)


def test_refusals_of_a_rebuy_come_in_their_order() -> None:
    tavern = out(after_lie="no_rebuy")
    tavern.spend("alva", tavern.purse("alva"))
    tavern.refused("not_seated", "rebuy", "kurt")
    tavern.refused("no_rebuy", "rebuy", "alva")
    tavern.refused("no_rebuy", "rebuy", "embla")
    tavern = out()
    tavern.spend("alva", tavern.purse("alva"))
    tavern.spend("embla", tavern.purse("embla"))
    tavern.refused("in_contention", "rebuy", "embla")
    assert tavern.refused("insufficient_funds", "rebuy", "alva") == "alva has 0 krona, the stake is 5"


def test_each_lie_burns_a_stake_of_its_own() -> None:
    tavern = out(burnt_stake="burnt")
    tavern.do("rebuy", "alva")
    pass_turn(tavern, "birk", "embla")
    tavern.do("claim", "alva", "star-6-neutral")
    tavern.do("challenge", "birk")
    (judged,) = tavern.do("reveal", "alva", refuse=True)
    assert isinstance(judged, m.ClaimJudged) and judged.burnt == 5
    assert tavern.postings == [(POT, "purse/birk", "krona", 5), (POT, "burnt", "krona", 5)]
    assert tavern.larp.account("burnt") == {"krona": 10} and tavern.view["pot"] == {"krona": 10}


def test_on_credit_only_the_liars_own_tokens_burn() -> None:
    """Its notes stay in the pot: a debt is not lied away."""
    tavern = Tavern(krona={"alva": 2}, limits={"alva": 99})
    tavern.open(burnt_stake="burnt", credit=True)
    for _ in range(2):
        tavern.do("claim", "alva", "star-6-neutral")
        tavern.do("challenge", "birk")
        tavern.do("reveal", "alva", "sun-6-neutral")
        assert tavern.larp.account("burnt") == {"krona": 2}, "the second time there were notes only"
        tavern.do("rebuy", "alva")
        assert tavern.postings == [("debtor/alva", POT, "iou/alva/krona", 5)]
        pass_turn(tavern, "birk", "embla")
    assert tavern.view["pot"] == {"iou/alva/krona": 13, "krona": 10}


def test_raises_burn_with_the_stake_up_to_one_stake() -> None:
    """What a seat paid in here in tokens is its own, whatever it was paid for."""
    tavern = Tavern(krona={"alva": 6}, limits={"alva": 99})
    tavern.open(burnt_stake="burnt", credit=True, stake=4, turn_raise=2)
    tavern.do("roll", "alva", "sun-6-neutral")  # 4 and 2 in tokens
    tavern.do("claim", "alva", "star-6-neutral")
    tavern.do("challenge", "birk")
    assert tavern.postings == [(POT, "burnt", "krona", 4)]
    tavern.do("rebuy", "alva")
    pass_turn(tavern, "birk", "embla")
    tavern.do("claim", "alva", "star-6-neutral")
    tavern.do("challenge", "birk")
    tavern.do("reveal", "alva", refuse=True)
    assert tavern.larp.account("burnt") == {"krona": 6}


def test_a_deposit_that_went_back_does_not_burn() -> None:
    """It is no longer in the pot, so it is not among the liar's own tokens there."""
    tavern = Tavern(krona={"birk": 6}, limits={"birk": 99})
    tavern.open(burnt_stake="burnt", credit=True)
    tavern.do("claim", "alva", "star-6-neutral")
    tavern.do("challenge", "birk")
    tavern.do("reveal", "alva", refuse=True)
    tavern.do("claim", "birk", "star-6-neutral")
    tavern.do("challenge", "embla")
    tavern.do("reveal", "birk", refuse=True)
    assert tavern.postings[-1] == (POT, "burnt", "krona", 5)
    tavern.spend("birk", 1)
    tavern.do("rebuy", "birk")
    pass_turn(tavern, "embla", "alva")
    tavern.do("claim", "birk", "star-6-neutral")
    tavern.do("challenge", "embla")
    (judged,) = tavern.do("reveal", "birk", refuse=True)
    assert isinstance(judged, m.ClaimJudged) and (judged.falls_out, judged.burnt) == (True, 0)


def test_a_promise_does_not_burn() -> None:
    tavern = Tavern()
    tavern.open(asset="pint", credit=True, burnt_stake="burnt")
    tavern.do("roll", "alva", "sun-1-neutral")
    tavern.do("claim", "alva", "star-1-neutral")
    _, judged = tavern.do("challenge", "birk")
    assert isinstance(judged, m.ClaimJudged) and (judged.falls_out, judged.burnt) == (True, 0)
    assert tavern.view["pot"] == {"iou/alva/pint": 5, "iou/birk/pint": 5, "iou/embla/pint": 5}
