"""Schocken: throwing, standing, uncovering, dropping; what is said no to, and in which order."""

from typing import Any

import pytest

from ledger.games.schocken.messages import CupLifted, DiceDropped, RoundScored, Stood, Thrown
from tests.games.schocken_support import FOUR, SCHNAPPS, Table, names

# ---- throw ----


def test_a_go_of_three_throws() -> None:
    """The first two are open to all, dice put aside may be taken up again, the third ends the go under the cup."""
    table = Table()
    (thrown,) = table.throw("anna", 6, 3, 6)
    assert thrown == Thrown(seat="anna", keep=(), dice=(6, 3, 6), sealed=())
    table.throw("anna", 2, keep=(6, 6))
    assert table.seat("anna") == {
        "character": "anna",
        "lids": 0,
        "playing": True,
        "throws": 2,
        "hand": [6, 6, 2],
        "standing": False,
    }
    assert (table.view["turn"], table.view["limit"]) == ("anna", None)
    (thrown,) = table.throw("anna", 5, 4, keep=(2,))
    assert isinstance(thrown, Thrown) and thrown.dice is None and thrown.sealed[0].seat == "anna"
    anna = table.seat("anna")
    assert (anna["throws"], anna["hand"], anna["standing"]) == (3, [2, None, None], True)
    assert (table.view["turn"], table.view["limit"], table.view["waiting_for"]) == ("bernd", 3, ["bernd"])
    table.is_sound()


def test_the_others_throw_at_most_as_often_as_the_starter() -> None:
    """At the limit a go ends by itself; below it a seat may stand; the order is clockwise from the starter."""
    table = Table(rules={"starter": "carla"})
    table.throw("carla", 6, 5, 3)
    table.throw("carla", 6, 5, 2)
    assert table.stand("carla") == [Stood(seat="carla")]
    assert (table.view["turn"], table.view["limit"]) == ("dieter", 2)
    table.throw("dieter", 6, 4, 2)
    assert table.view["turn"] == "dieter"
    table.throw("dieter", 6, 4, 1)
    assert (table.view["turn"], table.seat("dieter")["standing"]) == ("anna", True)
    table.throw("anna", 4, 2, 2)
    table.stand("anna")
    table.throw("bernd", 6, 6, 5)
    came = table.throw("bernd", 6, 6, 4)
    assert names(came) == ["thrown", "round_scored"]


def test_a_limit_of_one() -> None:
    table = Table()
    table.throw("anna", 6, 5, 3)
    table.stand("anna")
    table.throw("bernd", 6, 5, 2)
    assert (table.view["turn"], table.view["limit"]) == ("carla", 1)
    assert "bernd" in table.says_no("not_your_turn", "stand", "bernd")


@pytest.mark.parametrize(
    ("keep", "dice"),
    [
        ((6, 5), (3, 3)),
        ((6,), (3,)),
        ((), (3, 3)),
        ((), (1, 2, 3, 4)),
        ((), ()),
        ((4,), (1, 1)),
        ((5, 5), (1,)),
        ((6, 5, 3), ()),
        ((6, 5, 3), (1,)),
        ((6, 5, 3, 6), (1,)),
    ],
)
def test_illegal_throws(keep: tuple[int, ...], dice: tuple[int, ...]) -> None:
    """What is kept lies there, at most two dice are kept, and the others are thrown: neither more nor fewer."""
    table = Table()
    table.throw("anna", 6, 5, 3)
    table.says_no("illegal_throw", "throw", "anna", keep=keep, dice=dice)


def test_the_first_throw_keeps_nothing() -> None:
    table = Table()
    detail = table.says_no("illegal_throw", "throw", "anna", keep=[1], dice=[1, 1])
    assert detail == "anna would keep 1, nothing lies there yet"
    table.says_no("illegal_throw", "throw", "anna", dice=[1, 1])


def test_the_third_throw_is_as_legal_as_the_others() -> None:
    """Written down or blind."""
    table = Table()
    table.throw("anna", 6, 5, 3)
    table.throw("anna", 6, 5, 2)
    table.says_no("illegal_throw", "throw", "anna", keep=[3], dice=[1, 1])
    table.says_no("illegal_throw", "throw", "anna", keep=[3])
    table.says_no("illegal_throw", "throw", "anna", keep=[6, 5, 2])
    table.says_no("illegal_throw", "throw", "anna", keep=[6], dice=[1])


@pytest.mark.parametrize(
    ("action", "keys"),
    [
        ("throw", {"dice": [7, 1, 1]}),
        ("throw", {"dice": [0, 1, 1]}),
        ("throw", {"dice": [1, 1, 1], "keep": [7]}),
        ("throw", {"dice": [1, 1, 1.5]}),
        ("throw", {"dice": "666"}),
        ("throw", {"dice": [1, 1, 1], "blind": True}),
        ("uncover", {"dice": [0]}),
        ("stand", {"dice": [1]}),
        ("drop", {"dice": [1]}),
        ("leave", {}),
    ],
)
def test_what_is_no_action_of_the_game(action: str, keys: dict[str, Any]) -> None:
    """A die of 7, an unknown key, another game's action; and every action names its seat."""
    table = Table()
    table.says_no("malformed", action, "anna", **keys)
    table.says_no("malformed", action)


