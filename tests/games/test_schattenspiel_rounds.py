"""Schattenspiel: how a round is judged (rules 2 and 3) and when points win (rule 4)."""

import pytest

from ledger.games.schattenspiel.messages import RoundJudged
from tests.games.schattenspiel_support import Tavern, names

A, B = "anselm", "brunhild"

# What a round comes to under the plain rules, by both signs, for the calls
# (low, low), (low, high), (high, low), (high, high). `1` and `2`: the first or the second hand wins,
# c by its call, d by the dominance of the signs; `0s` double shadow, `0d` drawn.
PLAIN = {
    "ss": ("0s", "0s", "0s", "0s"),
    "sr": ("2d", "1c", "2c", "2d"),
    "sl": ("1d", "1d", "1d", "1d"),
    "rs": ("1d", "1c", "2c", "1d"),
    "rr": ("0d", "1c", "2c", "0d"),
    "rl": ("2d", "2c", "1c", "2d"),
    "ls": ("2d", "2d", "2d", "2d"),
    "lr": ("1d", "2c", "1c", "1d"),
    "ll": ("0d", "2c", "1c", "0d"),
}
CALLS = ("LL", "LH", "HL", "HH")
HANDS = [
    (signs[0] + calls[0], signs[1] + calls[1], PLAIN[signs][column])
    for signs in PLAIN
    for column, calls in enumerate(CALLS)
]
WORDS = {"s": "double_shadow", "c": "call", "d": "dominance"}


def verdict(tavern: Tavern, of_a: str, of_b: str) -> tuple[str | None, str, bool]:
    """Winner, reason and whether the round counted."""
    judged = next(event for event in tavern.round(of_a, of_b) if isinstance(event, RoundJudged))
    return judged.winner, judged.reason, judged.counted


def expected(short: str) -> tuple[str | None, str, bool]:
    if short[0] == "0":
        return None, "drawn" if short[1] == "d" else "double_shadow", False
    return (A if short[0] == "1" else B), WORDS[short[1]], True


def opened(*variants: str, best_of: int = 99) -> Tavern:
    tavern = Tavern()
    tavern.open(rules={"best_of": best_of, "variants": list(variants)})
    return tavern


# ---- rule 2, plain ----


@pytest.mark.parametrize(("of_a", "of_b", "short"), HANDS)
def test_plain_rules(of_a: str, of_b: str, short: str) -> None:
    """Rules 2.2, 2.4, 2.5 and 2.6 over all 36 pairs of hands; who wins gets the one point."""
    tavern = opened()
    assert verdict(tavern, of_a, of_b) == expected(short)
    assert tavern.points == [int(short[0] == "1"), int(short[0] == "2")]
    assert tavern.view["round"] == (1 if short[0] == "0" else 2)
    assert tavern.view["last_round"]["reason"] == expected(short)[1]
    assert tavern.view["last_round"]["winner"] == expected(short)[0]


@pytest.mark.parametrize(("of_a", "of_b", "short"), [case for case in HANDS if case[0] != case[1]][::5])
def test_hands_that_are_shown_are_judged_alike(of_a: str, of_b: str, short: str) -> None:
    """Rule 2 does not ask how the hands came in."""
    tavern = opened()
    events = tavern.shown_round(of_a, of_b)
    judged = events[2]
    assert isinstance(judged, RoundJudged)
    assert (judged.winner, judged.reason, judged.counted) == expected(short)


def test_double_shadow_goes_before_a_right_call() -> None:
    """Rule 2.2 before 2.4: at sum 0 one low call is right, and yet nobody gets a point."""
    tavern = opened()
    assert verdict(tavern, "sL", "sH") == (None, "double_shadow", False)


# ---- rule 2.1, feu_werk ----


def test_discipline_binds_after_light() -> None:
    """Rule 2.1: light in the last counted round and high now loses, whatever the hands are."""
    tavern = opened("feu_werk")
    tavern.round("sL", "lL")
    # Without the variant brunhild would win this one by its call.
    assert verdict(tavern, "lL", "lH") == (A, "discipline", True)


@pytest.mark.parametrize("call", ["L", "H"])
def test_discipline_asks_for_the_sign_not_for_the_call(call: str) -> None:
    """Rule 2.1, ruled: whatever the seat called when it showed light."""
    tavern = opened("feu_werk")
    tavern.round("sL", f"l{call}")
    assert verdict(tavern, "sL", "rH") == (A, "discipline", True)


def test_discipline_lets_low_pass() -> None:
    """Rule 2.1: who calls low after light is judged by the other rules; light again is no fault."""
    tavern = opened("feu_werk")
    tavern.round("sL", "lL")
    assert verdict(tavern, "rL", "lL") == (B, "dominance", True)


