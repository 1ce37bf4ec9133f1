"""Debts over HTTP: seen, simplified, settled by a plan; corrections and late entries beside what they belong to."""

from typing import Any

import pytest

from tests.api.support import NORTH, Api, problem

Json = Any
DEBTS = f"{NORTH}/debts"
SETTLEMENTS = f"{NORTH}/settlements"


async def owe(api: Api, debtor: str, creditor: str, amount: int, asset: str = "krona", **more: Json) -> int:
    body = {"debtor": debtor, "creditor": creditor, "asset": asset, "amount": amount, **more}
    return int((await api.ok("POST", f"{NORTH}/ious", "banker", body))["position"])


@pytest.fixture
async def owing(api: Api) -> Api:
    """alva owes berit 5, berit owes cato 7 and cato owes alva 1 krona, and alva owes berit 2 drinks: 9 to 12."""
    await owe(api, "alva", "berit", 5)
    await owe(api, "berit", "cato", 7)
    await owe(api, "cato", "alva", 1)
    await owe(api, "alva", "berit", 2, "drink")
    return api


def brief(answer: Json) -> list[tuple[Json, ...]]:
    return [(i["debtor"], i.get("creditor"), i["asset"], i["amount"]) for i in answer["items"]]


async def plan_of(api: Api, who: str = "banker") -> Json:
    plan = await api.ok("GET", f"{DEBTS}?simplify=true", who)
    return {"plan": plan["items"], "circles": plan["circles"]}


# ---- seen ----


async def test_debts_are_listed_with_what_they_come_from(owing: Api) -> None:
    answer = await owing.ok("GET", DEBTS, "banker")
    assert answer["kind"] == "debts"
    assert brief(answer) == [
        ("alva", "berit", "drink", 2),
        ("alva", "berit", "krona", 5),
        ("berit", "cato", "krona", 7),
        ("cato", "alva", "krona", 1),
    ]
    issued = await owing.ok("GET", f"{NORTH}/events/9", "tool")
    krona = answer["items"][1]
    assert (krona["position"], krona["since"]) == (9, issued["at"])
    assert krona["notes"] == [
        {
            "amount": 5,
            "position": 9,
            "since": issued["at"],
            "recorded_at": issued["recorded_at"],
            "type": "note.issued",
            "table": None,
        }
    ]
    assert {"character": "alva", "asset": "krona", "owes": 5, "owed": 1} in answer["totals"]
    assert answer["position"] == 12


async def test_debts_as_of_then(owing: Api) -> None:
    assert brief(await owing.ok("GET", f"{DEBTS}?at_position=10", "tool")) == [
        ("alva", "berit", "krona", 5),
        ("berit", "cato", "krona", 7),
    ]
    time = (await owing.ok("GET", f"{NORTH}/events/9", "tool"))["recorded_at"]
    assert brief(await owing.ok("GET", f"{DEBTS}?at={time}", "tool")) == [("alva", "berit", "krona", 5)]
    assert problem(await owing.call("GET", f"{DEBTS}?at_position=13", "tool")) == (404, "unknown_position")
    assert problem(await owing.call("GET", f"{DEBTS}?at_position=3&at={time}", "tool")) == (400, "malformed")


async def test_what_lies_at_a_table_is_owed_to_nobody_yet(owing: Api) -> None:
    table = {
        "game": "skuggkast",
        "table": "eagle",
        "seats": ["alva", "berit"],
        "stake": {"asset": "krona", "amount": 60},
        "credit": True,
    }
    opened = await owing.ok("POST", f"{NORTH}/tables", "keeper", table)
    answer = await owing.ok("GET", DEBTS, "banker")
    (staked, _) = [item for item in answer["items"] if "table" in item]
    assert (staked["debtor"], staked["table"], staked["amount"]) == ("alva", "eagle", 10)
    assert "creditor" not in staked
    assert (staked["notes"][0]["table"], staked["position"]) == ("eagle", opened["position"])
    assert {"character": "alva", "asset": "krona", "owes": 15, "owed": 1} in answer["totals"]
    plan = await owing.ok("GET", f"{DEBTS}?simplify=true", "banker")
    assert [(i["debtor"], i["amount"]) for i in plan["items"] if i["asset"] == "krona"] == [("alva", 4), ("berit", 2)]


async def test_a_player_sees_its_own_debts_only(owing: Api) -> None:
    assert brief(await owing.ok("GET", DEBTS, "alva")) == [
        ("alva", "berit", "drink", 2),
        ("alva", "berit", "krona", 5),
        ("cato", "alva", "krona", 1),
    ]
    answer = await owing.ok("GET", f"{DEBTS}?simplify=true", "cato")
    assert "drink" not in str(answer)
    assert [(i["debtor"], i["creditor"], i["amount"]) for i in answer["items"]] == [
        ("berit", "alva", 1),
        ("berit", "cato", 6),
    ]
    totals = (await owing.ok("GET", DEBTS, "cato"))["totals"]
    assert {"character": "berit", "asset": "krona", "owes": 7, "owed": 0} in totals, "what cato knows of berit"


