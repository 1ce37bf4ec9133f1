"""Skuggkast, rules 4 and 5: believing, challenging, and judging."""

from typing import Any

import pytest

from ledger.games.skuggkast import messages as m
from ledger.sealing import holds
from tests.games.skuggkast_support import POT, Tavern, dice

STAR5 = m.Dice("star", 5, "neutral")


def claimed(rolled: str = "", cast: str = "star-5-neutral", *, tavern: Tavern | None = None, **opening: Any) -> Tavern:
    """alva has claimed `cast`; `rolled` lies under the cup, or nothing that was recorded."""
    if tavern is None:
        tavern = Tavern()
    tavern.open(**opening)
    if rolled:
        tavern.do("roll", "alva", rolled)
    tavern.do("claim", "alva", cast)
    return tavern


# ---- rule 4 ----


def test_the_others_answer_in_any_order() -> None:
    tavern = claimed()
    assert tavern.do("believe", "embla") == [m.ClaimBelieved(seat="embla")]
    assert tavern.view["waiting_for"] == ["birk"]
    assert tavern.view["claim"]["believed"] == ["embla"]
    assert tavern.do("believe", "birk") == [
        m.ClaimBelieved(seat="birk"),
        m.ClaimStood(seat="alva", cast="star-5-neutral", counts=1),
    ]
    assert (tavern.view["phase"], tavern.view["turn"], tavern.view["claim"]) == ("turn", "birk", None)


def test_a_seat_believes_once() -> None:
    tavern = claimed()
    tavern.do("believe", "embla")
    assert "waiting for birk" in tavern.refused("already_answered", "believe", "embla")


def test_accept_closes_the_window() -> None:
    tavern = claimed()
    tavern.do("believe", "embla")
    assert tavern.do("accept") == [
        m.ClaimAccepted(),
        m.ClaimStood(seat="alva", cast="star-5-neutral", counts=1),
    ]
    tavern.refused("wrong_phase", "accept")
    tavern.refused("wrong_phase", "believe", "birk")
    tavern.refused("wrong_phase", "challenge", "birk")
    tavern.refused("malformed", "accept", "birk")


def test_nobody_answers_its_own_claim() -> None:
    tavern = claimed()
    tavern.refused("own_claim", "believe", "alva")
    tavern.refused("own_claim", "challenge", "alva")
    tavern.refused("not_seated", "believe", "kurt")
    tavern.refused("not_seated", "challenge", "kurt")


def test_own_claim_comes_before_the_money() -> None:
    tavern = claimed()
    tavern.spend("alva", 15)
    tavern.refused("own_claim", "challenge", "alva")


def test_who_has_believed_can_still_challenge() -> None:
    tavern = claimed("sun-1-neutral")
    tavern.do("believe", "birk")
    challenged, judged = tavern.do("challenge", "birk")
    assert challenged == m.ClaimChallenged(seat="birk")
    assert isinstance(judged, m.ClaimJudged) and judged.verdict == "lie"


def test_the_first_challenge_ends_the_answering() -> None:
    tavern = claimed()
    tavern.do("challenge", "embla")
    for action, seat in (("believe", "birk"), ("challenge", "birk"), ("challenge", "embla"), ("accept", None)):
        tavern.refused("wrong_phase", action, seat)


@pytest.mark.parametrize("rolled", ["star-5-neutral", "sun-5-neutral", ""])
def test_a_challenger_must_be_able_to_cover_one_stake(rolled: str) -> None:
    """Whatever lies under the cup, and the refusal does not tell what does."""
    tavern = claimed(rolled)
    tavern.spend("birk", 11)
    detail = tavern.refused("insufficient_funds", "challenge", "birk")
    assert detail == "birk has 4 krona, a challenge must cover 5"
    tavern.spend("embla", 10)
    tavern.do("challenge", "embla")