def test_discipline_binds_only_who_showed_light() -> None:
    """Rule 2.1: the other seat may call high."""
    tavern = opened("feu_werk")
    tavern.round("sL", "lL")
    assert verdict(tavern, "lH", "rL") == (A, "call", True)


def test_discipline_of_both_annuls_the_round() -> None:
    """Rule 2.1, ruled: if both break it nobody loses."""
    tavern = opened("feu_werk")
    tavern.round("lL", "lH")
    before = tavern.points
    assert verdict(tavern, "rH", "sH") == (None, "discipline", False)
    assert tavern.points == before and tavern.view["round"] == 2
    assert tavern.view["last_round"]["reason"] == "discipline" and tavern.view["last_round"]["winner"] is None


def test_discipline_ends_with_the_next_counted_round() -> None:
    """Rule 2.1: only the last counted round binds."""
    tavern = opened("feu_werk")
    tavern.round("sL", "lL")
    tavern.round("sL", "rL")
    assert verdict(tavern, "rL", "lH") == (B, "call", True)


def test_discipline_goes_before_double_shadow() -> None:
    """Rule 2.1 before 2.2."""
    tavern = opened("feu_werk", "konklave_nord")
    tavern.round("sL", "lL")
    assert verdict(tavern, "sH", "sH") == (A, "discipline", True)


def test_discipline_goes_before_the_break_value() -> None:
    """Rule 2.1 before 2.3."""
    tavern = opened("feu_werk", "dust_covenant")
    tavern.round("sL", "lL")
    assert verdict(tavern, "rL", "lH") == (A, "discipline", True)


def test_discipline_counts_and_binds_for_the_next_round() -> None:
    """A round lost by discipline is a counted round: the light in it binds again."""
    tavern = opened("feu_werk")
    tavern.round("sL", "lL")
    assert verdict(tavern, "sL", "lH") == (A, "discipline", True)
    assert verdict(tavern, "sL", "rH") == (A, "discipline", True)
    assert verdict(tavern, "sL", "rH") == (A, "call", True)


def test_without_feu_werk_nobody_is_bound() -> None:
    tavern = opened("konklave_nord", "dust_covenant")
    tavern.round("sL", "lL")
    assert verdict(tavern, "lL", "lH") == (B, "call", True)


# ---- rule 3 ----


@pytest.mark.parametrize(("of_a", "of_b"), [("sL", "sL"), ("rL", "rL")])
def test_annulled_round_releases_nobody(of_a: str, of_b: str) -> None:
    """Rule 3, ruled: an annulled round does not become the last round of rule 2.1."""
    tavern = opened("feu_werk")
    tavern.round("sL", "lL")
    assert verdict(tavern, of_a, of_b)[2] is False
    assert verdict(tavern, "sL", "rH") == (A, "discipline", True)


def test_annulled_round_binds_nobody() -> None:
    """Rule 3, ruled: light in a drawn round does not bind."""
    tavern = opened("feu_werk")
    assert verdict(tavern, "lH", "lH") == (None, "drawn", False)
    assert verdict(tavern, "rH", "lH") == (B, "dominance", True)


def test_round_annulled_by_discipline_releases_nobody() -> None:
    """Rule 3, ruled: what bound both before still does."""
    tavern = opened("feu_werk")
    tavern.round("lL", "lH")
    assert verdict(tavern, "rH", "sH") == (None, "discipline", False)
    assert verdict(tavern, "rH", "sH") == (None, "discipline", False)
    assert verdict(tavern, "rH", "sL") == (B, "discipline", True)


def test_annulled_round_has_its_two_hands_only() -> None:
    """Rule 3: it is judged, nothing else happens, and both show again."""
    tavern = opened()
    assert names(tavern.shown_round("sL", "sL")) == ["HandShown", "HandShown", "RoundJudged"]
    assert tavern.view["waiting_for"] == [A, B] and tavern.view["round"] == 1
    assert names(tavern.shown_round("sL", "rL"))[-1] == "RoundJudged"


# ---- rule 2.2, konklave_nord ----


def test_konklave_nord_gives_both_a_point() -> None:
    """Rule 2.2: each gets 1 point, nobody wins the round, and it counts."""
    tavern = opened("konklave_nord")
    assert verdict(tavern, "sL", "sH") == (None, "double_shadow", True)
    assert tavern.points == [1, 1] and tavern.view["round"] == 2
    assert tavern.view["last_round"]["winner"] is None


def test_konklave_nord_leaves_other_like_signs_annulled() -> None:
    """Rule 2.6 is not changed by it."""
    tavern = opened("konklave_nord")
    assert verdict(tavern, "rL", "rL") == (None, "drawn", False)