async def test_pages_are_all_as_of_the_first(owing: Api) -> None:
    """What is settled meanwhile neither hides a debt nor shows one twice."""
    whole, pages, address = brief(await owing.ok("GET", DEBTS, "banker")), [], f"{DEBTS}?limit=1"
    while address:
        answer = await owing.call("GET", address, "banker")
        assert answer.json()["position"] == 12
        assert len(answer.json()["totals"]) == 5
        pages += brief(answer.json())
        address = answer.links["next"]["url"] if "next" in answer.links else ""
        await owing.call(
            "POST", SETTLEMENTS, "banker", {"debtor": "alva", "creditor": "berit", "asset": "krona", "amount": 1}
        )
    assert pages == whole


async def test_an_impossible_query_is_malformed(api: Api) -> None:
    for query in ("cursor=x", "cursor=MTIueA", "simplify=perhaps", "unknown=1", "limit=0"):
        assert problem(await api.call("GET", f"{DEBTS}?{query}", "banker")) == (400, "malformed"), query


# ---- simplified and settled ----


async def test_a_plan_is_carried_out_as_it_was_given(owing: Api) -> None:
    plan = await owing.ok("GET", f"{DEBTS}?simplify=true", "banker")
    assert plan["kind"] == "plan"
    assert brief(plan) == [
        ("alva", "berit", "drink", 2),
        ("alva", "cato", "krona", 4),
        ("berit", "cato", "krona", 2),
    ]
    assert plan["items"][1]["cancels"] == [
        {"debtor": "alva", "creditor": "berit", "amount": 4},
        {"debtor": "berit", "creditor": "cato", "amount": 4},
    ]
    assert [circle["asset"] for circle in plan["circles"]] == ["krona"]
    assert plan["assets"] == [
        {"asset": "drink", "settlements": 1, "fewest": True},
        {"asset": "krona", "settlements": 2, "fewest": True},
    ]
    body = {"plan": plan["items"], "circles": plan["circles"], "memo": "the last morning"}
    receipt = await owing.ok("POST", SETTLEMENTS, "banker", body)
    assert receipt["position"] == 13
    (event,) = receipt["events"]
    assert event["type"] == "note.plan_settled"
    assert event["data"] == body
    assert (await owing.ok("GET", DEBTS, "banker"))["items"] == []
    balances = {c: (await owing.ok("GET", f"{NORTH}/purses/{c}", "banker"))["balances"]["krona"] for c in NAMES}
    assert balances == {"alva": 46, "berit": 48, "cato": 56}
    assert (await owing.ok("GET", f"{DEBTS}?at_position=12&simplify=true", "tool"))["items"] == plan["items"]
    reversal = await owing.ok("POST", f"{NORTH}/reversals", "organiser", {"position": 13, "reason": "not yet"})
    assert brief(await owing.ok("GET", DEBTS, "banker")) == brief(
        await owing.ok("GET", f"{DEBTS}?at_position=12", "tool")
    )
    assert (await owing.ok("GET", f"{NORTH}/events/13", "tool"))["reversed_by"] == reversal["position"]


NAMES = ("alva", "berit", "cato")


async def test_a_plan_is_refused_when_the_debts_have_changed(owing: Api) -> None:
    plan = await plan_of(owing)
    await owing.ok(
        "POST", f"{NORTH}/forgivals", "cato", {"debtor": "berit", "creditor": "cato", "asset": "krona", "amount": 1}
    )
    answer = await owing.call("POST", SETTLEMENTS, "organiser", plan)
    assert problem(answer) == (409, "not_owed")
    assert answer.json()["detail"] == "cato holds 6 krona of berit's notes, 7 would be needed"
    assert await owing.head() == 13


async def test_a_plan_is_refused_whole_when_a_purse_cannot_pay(owing: Api) -> None:
    plan = await plan_of(owing)
    await owing.ok(
        "POST", f"{NORTH}/transfers", "berit", {"from": "berit", "to": "cato", "asset": "krona", "amount": 49}
    )
    answer = await owing.call("POST", SETTLEMENTS, "banker", plan)
    assert problem(answer) == (409, "insufficient_funds")
    assert await owing.head() == 13
    assert len((await owing.ok("GET", DEBTS, "banker"))["items"]) == 4