def test_dice_are_required_where_they_are_reported() -> None:
    """For the first two throws, whatever is kept; after them a throw may be blind."""
    table = Table()
    table.says_no("dice_required", "throw", "anna", keep=[1])
    table.throw("anna", 6, 6, 4)
    table.says_no("dice_required", "throw", "anna", keep=[1, 2])
    table.says_no("dice_required", "throw", "anna", dice=None)
    table.throw("anna", 3, keep=(6, 6))
    assert names(table.throw("anna", keep=(6, 6))) == ["thrown"]


def test_dice_are_not_accepted_where_the_service_rolls() -> None:
    table = Table(dice="service")
    table.says_no("dice_not_accepted", "throw", "anna", keep=[1], dice=[1, 1])
    table.throw("anna")
    table.throw("anna")
    table.says_no("dice_not_accepted", "throw", "anna", dice=[6])
    table.throw("anna")
    table.says_no("illegal_throw", "throw", "bernd", keep=[1, 1, 1])
    table.says_no("wrong_phase", "uncover", "anna")


def test_walling() -> None:
    """No other value is kept while a one is thrown again; without the rule it is allowed."""
    table = Table(rules={"no_walling": True})
    table.throw("anna", 1, 1, 6)
    for keep, dice in (((6,), (1, 1)), ((6, 1), (1,)), ((1, 6), (1,))):
        table.says_no("walling", "throw", "anna", keep=keep, dice=dice)
    table.says_no("illegal_throw", "throw", "anna", keep=[6, 1], dice=[1, 1])
    table.throw("anna", 1, 6, keep=(1,))
    table.says_no("walling", "throw", "anna", keep=[6], dice=[2, 2])
    table.says_no("walling", "throw", "anna", keep=[6])
    table.throw("anna", 6, keep=(1, 1))
    free = Table()
    free.throw("anna", 1, 1, 6)
    free.throw("anna", 5, 4, keep=(6,))
    assert free.seat("anna")["hand"] == [6, 5, 4]


def test_what_walling_does_not_forbid() -> None:
    """To throw all again, to keep ones only, to keep others where there is no one."""
    table = Table(rules={"no_walling": True})
    table.throw("anna", 1, 1, 6)
    table.throw("anna", 5, 5, 4)
    table.throw("anna", 2, keep=(5, 5))
    table.throw("bernd", 1, 5, 6)
    table.throw("bernd", 5, keep=(6, 1))
    assert table.seat("bernd")["hand"] == [6, 1, 5]


# ---- stand ----


def test_standing_takes_a_throw() -> None:
    """After not_your_turn, which comes first."""
    table = Table()
    table.says_no("not_your_turn", "stand", "bernd")
    assert table.says_no("nothing_thrown", "stand", "anna") == "anna must throw once before it stands"
    table.throw("anna", 6, 6, 4)
    table.stand("anna")
    table.says_no("not_your_turn", "stand", "anna")
    table.says_no("nothing_thrown", "stand", "bernd")


# ---- blind throws ----


def to_uncovering() -> Table:
    """Two cups that nobody looked under (anna's with two dice, carla's with three), and bernd's sealed one."""
    table = Table(rules={"dropped_die_forfeit": SCHNAPPS})
    go(table, "anna", keep=(5,))
    go(table, "bernd", 6, 6, keep=(5,))
    go(table, "carla")
    table.throw("dieter", 6, 2, 1)
    assert names(table.stand("dieter")) == ["stood"]
    return table


def go(table: Table, seat: str, *third: int, keep: tuple[int, ...] = ()) -> None:
    table.throw(seat, 5, 5, 3)
    table.throw(seat, 5, 4, 2)
    table.throw(seat, *third, keep=keep)


def test_blind_throws_are_uncovered_in_any_order() -> None:
    """After the last go; each is visible at once; with the last the round is scored."""
    table = to_uncovering()
    view = table.view
    assert (view["phase"], view["turn"], view["waiting_for"], view["limit"]) == (
        "uncovering",
        None,
        ["anna", "carla"],
        3,
    )
    assert [s["hand"] for s in view["seats"]] == [[5, None, None], [5, None, None], [None] * 3, [6, 2, 1]]
    assert table.act("uncover", "carla", dice=[4, 4, 4]) == [CupLifted(seat="carla", dice=(4, 4, 4))]
    assert (table.view["phase"], table.view["waiting_for"]) == ("uncovering", ["anna"])
    assert [table.seat(s)["hand"] for s in ("bernd", "carla")] == [[5, None, None], [4, 4, 4]]
    came = table.act("uncover", "anna", dice=[2, 1])
    assert names(came) == ["cup_lifted", "round_scored"]
    scored = came[1]
    assert isinstance(scored, RoundScored)
    assert [(h.seat, h.dice) for h in scored.hands] == [
        ("carla", (4, 4, 4)),
        ("bernd", (5, 6, 6)),
        ("dieter", (6, 2, 1)),
        ("anna", (5, 2, 1)),
    ]
    assert table.view["last_round"] == {"best": "carla", "worst": "anna", "hand": "general", "lids": 3}
    table.is_sound()


