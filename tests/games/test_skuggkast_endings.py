"""Skuggkast, rules 9, 11 and 12: winning, leaving, and when nobody can win; voids."""

from typing import Any

import pytest

from ledger.games.skuggkast import messages as m
from ledger.games.table import TableClosed, TableVoided
from tests.games.skuggkast_support import POT, THREE, Tavern, named

NO_REBUY: dict[str, Any] = {"after_lie": "no_rebuy"}


def opened(*seats: str, tavern: Tavern | None = None, **opening: Any) -> Tavern:
    if tavern is None:
        tavern = Tavern()
    tavern.open(*seats, **opening)
    return tavern


def lies(tavern: Tavern, seat: str, challenger: str) -> Any:
    """`seat` claims, is challenged without a sealed roll and will not show."""
    tavern.do("claim", seat, "star-1-neutral")
    tavern.do("challenge", challenger)
    return tavern.do("reveal", seat, refuse=True)


# ---- rule 9 ----


def test_who_reaches_the_target_wins_the_whole_pot_at_once() -> None:
    tavern = opened(target=1)
    tavern.do("claim", "alva", "star-1-neutral")
    assert tavern.do("accept")[1:] == [
        m.ClaimStood(seat="alva", cast="star-1-neutral", counts=1),
        TableClosed(how="won", winner="alva"),
    ]
    view = tavern.view
    assert (view["phase"], view["winner"], view["turn"], view["waiting_for"]) == ("closed", "alva", None, [])
    assert (view["pot"], view["claim"], view["rolls"]) == ({}, None, None)
    assert view["closed_at"] is not None
    assert tavern.purse("alva") == 30


def test_the_winner_gets_notes_too_and_its_own_go_home() -> None:
    tavern = opened(
        "alva", "birk", tavern=Tavern(krona={"alva": 1, "birk": 2}, limits=dict.fromkeys(THREE, 9)), credit=True
    )
    tavern.do("leave", "birk")
    assert tavern.postings == [
        (POT, "debtor/alva", "iou/alva/krona", 4),
        (POT, "purse/alva", "iou/birk/krona", 3),
        (POT, "purse/alva", "krona", 3),
    ]
    assert tavern.larp.account("purse/alva") == {"krona": 3, "iou/birk/krona": 3}
    assert tavern.larp.account("debtor/alva") == {}


def test_a_win_at_a_challenge_takes_the_challengers_stake_along() -> None:
    for sealed in (True, False):
        tavern = opened(target=1)
        if sealed:
            tavern.do("roll", "alva", "star-1-neutral")
        tavern.do("claim", "alva", "star-1-neutral")
        tavern.do("challenge", "birk")
        if not sealed:
            tavern.do("reveal", "alva", "star-1-neutral")
        assert (tavern.view["winner"], tavern.purse("alva"), tavern.purse("birk")) == ("alva", 35, 10)


def test_the_game_ends_before_anybody_misses_the_turn_it_must_miss() -> None:
    """The table closes the moment somebody wins: no turn passes any more."""
    tavern = opened(target=1, wrong_challenge_skips_turn=True)
    tavern.do("claim", "alva", "star-1-neutral")
    tavern.do("challenge", "birk")
    tavern.do("reveal", "alva", "star-1-neutral")
    assert tavern.view["phase"] == "closed"
    assert tavern.seat("birk")["misses_turn"]


def test_a_table_that_is_over_takes_no_action() -> None:
    """table_closed comes before everything but malformed."""
    tavern = opened("alva", "birk")
    tavern.do("leave", "birk")
    tavern.refused("table_closed", "leave", "kurt")
    tavern.refused("table_closed", "roll", "alva")
    tavern.refused("table_closed", "accept")
    tavern.refused("malformed", "roll", "alva", "dragon-1-neutral")
    tavern.refuses("table_closed", "/tables/t/void", {"reason": "again"})


# ---- rule 11 ----


def test_who_leaves_leaves_its_stakes_in_the_pot() -> None:
    tavern = opened()
    assert tavern.do("leave", "embla") == [m.Left(seat="embla")]
    assert tavern.postings == [] and tavern.view["pot"] == {"krona": 15}
    assert tavern.seat("embla")["left"] and tavern.view["turn"] == "alva"
    for action in ("leave", "believe", "challenge", "rebuy", "roll"):
        assert tavern.refused("not_seated", action, "embla") == "embla has left t"


