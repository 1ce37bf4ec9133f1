"""What came of the games is told to whoever may read their tables, in pages, and nothing sealed is in it."""

from typing import Any

import pytest

from tests.api.support import NORTH, Api, problem

TABLE = f"{NORTH}/tables/eagle"
SEATS = ("alva", "berit", "cato", "dana")
GOOD, MIDDLING, BAD = [1, 1, 2], [5, 4, 2], [2, 2, 1]
Json = Any


@pytest.fixture
async def match(api: Api) -> Api:
    """A match of Schocken with one lid: dana loses both halves, each in one round."""
    await api.ok("POST", f"{NORTH}/characters", "organiser", {"character": "dana", "name": "Dana"})
    opening = {"game": "schocken", "table": "eagle", "seats": SEATS, "rules": {"lids": 1}}
    await api.ok("POST", f"{NORTH}/tables", "keeper", opening)
    for first in ("alva", "dana"):
        at = SEATS.index(first)
        for seat in (*SEATS[at:], *SEATS[:at]):
            dice = {"alva": GOOD, "dana": BAD}.get(seat, MIDDLING)
            await api.ok("POST", f"{TABLE}/actions", "keeper", {"action": "throw", "seat": seat, "dice": dice})
            if seat == first:
                await api.ok("POST", f"{TABLE}/actions", "keeper", {"action": "stand", "seat": seat})
    return api


async def test_rounds_and_the_result(match: Api) -> None:
    answer = await match.ok("GET", f"{TABLE}/rounds", "tool")
    assert [(item["number"], item["round"]["half"], item["round"]["round"]) for item in answer["items"]] == [
        (1, 1, 1),
        (2, 2, 1),
    ]
    first = answer["items"][0]["round"]
    assert (first["game"], first["best"], first["worst"], first["hand"], first["lids"]) == (
        "schocken",
        "alva",
        "dana",
        "schock",
        1,
    )
    assert [hand["seat"] for hand in first["hands"]] == ["alva", "berit", "cato", "dana"]
    result = answer["result"]
    assert (result["how"], result["winner"], result["loser"]) == ("lost", None, "dana")
    assert result["opened_at"] < result["closed_at"]


async def test_lids_and_their_history(match: Api) -> None:
    answer = await match.ok("GET", f"{TABLE}/lids", "alva")
    assert [(m["half"], m["round"], m["from"], m["to"], m["lids"]) for m in answer["items"]] == [
        (1, None, "mint", "middle/eagle", 1),
        (1, 1, "middle/eagle", "seat/eagle/dana", 1),
        (2, None, "seat/eagle/dana", "middle/eagle", 1),
        (2, 1, "middle/eagle", "seat/eagle/dana", 1),
        (2, None, "seat/eagle/dana", "mint", 1),
    ]
    assert answer["halves"] == [
        {"half": 1, "middle": 0, "seats": {"dana": 1}},
        {"half": 2, "middle": 0, "seats": {"dana": 1}},
    ]


async def test_dice_of_a_table_and_of_the_larp(match: Api) -> None:
    expected = {"1": 6, "2": 10, "4": 4, "5": 4}
    for path in (f"{TABLE}/dice", f"{NORTH}/dice"):
        items = (await match.ok("GET", path, "keeper"))["items"]
        assert {item["face"]: item["seen"] for item in items} == expected
        assert {(item["game"], item["die"], item["dice"]) for item in items} == {("schocken", "die", "reported")}


async def test_pages_of_one_hold_the_same_items(match: Api) -> None:
    for what in ("rounds", "lids"):
        whole = await match.ok("GET", f"{TABLE}/{what}", "organiser")
        items, address = [], f"{TABLE}/{what}?limit=1"
        while address:
            answer = await match.call("GET", address, "organiser")
            items += answer.json()["items"]
            assert {k: v for k, v in answer.json().items() if k != "items"} == {
                k: v for k, v in whole.items() if k != "items"
            }
            address = answer.links["next"]["url"] if "next" in answer.links else ""
        assert items == whole["items"]


async def test_a_table_that_has_just_begun(api: Api) -> None:
    opening = {"game": "skuggkast", "table": "t", "seats": ["alva", "berit"], "dice": "service"}
    await api.ok("POST", f"{NORTH}/tables", "keeper", opening | {"stake": {"asset": "krona", "amount": 1}})
    rounds = await api.ok("GET", f"{NORTH}/tables/t/rounds", "berit")
    assert rounds["items"] == []
    assert (rounds["result"]["how"], rounds["result"]["closed_at"]) == (None, None)
    assert await api.ok("GET", f"{NORTH}/tables/t/lids", "berit") == {"items": [], "halves": []}
    assert await api.ok("GET", f"{NORTH}/tables/t/dice", "berit") == {"items": []}
    assert await api.ok("GET", f"{NORTH}/dice", "berit") == {"items": []}


async def test_what_is_under_the_cup_is_in_no_answer(api: Api) -> None:
    """Neither as a round nor as a die, until the cup is lifted."""
    opening = {"game": "skuggkast", "table": "t", "seats": ["alva", "berit"], "rules": {"starter": "alva"}}
    await api.ok("POST", f"{NORTH}/tables", "keeper", opening | {"stake": {"asset": "krona", "amount": 1}})
    actions, dice = f"{NORTH}/tables/t/actions", {"symbol": "skull", "number": 4, "shadow": "cursed"}
    claim = {"symbol": "star", "number": 4, "shadow": "cursed"}
    await api.ok("POST", actions, "alva", {"action": "roll", "seat": "alva", "dice": dice})
    await api.ok("POST", actions, "alva", {"action": "claim", "seat": "alva", **claim})
    for what in ("rounds", "dice"):
        assert "skull" not in str(await api.ok("GET", f"{NORTH}/tables/t/{what}", "organiser"))
    await api.ok("POST", actions, "berit", {"action": "challenge", "seat": "berit"})
    (item,) = (await api.ok("GET", f"{NORTH}/tables/t/rounds", "cato"))["items"]
    assert item["round"] == {
        "game": "skuggkast",
        "seat": "alva",
        "claimed": claim,
        "challenger": "berit",
        "dice": dice,
        "verdict": "lie",
        "counts": 0,
    }
    seen = (await api.ok("GET", f"{NORTH}/tables/t/dice", "cato"))["items"]
    assert {(die["die"], die["face"], die["seen"]) for die in seen} == {
        ("symbol", "skull", 1),
        ("number", "4", 1),
        ("shadow", "cursed", 1),
    }


async def test_what_is_not_there_or_malformed_is_said(api: Api) -> None:
    for what in ("rounds", "lids", "dice"):
        for name in ("nowhere", "%00"):
            assert problem(await api.call("GET", f"{NORTH}/tables/{name}/{what}", "tool")) == (404, "unknown_table")
    opening = {"game": "skuggkast", "table": "t", "seats": ["alva", "berit"]}
    await api.ok("POST", f"{NORTH}/tables", "keeper", opening | {"stake": {"asset": "krona", "amount": 1}})
    for path in ("rounds?cursor=eA", "lids?cursor=NQ", "rounds?limit=0", "rounds?when=now", "dice?limit=1"):
        assert problem(await api.call("GET", f"{NORTH}/tables/t/{path}", "tool")) == (400, "malformed"), path