def test_a_challenge_on_credit_ends_at_the_limit() -> None:
    tavern = claimed("sun-5-neutral", tavern=Tavern(krona={"birk": 5}, limits={"birk": 4, "embla": 5}), credit=True)
    tavern.refused("credit_exceeded", "challenge", "birk")
    tavern.spend("embla", 15)
    tavern.do("challenge", "embla")
    assert tavern.postings == []


def test_two_seats_have_one_answer() -> None:
    tavern = Tavern()
    tavern.open("alva", "birk")
    tavern.do("claim", "alva", "star-5-neutral")
    assert tavern.do("believe", "birk")[-1] == m.ClaimStood(seat="alva", cast="star-5-neutral", counts=1)


# ---- rule 5: with a sealed roll ----


def test_a_challenge_uncovers_a_sealed_roll_at_once() -> None:
    tavern = claimed("star-5-neutral")
    _, judged, stood = tavern.do("challenge", "birk")
    assert isinstance(judged, m.ClaimJudged)
    (uncovered,) = judged.uncovered
    assert holds(uncovered) and uncovered.value == dice("star-5-neutral")
    assert (judged.seat, judged.challenger, judged.dice, judged.verdict) == ("alva", "birk", STAR5, "true")
    assert (judged.misses_turn, judged.falls_out, judged.burnt) == (False, False, 0)
    assert stood == m.ClaimStood(seat="alva", cast="star-5-neutral", counts=1)
    assert tavern.postings == [("purse/birk", POT, "krona", 5)]
    assert tavern.view["pot"] == {"krona": 20}


@pytest.mark.parametrize("rolled", ["sun-5-neutral", "star-4-neutral", "star-5-cursed"])
def test_one_die_that_is_not_as_claimed_makes_a_lie(rolled: str) -> None:
    tavern = claimed(rolled)
    _, judged = tavern.do("challenge", "birk")
    assert isinstance(judged, m.ClaimJudged)
    assert (judged.verdict, judged.falls_out, judged.misses_turn) == ("lie", True, False)
    assert tavern.postings == []
    assert not tavern.seat("alva")["in_contention"]
    assert tavern.counted()["alva"] == 0
    assert (tavern.view["phase"], tavern.view["turn"], tavern.view["pot"]) == ("turn", "birk", {"krona": 15})


def test_a_true_claim_that_is_no_skuggkast_costs_the_challenger_all_the_same() -> None:
    tavern = claimed("skull-5-neutral", "skull-5-neutral")
    assert tavern.do("challenge", "birk")[-1] == m.ClaimStood(seat="alva", cast="skull-5-neutral", counts=0)
    assert tavern.postings == [("purse/birk", POT, "krona", 5)]


@pytest.mark.parametrize("cast", ["star-5-guardian", "star-5-shadow"])
@pytest.mark.parametrize("sealed", [True, False])
def test_the_guardian_is_as_a_lie_whatever_was_claimed(cast: str, sealed: bool) -> None:
    """Also for who said that it was the guardian; the challenger pays nothing and misses no turn."""
    rolled = "star-5-guardian"
    tavern = claimed(rolled if sealed else "", cast, dice_set="runes", wrong_challenge_skips_turn=True)
    events = tavern.do("challenge", "birk")
    if not sealed:
        events = tavern.do("reveal", "alva", rolled)
        assert tavern.postings == [(POT, "purse/birk", "krona", 5)]
    judged = events[-1]
    assert isinstance(judged, m.ClaimJudged)
    assert (judged.verdict, judged.falls_out, judged.misses_turn) == ("guardian", True, False)
    assert tavern.purse("birk") == 15
    assert (tavern.counted()["alva"], tavern.seat("alva")["in_contention"]) == (0, False)


# ---- rule 5: without one ----