@pytest.mark.parametrize("phase", ["turn", "claim", "response", "reveal"])
def test_an_active_seat_that_leaves_lets_its_claim_lapse(phase: str) -> None:
    """In every phase the turn passes, a challenger's stake goes back, and a sealed roll stays sealed."""
    tavern = opened(turn_raise=1)
    if phase == "claim":
        tavern.do("roll", "alva", "star-1-neutral")
    if phase in ("response", "reveal"):
        tavern.do("claim", "alva", "star-1-neutral")
    if phase == "reveal":
        tavern.do("challenge", "embla")
    assert tavern.view["phase"] == phase
    assert tavern.do("leave", "alva") == [m.Left(seat="alva")]
    assert tavern.postings == ([(POT, "purse/embla", "krona", 5)] if phase == "reveal" else [])
    view = tavern.view
    assert (view["phase"], view["turn"], view["claim"], view["waiting_for"]) == ("turn", "birk", None, ["birk"])
    assert tavern.counted()["alva"] == 0
    tavern.do("roll", "birk", "star-1-neutral")
    assert tavern.postings == [("purse/birk", POT, "krona", 1)]


def test_the_challengers_stake_goes_back_as_it_was_paid_when_the_active_seat_leaves() -> None:
    tavern = opened(tavern=Tavern(krona={"birk": 6}, limits={"birk": 9}), credit=True)
    tavern.do("claim", "alva", "star-1-neutral")
    tavern.do("challenge", "birk")
    tavern.do("leave", "alva")
    assert tavern.postings == [(POT, "debtor/birk", "iou/birk/krona", 4), (POT, "purse/birk", "krona", 1)]


def test_the_window_closes_as_accepted_when_the_last_to_answer_leaves() -> None:
    tavern = opened()
    tavern.do("claim", "alva", "star-1-neutral")
    tavern.do("believe", "birk")
    assert tavern.do("leave", "embla") == [
        m.Left(seat="embla"),
        m.ClaimStood(seat="alva", cast="star-1-neutral", counts=1),
    ]
    assert (tavern.view["phase"], tavern.view["turn"]) == ("turn", "birk")


def test_the_window_stays_open_when_others_have_not_answered() -> None:
    tavern = opened("alva", "birk", "embla", "frej")
    tavern.do("claim", "alva", "star-1-neutral")
    tavern.do("leave", "birk")
    assert (tavern.view["phase"], tavern.view["waiting_for"]) == ("response", ["embla", "frej"])
    tavern.do("believe", "frej")
    tavern.do("leave", "frej")
    assert (tavern.view["phase"], tavern.view["waiting_for"]) == ("response", ["embla"])
    tavern.do("believe", "embla")
    assert tavern.counted()["alva"] == 1


def test_a_window_that_closes_by_leaving_can_win() -> None:
    tavern = opened(target=1)
    tavern.do("claim", "alva", "star-1-neutral")
    tavern.do("believe", "birk")
    assert tavern.do("leave", "embla")[-1] == TableClosed(how="won", winner="alva")


def test_a_challenger_that_leaves_in_reveal_loses_its_stake_and_the_claim_stands() -> None:
    """The dice are not shown any more: nothing is judged, and nobody misses a turn."""
    tavern = opened(wrong_challenge_skips_turn=True)
    tavern.do("claim", "alva", "star-1-neutral")
    tavern.do("challenge", "birk")
    assert tavern.do("leave", "birk") == [
        m.Left(seat="birk"),
        m.ClaimStood(seat="alva", cast="star-1-neutral", counts=1),
    ]
    assert tavern.postings == [] and tavern.view["pot"] == {"krona": 20}
    assert (tavern.view["turn"], tavern.view["claim"]) == ("embla", None)


def test_a_third_seat_that_leaves_in_reveal_changes_nothing() -> None:
    tavern = opened()
    tavern.do("claim", "alva", "star-1-neutral")
    tavern.do("challenge", "birk")
    tavern.do("leave", "embla")
    assert (tavern.view["phase"], tavern.view["claim"]["challenger"]) == ("reveal", "birk")
    tavern.do("reveal", "alva", refuse=True)
    assert tavern.postings == [(POT, "purse/birk", "krona", 5)]


def test_the_last_seat_left_takes_the_pot_and_its_claim_lapses() -> None:
    for challenged in (True, False):
        tavern = opened("alva", "birk", target=3)
        tavern.do("claim", "alva", "star-1-neutral")
        if challenged:
            tavern.do("challenge", "birk")
        assert tavern.do("leave", "birk") == [m.Left(seat="birk"), TableClosed(how="won", winner="alva")]
        assert tavern.counted()["alva"] == 0
        assert tavern.purse("alva") == (30 if challenged else 25)


def test_the_last_seat_left_is_the_challenger() -> None:
    """Its stake comes back first, then it takes the pot."""
    tavern = opened("alva", "birk")
    tavern.do("claim", "alva", "star-1-neutral")
    tavern.do("challenge", "birk")
    tavern.do("leave", "alva")
    assert tavern.postings == [(POT, "purse/birk", "krona", 5), (POT, "purse/birk", "krona", 10)]