async def test_a_plan_is_for_banker_and_organiser(owing: Api) -> None:
    own = {"debtor": "alva", "creditor": "berit", "asset": "krona", "amount": 1}
    cancels = [{"debtor": "alva", "creditor": "berit", "amount": 1}]
    for body in ({"plan": [own | {"cancels": cancels}]}, {"plan": []}, own | {"plan": []}):
        assert problem(await owing.call("POST", SETTLEMENTS, "alva", body)) == (403, "forbidden"), body
    assert problem(await owing.call("POST", SETTLEMENTS, "keeper", await plan_of(owing))) == (403, "forbidden")
    assert await owing.head() == 12
    await owing.ok("POST", SETTLEMENTS, "alva", own)
    await owing.ok("POST", SETTLEMENTS, "organiser", {"plan": [own | {"cancels": cancels}]})


BODIES = {
    "both kinds at once": {"plan": [], "debtor": "alva"},
    "no list": {"plan": None},
    "nothing": {"plan": []},
    "a line without notes": {"plan": [{"debtor": "alva", "creditor": "berit", "asset": "krona", "amount": 1}]},
    "an unknown key": {"plan": [], "surplus": 1},
    "the command's name": {"plan": [], "command": "settlement_plan"},
    "somebody who gains": {
        "plan": [
            {
                "debtor": "alva",
                "creditor": "berit",
                "asset": "krona",
                "amount": 1,
                "cancels": [{"debtor": "alva", "creditor": "berit", "amount": 2}],
            }
        ]
    },
    "neither": {},
}


async def test_what_is_no_plan_is_malformed(owing: Api) -> None:
    for what, body in BODIES.items():
        assert problem(await owing.call("POST", SETTLEMENTS, "banker", body)) == (400, "malformed"), what
    assert await owing.head() == 12


async def test_broken_json_is_malformed_for_players_too(owing: Api) -> None:
    for content in (b"{", b"[]", b'"plan"', b'{"plan":', b"null"):
        for who in ("alva", "banker"):
            answer = await owing.call("POST", SETTLEMENTS, who, content=content)
            assert problem(answer) == (400, "malformed"), content


# ---- statements ----


async def test_a_late_entry_is_shown_as_late_and_where_it_belongs(owing: Api) -> None:
    late = await owe(owing, "alva", "berit", 3, at="2026-01-05T23:10:00+01:00", memo="from the tavern's paper")
    event = await owing.ok("GET", f"{NORTH}/events/{late}", "tool")
    assert (event["late"], event["at"]) == (True, "2026-01-05T22:10:00Z")
    rows = (await owing.ok("GET", f"{NORTH}/purses/alva/statement", "alva"))["items"]
    assert (rows[0]["position"], rows[0]["late"], rows[0]["at"]) == (late, True, "2026-01-05T22:10:00Z")
    assert not any(row["late"] for row in rows[1:])
    by_at = (await owing.ok("GET", f"{NORTH}/purses/alva/statement?order=at", "alva"))["items"]
    assert by_at == rows[1:] + rows[:1]
    recorded = (await owing.ok("GET", f"{NORTH}/purses/alva/statement?order=recorded", "alva"))["items"]
    assert recorded == rows
    debt = (await owing.ok("GET", DEBTS, "alva"))["items"][1]
    assert [note["since"] for note in debt["notes"]] == [debt["since"], "2026-01-05T22:10:00Z"]
    assert problem(await owing.call("GET", f"{NORTH}/purses/alva/statement?order=x", "alva")) == (400, "malformed")


@pytest.mark.parametrize("order", ["recorded", "at"])
async def test_pages_of_a_statement_in_either_order(owing: Api, order: str) -> None:
    for day in (3, 1, 2, 1):
        await owe(owing, "alva", "berit", 1, at=f"2026-01-0{day}T20:00:00Z")
    path = f"{NORTH}/purses/alva/statement?order={order}"
    whole = (await owing.ok("GET", path, "alva"))["items"]
    pages, address = [], f"{path}&limit=2"
    while address:
        answer = await owing.call("GET", address, "alva")
        pages += answer.json()["items"]
        address = answer.links["next"]["url"] if "next" in answer.links else ""
    assert pages == whole
    key = "recorded_at" if order == "recorded" else "at"
    assert [row[key] for row in whole] == sorted((row[key] for row in whole), reverse=True)


async def test_a_statement_as_of_then_knows_no_later_correction(owing: Api) -> None:
    await owing.ok("POST", f"{NORTH}/reversals", "organiser", {"position": 9, "reason": "a slip"})
    path = f"{NORTH}/purses/alva/statement"
    now = (await owing.ok("GET", path, "alva"))["items"]
    assert [(row["position"], row["reversed_by"], row["reverses"]) for row in now if row["position"] in (9, 13)] == [
        (13, None, 9),
        (9, 13, None),
    ]
    for order in ("recorded", "at"):
        then = (await owing.ok("GET", f"{path}?at_position=12&order={order}", "alva"))["items"]
        assert [row["reversed_by"] for row in then] == [None] * len(then)
        assert then[0]["position"] == 12