def test_without_a_sealed_roll_the_challengers_stake_goes_in_with_the_challenge() -> None:
    tavern = claimed()
    assert tavern.do("challenge", "birk") == [m.ClaimChallenged(seat="birk")]
    assert tavern.postings == [("purse/birk", POT, "krona", 5)]
    view = tavern.view
    assert (view["phase"], view["turn"], view["waiting_for"]) == ("reveal", "alva", ["alva"])
    assert view["claim"]["challenger"] == "birk"
    assert view["pot"] == {"krona": 20}


def test_revealed_true_the_stake_stays() -> None:
    tavern = claimed()
    tavern.do("challenge", "birk")
    judged, stood = tavern.do("reveal", "alva", "star-5-neutral")
    assert isinstance(judged, m.ClaimJudged)
    assert (judged.verdict, judged.dice, judged.uncovered, tavern.postings) == ("true", STAR5, (), [])
    assert stood == m.ClaimStood(seat="alva", cast="star-5-neutral", counts=1)
    assert tavern.view["pot"] == {"krona": 20}


def test_revealed_a_lie_the_stake_goes_back_as_it_was_paid() -> None:
    """Tokens to the purse, the note home."""
    tavern = claimed(tavern=Tavern(krona={"birk": 7}, limits={"birk": 3}), credit=True)
    tavern.do("challenge", "birk")
    assert tavern.postings == [("purse/birk", POT, "krona", 2), ("debtor/birk", POT, "iou/birk/krona", 3)]
    (judged,) = tavern.do("reveal", "alva", "sun-5-neutral")
    assert isinstance(judged, m.ClaimJudged) and judged.verdict == "lie"
    assert tavern.postings == [(POT, "debtor/birk", "iou/birk/krona", 3), (POT, "purse/birk", "krona", 2)]
    assert tavern.purse("birk") == 2 and tavern.view["pot"] == {"krona": 15}


def test_who_will_not_show_has_lied() -> None:
    tavern = claimed()
    tavern.do("challenge", "birk")
    (judged,) = tavern.do("reveal", "alva", refuse=True)
    assert isinstance(judged, m.ClaimJudged)
    assert (judged.verdict, judged.dice, judged.falls_out) == ("lie", None, True)
    assert tavern.postings == [(POT, "purse/birk", "krona", 5)]


def test_refusals_of_a_reveal_come_in_their_order() -> None:
    """To refuse and to show dice is malformed, which comes before everything."""
    tavern = claimed()
    both: dict[str, Any] = {"refuse": True, "dice": "star-5-neutral"}
    tavern.refused("malformed", "reveal", "alva", **both)
    tavern.refused("malformed", "reveal", "kurt", **both)
    tavern.refused("not_seated", "reveal", "kurt", refuse=True)
    tavern.refused("wrong_phase", "reveal", "birk")
    tavern.do("challenge", "birk")
    tavern.refused("malformed", "reveal", "birk", **both)
    tavern.refused("not_your_turn", "reveal", "birk")
    tavern.refused("not_your_turn", "reveal", "birk", "fire-5-neutral")
    tavern.refused("dice_required", "reveal", "alva")
    tavern.refused("dice_required", "reveal", "alva", refuse=False)
    tavern.refused("illegal_move", "reveal", "alva", "fire-5-neutral")
    tavern.refused("illegal_move", "reveal", "alva", "star-5-guardian")
    tavern.do("reveal", "alva", "star-5-neutral", refuse=False)
    tavern.void()
    tavern.refused("malformed", "reveal", "alva", **both)
    tavern.refused("table_closed", "reveal", "alva", refuse=True)


def test_in_reveal_the_table_waits_for_nothing_else() -> None:
    tavern = claimed()
    tavern.do("challenge", "birk")
    tavern.refused("wrong_phase", "roll", "alva", "star-5-neutral")
    tavern.refused("wrong_phase", "claim", "alva", "star-5-neutral")
    tavern.refused("wrong_phase", "rebuy", "embla")


# ---- rule 5: a wrong challenge skips a turn ----