def test_with_rebuy_the_last_seat_takes_the_pot_though_it_is_out_of_contention() -> None:
    tavern = opened("alva", "birk")
    lies(tavern, "alva", "birk")
    assert tavern.do("leave", "birk")[-1] == TableClosed(how="won", winner="alva")


def test_with_rebuy_where_all_are_out_only_leaving_ends_it() -> None:
    tavern = opened("alva", "birk")
    lies(tavern, "alva", "birk")
    lies(tavern, "birk", "alva")
    assert tavern.view["phase"] == "turn"
    assert tavern.do("leave", "alva")[-1] == TableClosed(how="won", winner="birk")


def test_who_left_may_not_answer_and_is_not_waited_for() -> None:
    tavern = opened()
    tavern.do("leave", "birk")
    tavern.do("claim", "alva", "star-1-neutral")
    assert tavern.view["waiting_for"] == ["embla"]
    tavern.refused("not_seated", "believe", "birk")


def test_a_seat_that_must_miss_a_turn_may_leave() -> None:
    tavern = opened(wrong_challenge_skips_turn=True)
    tavern.do("roll", "alva", "star-1-neutral")
    tavern.do("claim", "alva", "star-1-neutral")
    tavern.do("challenge", "embla")
    tavern.do("leave", "birk")
    assert tavern.view["turn"] == "alva", "embla missed its turn"
    assert not tavern.seat("embla")["misses_turn"]


# ---- rule 12 ----


def test_without_rebuy_the_pot_burns_when_the_last_in_contention_lies() -> None:
    tavern = opened("alva", "birk", after_lie="no_rebuy")
    lies(tavern, "alva", "birk")
    assert tavern.view["phase"] == "turn", "birk can still win"
    judged, closed = lies(tavern, "birk", "alva")
    assert judged.falls_out and closed == TableClosed(how="burnt", winner=None)
    assert tavern.postings == [(POT, "purse/alva", "krona", 5), (POT, "burnt", "krona", 10)]
    view = tavern.view
    assert (view["phase"], view["winner"], view["pot"], view["turn"]) == ("closed", None, {}, None)


def test_what_was_burnt_before_is_not_burnt_again() -> None:
    tavern = opened("alva", "birk", after_lie="no_rebuy", burnt_stake="burnt")
    lies(tavern, "alva", "birk")
    lies(tavern, "birk", "alva")
    assert tavern.postings == [(POT, "purse/alva", "krona", 5), (POT, "burnt", "krona", 5)]
    assert tavern.larp.account("burnt") == {"krona": 10} and tavern.larp.account(POT) == {}


def test_without_rebuy_a_shown_lie_can_end_it() -> None:
    tavern = opened("alva", "birk", after_lie="no_rebuy", named_casts=[named(6, "cursed")])
    lies(tavern, "alva", "birk")
    tavern.do("roll", "birk", "sun-6-cursed")
    assert tavern.do("claim", "birk", "star-6-cursed", show=True)[-1] == TableClosed(how="burnt", winner=None)


def test_without_rebuy_notes_in_the_pot_go_home() -> None:
    tavern = opened("alva", "birk", tavern=Tavern(krona={"alva": 2}, limits={"alva": 99}), credit=True, **NO_REBUY)
    lies(tavern, "alva", "birk")
    lies(tavern, "birk", "alva")
    assert tavern.postings[-2:] == [(POT, "debtor/alva", "iou/alva/krona", 3), (POT, "burnt", "krona", 7)]
    assert tavern.larp.account("debtor/alva") == {}


def test_without_rebuy_the_pot_burns_when_the_last_in_contention_leaves() -> None:
    """Rule 12 is looked at before the last seat left: a seat that is out never takes the pot."""
    tavern = opened("alva", "birk", **NO_REBUY)
    lies(tavern, "alva", "birk")
    assert tavern.do("leave", "birk") == [m.Left(seat="birk"), TableClosed(how="burnt", winner=None)]
    assert tavern.postings == [(POT, "burnt", "krona", 10)]


def test_without_rebuy_the_last_seat_left_takes_the_pot_if_it_is_in_contention() -> None:
    tavern = opened("alva", "birk", **NO_REBUY)
    lies(tavern, "alva", "birk")
    assert tavern.do("leave", "alva")[-1] == TableClosed(how="won", winner="birk")


def all_but_embla_are_out() -> Tavern:
    """Three seats; alva and birk are out, embla has passed, and alva has claimed."""
    tavern = opened(**NO_REBUY)
    lies(tavern, "alva", "birk")
    lies(tavern, "birk", "alva")
    tavern.do("claim", "embla", "sun-1-neutral")
    tavern.do("accept")
    tavern.do("claim", "alva", "star-1-neutral")
    return tavern


