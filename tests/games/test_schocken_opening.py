"""Schocken: opening a table, and what no table is opened with."""

from typing import Any

import pytest

from ledger.games.schocken.messages import Opened
from tests.games.schocken_support import EIGHT, FOUR, MARKS, Table


def test_opening_puts_all_lids_in_the_middle() -> None:
    """Thirteen of them from the mint; the defaults are written out; the first seat starts."""
    table = Table(opened=False)
    (opened,) = table.open()
    assert isinstance(opened, Opened)
    assert (table.account("middle/t"), table.account("mint")["lid"]) == ({"lid": 13}, -13)
    view = table.view
    assert view["rules"] == {
        "lids": 13,
        "forfeit": {"asset": "drink", "amount": 1},
        "dropped_die_forfeit": None,
        "hand_schock_forfeit": None,
        "no_walling": False,
        "starter": None,
    }
    assert (view["game"], view["phase"], view["turn"], view["waiting_for"]) == (
        "schocken",
        "throwing",
        "anna",
        ["anna"],
    )
    assert (view["half"], view["round"], view["middle"], view["limit"]) == (1, 1, 13, None)
    assert (view["half_losers"], view["loser"], view["last_round"], view["pot"]) == ([], None, None, {})
    assert (view["dice"], view["stake"], view["credit"], view["winner"]) == ("reported", None, False, None)
    blank = {"lids": 0, "playing": True, "throws": 0, "hand": None, "standing": False}
    assert view["seats"] == [{"character": seat, **blank} for seat in FOUR]
    table.is_sound()


def test_eight_seats_and_sixty_lids_are_the_most() -> None:
    table = Table(seats=EIGHT, rules={"lids": 60, "starter": "hanna"})
    assert (table.view["middle"], table.view["turn"]) == (60, "hanna")
    assert table.state.playing == ("hanna", *EIGHT[:-1])


def test_a_forfeit_in_tokens_is_put_down_by_every_seat() -> None:
    """Amount x (seats - 1), so that the loser can pay all the others."""
    table = Table(marks=dict.fromkeys(FOUR, 10), rules={"forfeit": MARKS})
    assert (table.view["pot"], table.account("pot/t")) == ({"mark": 36}, {"mark": 36})
    assert [table.account(f"purse/{seat}") for seat in FOUR] == [{"mark": 1}] * 4


def test_a_forfeit_in_tokens_is_put_down_on_credit_where_the_table_gives_it() -> None:
    """Own tokens first, then a note for the rest."""
    table = Table(marks={"anna": 9, "bernd": 20}, limits={"carla": 9, "dieter": 9}, opened=False)
    table.post("grants", to="carla", asset="mark", amount=4)
    table.open(rules={"forfeit": MARKS}, credit=True)
    assert table.view["pot"] == {"mark": 22, "iou/carla/mark": 5, "iou/dieter/mark": 9}
    assert (table.account("purse/bernd"), table.account("purse/carla")) == ({"mark": 11}, {})
    assert table.account("debtor/dieter") == {"iou/dieter/mark": -9}
    table.is_sound()


@pytest.mark.parametrize(
    "keys",
    [
        {"seats": FOUR[:3]},
        {"seats": [*EIGHT, "anna"]},
        {"seats": ["anna", "bernd", "carla", "anna"]},
        {"stake": {"asset": "mark", "amount": 1}},
        {"stake": {"asset": "drink", "amount": 1}, "credit": True},
        {"rules": {"lids": 0}},
        {"rules": {"lids": 61}},
        {"rules": {"starter": "emil"}},
        {"rules": {"starter": "nobody"}},
        {"rules": {"forfeit": {"asset": "drink", "amount": 0}}},
        {"rules": {"forfeit": {"asset": "drink", "amount": 10**15 + 1}}},
        {"rules": {"forfeit": {"asset": "lid", "amount": 1}}},
        {"rules": {"dropped_die_forfeit": {"asset": "mark", "amount": 1}}},
        {"rules": {"dropped_die_forfeit": {"asset": "lid", "amount": 1}}},
        {"rules": {"dropped_die_forfeit": {"asset": "schnapps", "amount": 0}}},
        {"rules": {"hand_schock_forfeit": {"asset": "mark", "amount": 1}}},
        {"rules": {"hand_schock_forfeit": {"asset": "schnapps", "amount": -1}}},
    ],
)
def test_what_no_table_is_opened_with(keys: dict[str, Any]) -> None:
    """Number of seats, a seat twice, a stake, rules out of their range, other forfeits than promises."""
    table = Table(marks={"anna": 100}, opened=False)
    table.will_not_open("invalid_rules", **keys)
    assert "t" not in dict(table.larp.book.tables.items())


@pytest.mark.parametrize(
    "keys",
    [
        {"rules": {"thirteen": True}},
        {"rules": {"lids": "13"}},
        {"rules": {"no_walling": 1}},
        {"rules": {"forfeit": None}},
        {"rules": {"forfeit": {"asset": "drink"}}},
        {"rules": {"starter": 1}},
        {"dice": "loaded"},
        {"seats": ["anna", "bernd", "carla", "Dieter"]},
        {"bank": 5},
    ],
)
def test_what_is_no_opening_at_all(keys: dict[str, Any]) -> None:
    """Unknown keys and wrong types are malformed."""
    Table(opened=False).will_not_open("malformed", **keys)


def test_the_order_of_what_is_refused_at_opening() -> None:
    """Unknown characters and assets, then the rules, then the name that is taken, then the money."""
    table = Table(opened=False)
    odd = {"asset": "doubloon", "amount": 1}
    strangers = ["anna", "bernd", "nobody"]
    table.will_not_open("unknown_character", seats=strangers, rules={"lids": 0, "forfeit": odd})
    for rule in ("forfeit", "dropped_die_forfeit", "hand_schock_forfeit"):
        table.will_not_open("unknown_asset", seats=FOUR[:3], rules={"lids": 0, rule: odd})
    table.will_not_open("unknown_asset", stake=odd)
    table.open(rules={"lids": 4})
    table.will_not_open("invalid_rules", rules={"lids": 0, "forfeit": MARKS})
    table.will_not_open("already_exists", rules={"forfeit": MARKS})


def test_who_cannot_put_the_forfeit_down() -> None:
    """All or nobody: without credit insufficient_funds, past the limit credit_exceeded; the detail says why."""
    table = Table(marks={"anna": 9, "bernd": 9, "carla": 9, "dieter": 8}, opened=False)
    detail = table.will_not_open("insufficient_funds", rules={"forfeit": MARKS})
    assert detail == "dieter has 8 mark, the forfeit for all others is 9"
    table.will_not_open("credit_exceeded", rules={"forfeit": MARKS}, credit=True)
    table.post("grants", to="dieter", asset="mark", amount=1)
    table.open(rules={"forfeit": MARKS})
    assert table.view["pot"] == {"mark": 36}