def test_a_blind_throw_waits_for_the_last_go() -> None:
    table = Table()
    go(table, "anna")
    table.says_no("wrong_phase", "uncover", "anna", dice=[1, 1, 1])
    assert table.view["phase"] == "throwing"


def test_what_is_not_uncovered() -> None:
    """Refusals in their order: seat, phase, dice, nothing blind, the number of dice."""
    table = to_uncovering()
    table.says_no("not_seated", "uncover", "emil")
    table.says_no("dice_required", "uncover", "bernd")
    for seat in ("bernd", "dieter"):
        table.says_no("already_uncovered", "uncover", seat, dice=[1, 1])
    table.says_no("illegal_throw", "uncover", "anna", dice=[1, 1, 1])
    table.says_no("illegal_throw", "uncover", "anna", dice=[1])
    table.says_no("illegal_throw", "uncover", "carla", dice=[])
    table.says_no("wrong_phase", "throw", "anna", dice=[1, 1, 1])
    table.says_no("wrong_phase", "stand", "dieter")
    table.act("uncover", "anna", dice=[1, 1])
    table.says_no("already_uncovered", "uncover", "anna", dice=[1, 1])


# ---- drop ----


def test_dropped_dice_cost_a_round() -> None:
    """A note for each other seat at once, whoever's turn it is, and as often as it happens; nothing else changes."""
    table = Table(rules={"dropped_die_forfeit": SCHNAPPS})
    before = table.view
    assert table.act("drop", "carla") == [DiceDropped(seat="carla")]
    assert [table.owed(s) for s in FOUR] == [{"carla/schnapps": 2}, {"carla/schnapps": 2}, {}, {"carla/schnapps": 2}]
    assert {k: v for k, v in table.view.items() if k != "position"} == {
        k: v for k, v in before.items() if k != "position"
    }
    table.act("drop", "carla")
    table.act("drop", "anna")
    assert (table.owed("bernd"), table.owed("anna")) == (
        {"carla/schnapps": 4, "anna/schnapps": 2},
        {"carla/schnapps": 4},
    )
    assert table.account("debtor/carla") == {"iou/carla/schnapps": -12}
    table.is_sound()


def test_dice_may_be_dropped_until_the_round_is_scored() -> None:
    """Also by who has ended its go, and while cups are uncovered."""
    table = to_uncovering()
    before = table.view
    table.act("drop", "dieter")
    assert table.owed("anna") == {"dieter/schnapps": 2}
    assert table.view["waiting_for"] == before["waiting_for"] and table.view["phase"] == "uncovering"


def test_dropping_without_the_rule() -> None:
    """no_such_rule, after not_seated."""
    table = Table()
    table.says_no("not_seated", "drop", "emil")
    assert "dropped_die_forfeit" in table.says_no("no_such_rule", "drop", "bernd")


def test_a_drop_that_no_balance_can_carry() -> None:
    """balance_overflow; nothing of it is recorded."""
    table = Table(rules={"dropped_die_forfeit": {"asset": "schnapps", "amount": 10**15}})
    for _ in range(3):
        table.act("drop", "anna")
    table.says_no("balance_overflow", "drop", "anna")


# ---- the general refusals ----


def test_who_has_no_seat() -> None:
    """Also a seat that is no character; before the phase, the turn and the dice."""
    table = Table()
    for stranger in ("emil", "nobody"):
        for action in ("throw", "stand", "uncover", "drop"):
            table.says_no("not_seated", action, stranger)


def test_whose_turn_it_is_not() -> None:
    """Before the dice and the throw."""
    table = Table()
    assert table.says_no("not_your_turn", "throw", "bernd") == "it is anna's turn, not bernd's"
    table.says_no("not_your_turn", "throw", "bernd", keep=[1], dice=[1])


def test_nobody_can_leave_and_nothing_happens_at_a_closed_table() -> None:
    """table_closed comes before all else that a table says."""
    table = Table()
    table.void()
    for action in ("throw", "stand", "uncover", "drop"):
        table.says_no("table_closed", action, "nobody")
    table.refused("table_closed", "tables/t/void", reason="again")
    table.says_no("malformed", "leave", "anna")