def test_the_last_in_contention_leaves_while_its_answer_is_awaited() -> None:
    tavern = all_but_embla_are_out()
    tavern.do("believe", "birk")
    assert tavern.do("leave", "embla") == [m.Left(seat="embla"), TableClosed(how="burnt", winner=None)]
    assert tavern.postings == [(POT, "burnt", "krona", 15)]


def test_a_stake_put_up_by_a_seat_still_at_the_table_first_goes_back() -> None:
    tavern = all_but_embla_are_out()
    tavern.do("challenge", "birk")
    assert tavern.do("leave", "embla")[-1] == TableClosed(how="burnt", winner=None)
    assert tavern.postings == [(POT, "purse/birk", "krona", 5), (POT, "burnt", "krona", 15)]


def test_a_stake_put_up_by_the_seat_that_leaves_burns_with_the_rest() -> None:
    """Its stakes stay in the pot."""
    tavern = all_but_embla_are_out()
    tavern.do("challenge", "embla")
    assert tavern.do("leave", "embla")[-1] == TableClosed(how="burnt", winner=None)
    assert tavern.postings == [(POT, "burnt", "krona", 20)]


def test_a_stake_goes_back_when_the_active_seat_leaves_and_nobody_can_win() -> None:
    tavern = opened(**NO_REBUY)
    lies(tavern, "alva", "birk")
    lies(tavern, "birk", "alva")
    tavern.do("claim", "embla", "star-1-neutral")
    tavern.do("challenge", "birk")
    tavern.do("leave", "embla")
    assert tavern.postings == [(POT, "purse/birk", "krona", 5), (POT, "burnt", "krona", 15)]


def test_a_stake_on_credit_goes_home_before_the_pot_burns() -> None:
    tavern = opened("alva", "birk", "embla", tavern=Tavern(limits={"birk": 99}), credit=True, **NO_REBUY)
    lies(tavern, "alva", "birk")
    lies(tavern, "birk", "alva")
    tavern.do("claim", "embla", "sun-1-neutral")
    tavern.do("accept")
    tavern.do("claim", "alva", "star-1-neutral")
    tavern.spend("birk", 13)
    tavern.do("challenge", "birk")
    tavern.do("leave", "embla")
    assert tavern.postings == [
        (POT, "debtor/birk", "iou/birk/krona", 3),
        (POT, "purse/birk", "krona", 2),
        (POT, "burnt", "krona", 15),
    ]


def test_with_rebuy_nothing_burns_when_all_are_out() -> None:
    tavern = opened("alva", "birk")
    lies(tavern, "alva", "birk")
    lies(tavern, "birk", "alva")
    assert (tavern.view["phase"], tavern.view["pot"]) == ("turn", {"krona": 10})
    tavern.do("rebuy", "birk")


# ---- void (rules/ledger.md) ----


@pytest.mark.parametrize("phase", ["roll_off", "turn", "claim", "response", "reveal"])
def test_a_void_gives_back_exactly_what_was_paid_in(phase: str) -> None:
    """To seats that left, from what was burnt, notes home: the tavern checks the accounts."""
    tavern = opened(
        "alva",
        "birk",
        "embla",
        "frej",
        tavern=Tavern(krona={"alva": 3, "frej": 7}, limits={"alva": 40, "frej": 40}),
        credit=True,
        turn_raise=2,
        burnt_stake="burnt",
        starter=None if phase == "roll_off" else "alva",
    )
    if phase != "roll_off":
        lies(tavern, "alva", "frej")
        tavern.do("rebuy", "alva")
        tavern.do("leave", "birk")
    if phase == "claim":
        tavern.do("roll", "embla", "star-1-neutral")
    if phase in ("response", "reveal"):
        tavern.do("claim", "embla", "star-1-neutral")
    if phase == "reveal":
        tavern.do("challenge", "frej")
    assert tavern.view["phase"] == phase
    assert tavern.void() == [TableVoided(reason="time to sleep")]
    assert {seat: tavern.purse(seat) for seat in (*THREE, "frej")} == {"alva": 3, "birk": 20, "embla": 20, "frej": 7}
    assert not [key for key in tavern.larp.balances() if "iou/" in key[1] or key[0] in ("burnt", POT)]
    view = tavern.view
    assert (view["phase"], view["void_reason"], view["winner"]) == ("voided", "time to sleep", None)
    assert (view["turn"], view["waiting_for"], view["claim"], view["rolls"], view["pot"]) == (None, [], None, None, {})
    tavern.refused("table_closed", "leave", "alva")