def test_double_shadow_that_counts_releases() -> None:
    """Rules 2.1 and 2.2: with konklave_nord a double shadow is the last counted round."""
    tavern = opened("konklave_nord", "feu_werk")
    tavern.round("sL", "lL")
    tavern.round("sL", "sL")
    assert verdict(tavern, "lL", "lH") == (B, "call", True)


# ---- rule 2.3, dust_covenant ----


@pytest.mark.parametrize("calls", CALLS)
def test_break_value_gives_seven_to_light(calls: str) -> None:
    """Rule 2.3: whatever was called, from either seat."""
    assert verdict(opened("dust_covenant"), f"r{calls[0]}", f"l{calls[1]}") == (B, "break_value", True)
    assert verdict(opened("dust_covenant"), f"l{calls[0]}", f"r{calls[1]}") == (A, "break_value", True)


@pytest.mark.parametrize(("of_a", "of_b", "short"), [case for case in HANDS if {case[0][0], case[1][0]} != {"r", "l"}])
def test_break_value_changes_no_other_sum(of_a: str, of_b: str, short: str) -> None:
    assert verdict(opened("dust_covenant"), of_a, of_b) == expected(short)


# ---- rule 4 ----


@pytest.mark.parametrize(("best_of", "needed"), [(1, 1), (3, 2), (5, 3), (7, 4), (99, 50)])
def test_best_of_is_won_by_more_than_half(best_of: int, needed: int) -> None:
    """Rule 4: the first with (n+1)/2 points, and not before."""
    tavern = opened(best_of=best_of)
    for _ in range(needed - 1):
        tavern.round("sL", "rH")
        assert tavern.view["phase"] == "play"
    events = tavern.round("sL", "rH")
    assert names(events) == ["RoundJudged", "TableClosed"]
    view = tavern.view
    assert (view["phase"], view["winner"], view["round"]) == ("closed", A, needed + 1)
    assert tavern.points == [needed, 0]


def test_last_point_decides_at_the_latest_round() -> None:
    """Rule 4: 2 to 2 in a best of five, the fifth round ends it; the second seat wins as well as the first."""
    tavern = opened(best_of=5)
    for of_a, of_b in (("sL", "rH"), ("rH", "sL"), ("sL", "rH"), ("rH", "sL")):
        tavern.round(of_a, of_b)
    assert tavern.view["phase"] == "play"
    tavern.shown_round("rH", "sL")
    assert tavern.view["winner"] == B and tavern.points == [2, 3]


def test_single_is_one_counted_round() -> None:
    """Rule 4: annulled rounds are played again, the first that counts is binding."""
    tavern = Tavern()
    tavern.open(rules={"format": "single"})
    tavern.round("sL", "sL")
    tavern.round("lH", "lH")
    assert tavern.view["phase"] == "play"
    tavern.round("lH", "rH")
    assert tavern.view["winner"] == A


def test_both_at_the_goal_play_on_until_one_is_ahead() -> None:
    """Rule 4, ruled: with konklave_nord both may get there at once."""
    tavern = opened("konklave_nord", best_of=3)
    tavern.round("sL", "rH")
    tavern.round("rH", "sL")
    tavern.round("sL", "sL")
    assert tavern.points == [2, 2] and tavern.view["phase"] == "play"
    tavern.round("sL", "sL")
    tavern.round("rL", "rL")
    assert tavern.points == [3, 3] and tavern.view["phase"] == "play"
    tavern.round("rH", "sL")
    assert tavern.points == [3, 4] and tavern.view["winner"] == B


def test_double_shadow_can_win_for_who_is_ahead() -> None:
    """Rule 4: who gets there first wins, also when both get a point in that round."""
    tavern = opened("konklave_nord", best_of=3)
    tavern.round("sL", "rH")
    tavern.round("sL", "sH")
    assert tavern.points == [2, 1] and tavern.view["winner"] == A


def test_single_with_konklave_nord_goes_on_after_a_double_shadow() -> None:
    """Rule 4, ruled: best of 1, both have 1 point and neither is ahead."""
    tavern = Tavern()
    tavern.open(rules={"format": "single", "variants": ["konklave_nord"]})
    tavern.round("sL", "sL")
    assert tavern.points == [1, 1] and tavern.view["phase"] == "play"
    tavern.round("sL", "rH")
    assert tavern.view["winner"] == A and tavern.points == [2, 1]


def test_discipline_wins_points_like_any_other_round() -> None:
    tavern = opened("feu_werk", best_of=3)
    tavern.round("sL", "lL")
    tavern.round("rL", "rH")
    assert tavern.view["winner"] == A
    assert tavern.view["last_round"]["reason"] == "discipline"
