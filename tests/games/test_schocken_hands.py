"""Schocken: what the hands are, which is higher, and what they are worth."""

import json
from itertools import combinations_with_replacement, pairwise, permutations

import pytest

from ledger.games.schocken.hands import Hand, hand_of
from tests.games.schocken_support import Table

NORMAL = [
    *("221", "321", "322", "331", "332", "421", "422", "431", "432", "433", "441", "442", "443"),
    *("521", "522", "531", "532", "533", "541", "542", "543", "544", "551", "552", "553", "554"),
    *("621", "622", "631", "632", "633", "641", "642", "643", "644", "651", "652", "653", "654"),
    *("655", "661", "662", "663", "664", "665"),
]
"""All that can be normal, from low to high, three alike aside."""
STRAIGHTS, GENERALS = ["321", "432", "543", "654"], ["222", "333", "444", "555", "666"]
SCHOCKS = ["211", "311", "411", "511", "611"]


def dice(text: str) -> tuple[int, ...]:
    return tuple(int(die) for die in text)


def test_the_order_of_all_hands_from_one_throw() -> None:
    """Normal, straight, general, schock, Handschock; within each by its height."""
    order = [*(n for n in NORMAL if n not in STRAIGHTS), *STRAIGHTS, *GENERALS, *SCHOCKS, "111"]
    assert len(order) == len(list(combinations_with_replacement(range(1, 7), 3)))
    strengths = [hand_of(dice(text), in_one_throw=True).strength for text in order]
    assert all(lower < higher for lower, higher in pairwise(strengths))


def test_the_order_of_all_hands_put_together() -> None:
    """A straight or three alike put together is normal, read from the highest die down; a schock stays a schock."""
    order = [*sorted([*NORMAL, *GENERALS]), *SCHOCKS, "111"]
    hands = [hand_of(dice(text), in_one_throw=False) for text in order]
    assert all(lower.strength < higher.strength for lower, higher in pairwise(hands))
    assert [hand.name for hand in hands] == ["normal"] * 50 + ["schock"] * 5 + ["schock_aus"]


@pytest.mark.parametrize(
    ("text", "in_one_throw", "name", "lids"),
    [
        ("665", True, "normal", 1),
        ("123", True, "straight", 2),
        ("123", False, "normal", 1),
        ("456", True, "straight", 2),
        ("222", True, "general", 3),
        ("666", False, "normal", 1),
        *((f"11{x}", one, "schock", x) for x in range(2, 7) for one in (True, False)),
        ("111", True, "schock_aus", None),
        ("111", False, "schock_aus", None),
    ],
)
def test_what_a_hand_is_worth(text: str, in_one_throw: bool, name: str, lids: int | None) -> None:
    """1, 2, 3, x and all the lids, in whatever order the dice lie."""
    for order in permutations(dice(text)):
        hand = hand_of(order, in_one_throw=in_one_throw)
        assert (hand.name, hand.lids) == (name, lids)


def test_a_hand_schock_beats_one_put_together() -> None:
    together, at_once = hand_of((1, 1, 1), in_one_throw=False), hand_of((1, 1, 1), in_one_throw=True)
    assert together.strength < at_once.strength
    assert (together.is_hand_schock, at_once.is_hand_schock) == (False, True)
    assert not any(Hand(name, (1,)).is_hand_schock for name in ("normal", "straight", "general", "schock"))


# ---- equal hands at a table ----


def last(table: Table) -> tuple[str, str, str]:
    scored = table.view["last_round"]
    return scored["best"], scored["worst"], scored["hand"]


def test_of_equal_hands_the_one_with_fewer_throws_is_higher() -> None:
    """The fewer throws beat the earlier place in the round, for straights as for all."""
    for hand, name in (((4, 5, 6), "straight"), ((6, 4, 1), "normal"), ((1, 1, 3), "schock")):
        table = Table()
        table.throw("anna", 2, 2, 3)
        table.throw("anna", *hand)
        table.stand("anna")
        table.throw("bernd", *hand)
        table.stand("bernd")
        for seat in ("carla", "dieter"):
            table.throw(seat, 6, 3, 1)
            table.stand(seat)
        assert last(table) == ("bernd", "dieter", name)


def test_of_equal_hands_with_equal_throws_the_earlier_is_higher() -> None:
    """The later of the two lowest takes the lids, the earlier of the two highest is the best."""
    table = Table(rules={"starter": "carla"})
    table.round({"carla": (2, 2, 1), "dieter": (4, 5, 6), "anna": (4, 5, 6), "bernd": (2, 2, 1)})
    assert last(table) == ("dieter", "bernd", "straight")


def test_equal_hands_read_the_same_however_they_were_thrown() -> None:
    """4-3-2 put together is as high as no straight: it loses to 4-3-3 and beats 4-3-1."""
    table = Table()
    table.throw("anna", 4, 1, 1)
    table.throw("anna", 3, 2, keep=(4,))
    table.stand("anna")
    for seat, hand in (("bernd", (4, 3, 3)), ("carla", (4, 3, 1)), ("dieter", (5, 2, 1))):
        table.throw(seat, *hand)
        table.stand(seat)
    assert last(table) == ("dieter", "carla", "normal")
    hands = [(shown["seat"], shown["hand"]) for shown in scored_hands(table)]
    assert hands == [("dieter", "normal"), ("bernd", "normal"), ("anna", "normal"), ("carla", "normal")]


def test_one_throw_may_be_the_second_or_the_third() -> None:
    """As long as nothing was kept in it: a straight, a general, a Handschock."""
    table = Table()
    for dice_ in ((6, 6, 5), (6, 6, 5), (3, 3, 3)):
        table.throw("anna", *dice_)
    table.throw("bernd", 6, 6, 5)
    table.throw("bernd", 2, 3, 4)
    table.stand("bernd")
    table.throw("carla", 5, 5, 1)
    table.throw("carla", 5, keep=(5, 1))
    table.throw("carla", 5, keep=(5, 5))
    table.throw("dieter", 6, 6, 5)
    table.stand("dieter")
    assert last(table) == ("anna", "carla", "general")
    assert [shown["hand"] for shown in scored_hands(table)] == ["general", "straight", "normal", "normal"]


def scored_hands(table: Table) -> list[dict[str, object]]:
    """What was shown when the last round was scored, the highest first."""
    scored = [r for r in table.larp.journal if r.type == "schocken.round_scored"][-1]
    hands: list[dict[str, object]] = json.loads(scored.body)["data"]["hands"]
    return hands