def test_a_wrong_challenge_skips_the_next_turn_once() -> None:
    for sealed in (True, False):
        tavern = claimed("star-5-neutral" if sealed else "", wrong_challenge_skips_turn=True)
        events = tavern.do("challenge", "birk")
        if not sealed:
            assert not tavern.seat("birk")["misses_turn"]
            events = tavern.do("reveal", "alva", "star-5-neutral")
        judged = events[-2]
        assert isinstance(judged, m.ClaimJudged) and judged.misses_turn
        assert tavern.view["turn"] == "embla"
        assert not tavern.seat("birk")["misses_turn"], "it was birk's turn, and birk missed it"
        for seat in ("embla", "alva"):
            tavern.do("claim", seat, "sun-1-neutral")
            tavern.do("accept")
        assert tavern.view["turn"] == "birk"


def test_a_turn_to_miss_is_shown_until_it_comes() -> None:
    tavern = claimed("star-5-neutral", wrong_challenge_skips_turn=True)
    tavern.do("challenge", "embla")
    assert (tavern.view["turn"], tavern.seat("embla")["misses_turn"]) == ("birk", True)


def test_a_second_miss_before_the_first_is_served_adds_nothing() -> None:
    tavern = Tavern()
    tavern.open("alva", "birk", "embla", wrong_challenge_skips_turn=True)
    for seat in ("alva", "birk"):
        tavern.do("roll", seat, "star-5-neutral")
        tavern.do("claim", seat, "star-5-neutral")
        tavern.do("challenge", "embla")
    assert tavern.view["turn"] == "alva", "embla missed one"
    for seat in ("alva", "birk"):
        tavern.do("claim", seat, "sun-1-neutral")
        tavern.do("accept")
    assert tavern.view["turn"] == "embla"


def test_of_two_seats_who_wins_the_challenge_is_on_again() -> None:
    tavern = Tavern()
    tavern.open("alva", "birk", wrong_challenge_skips_turn=True, turn_raise=1)
    tavern.do("roll", "alva", "star-5-neutral")
    tavern.do("claim", "alva", "star-5-neutral")
    tavern.do("challenge", "birk")
    assert tavern.view["turn"] == "alva"
    tavern.do("claim", "alva", "star-6-neutral")
    assert tavern.postings == [("purse/alva", POT, "krona", 1)], "a new turn, a new raise"


def test_everybody_may_have_to_miss_a_turn() -> None:
    """Then the turn goes round once, and the first of them is on."""
    tavern = Tavern()
    tavern.open("alva", "birk", "embla", wrong_challenge_skips_turn=True)
    tavern.do("claim", "alva", "star-5-neutral")
    tavern.do("challenge", "embla")
    tavern.do("reveal", "alva", "star-5-neutral")
    tavern.do("claim", "birk", "star-5-neutral")
    tavern.do("challenge", "alva")
    tavern.do("reveal", "birk", "star-5-neutral")
    assert tavern.view["turn"] == "birk", "embla and alva missed theirs"
    assert not any(seat["misses_turn"] for seat in tavern.view["seats"])


def test_all_that_are_left_may_have_to_miss_a_turn() -> None:
    """Each misses one, and then the first of them is on."""
    tavern = Tavern()
    tavern.open("alva", "birk", "embla", "frej", wrong_challenge_skips_turn=True, starter="embla")
    for seat, challenger in (("embla", "birk"), ("frej", "embla")):
        tavern.do("claim", seat, "star-5-neutral")
        tavern.do("challenge", challenger)
        tavern.do("reveal", seat, "star-5-neutral")
    assert [seat["misses_turn"] for seat in tavern.view["seats"]] == [False, True, True, False]
    tavern.do("leave", "frej")
    tavern.do("leave", "alva")
    assert tavern.view["turn"] == "birk"
    assert not any(seat["misses_turn"] for seat in tavern.view["seats"])


def test_without_the_variant_nobody_misses_a_turn() -> None:
    tavern = claimed("star-5-neutral")
    tavern.do("challenge", "birk")
    assert tavern.view["turn"] == "birk"
