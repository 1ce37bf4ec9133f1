"""Every write is answered with what was recorded, as it was recorded, and can be read at once."""

import json
from collections import defaultdict
from typing import Any

from litestar import Litestar

from tests.api.support import BASE, NORTH, Api, problem

TABLE = {"game": "skuggkast", "table": "eagle", "seats": ["alva", "berit"], "stake": {"asset": "krona", "amount": 5}}


async def test_a_receipt_holds_the_recorded_bytes(api: Api) -> None:
    """Nothing is decoded and encoded again between the journal, the receipt and the list of events."""
    body = {"from": "alva", "to": "berit", "asset": "krona", "amount": 7, "memo": "för färjan"}
    answer = await api.call("POST", f"{NORTH}/transfers", "alva", body)
    assert answer.status_code == 201
    assert list(answer.json()) == ["position", "events"]
    position = answer.json()["position"]
    event = await api.call("GET", f"{NORTH}/events/{position}", "tool")
    listed = await api.call("GET", f"{NORTH}/events?after={position - 1}", "tool")
    assert event.content in answer.content
    assert event.content in listed.content
    assert list(event.json()) == [
        *("position", "id", "type", "version", "at", "recorded_at", "actor", "table", "data", "postings", "hash")
    ]
    assert event.json()["actor"]["role"] == "player"
    assert event.json()["actor"]["character"] == "alva"
    assert event.json()["postings"] == [{"from": "purse/alva", "to": "purse/berit", "asset": "krona", "amount": 7}]


async def test_what_was_written_is_read_at_once(api: Api) -> None:
    body = {"from": "alva", "to": "berit", "asset": "krona", "amount": 7}
    position = (await api.ok("POST", f"{NORTH}/transfers", "banker", body))["position"]
    assert await api.head() == position
    purse = await api.ok("GET", f"{NORTH}/purses/alva", "alva")
    assert (purse["balances"], purse["position"]) == ({"krona": 43}, position)
    (newest, *_) = (await api.ok("GET", f"{NORTH}/purses/alva/statement", "alva"))["items"]
    assert (newest["position"], newest["change"], newest["balance"]) == (position, -7, 43)


async def test_when_it_happened_in_the_field_may_come_with_every_write(api: Api) -> None:
    at = "2026-11-01T21:14:00+02:00"
    writes: dict[str, dict[str, Any]] = {
        "assets": {"asset": "skruv", "kind": "token", "name": "Skruv"},
        "characters": {"character": "dana", "name": "Dana"},
        "grants": {"to": "alva", "asset": "krona", "amount": 1},
        "ious": {"debtor": "alva", "creditor": "berit", "asset": "drink", "amount": 1},
        "tables": TABLE,
        "tables/eagle/actions": {"action": "roll_off", "seat": "alva", "number": 6},
        "tables/eagle/void": {"reason": "rain"},
    }
    for path, body in writes.items():
        receipt = await api.ok("POST", f"{NORTH}/{path}", "organiser", {**body, "at": at})
        assert receipt["events"][0]["at"] == "2026-11-01T19:14:00Z", path
        assert receipt["events"][0]["recorded_at"] > "2026-11-01", path
    changed = await api.ok("PATCH", f"{NORTH}/characters/alva", "organiser", {"name": "Alva", "at": at})
    assert changed["events"][0]["at"] == "2026-11-01T19:14:00Z"
    await api.ok("POST", f"{NORTH}/tokens", "organiser", {"role": "tool", "label": "x", "at": at})


async def test_what_is_done_at_a_table_is_answered_with_its_view(api: Api) -> None:
    for path, body in (
        ("tables", TABLE),
        ("tables/eagle/actions", {"action": "roll_off", "seat": "alva", "number": 6}),
        ("tables/eagle/actions", {"action": "roll_off", "seat": "berit", "number": 2}),
        ("tables/eagle/void", {"reason": "rain"}),
    ):
        answer = await api.call("POST", f"{NORTH}/{path}", "organiser", body)
        assert answer.status_code == 201, answer.text
        receipt = answer.json()
        read = await api.call("GET", f"{NORTH}/tables/eagle", "alva")
        assert receipt["table"] == read.json()
        assert receipt["table"]["position"] == receipt["position"] == receipt["events"][-1]["position"]
        assert read.content in answer.content
    assert receipt["table"]["phase"] == "voided"


async def test_a_refusal_says_what_would_have_been_needed_and_changes_nothing(api: Api) -> None:
    before = await api.head()
    body = {"from": "alva", "to": "berit", "asset": "krona", "amount": 51}
    answer = await api.call("POST", f"{NORTH}/transfers", "alva", body)
    assert problem(answer) == (409, "insufficient_funds")
    assert answer.json()["detail"] == "alva has 50 krona, it would take 51"
    assert await api.head() == before


async def test_money_by_hand(api: Api) -> None:
    """Each of the money's writes, once: granted, taken, moved, owed, settled, forgiven, handed on, reversed."""
    for who, path, body in (
        ("organiser", "grants", {"to": "alva", "asset": "krona", "amount": 10}),
        ("organiser", "collections", {"from": "alva", "asset": "krona", "amount": 5}),
        ("alva", "transfers", {"from": "alva", "to": "berit", "asset": "krona", "amount": 5}),
        ("alva", "ious", {"debtor": "alva", "creditor": "berit", "asset": "krona", "amount": 9}),
        ("alva", "settlements", {"debtor": "alva", "creditor": "berit", "asset": "krona", "amount": 2}),
        ("berit", "forgivals", {"debtor": "alva", "creditor": "berit", "asset": "krona", "amount": 1}),
        ("berit", "assignments", {"debtor": "alva", "from": "berit", "to": "cato", "asset": "krona", "amount": 4}),
    ):
        position = (await api.ok("POST", f"{NORTH}/{path}", who, body))["position"]
    purse = await api.ok("GET", f"{NORTH}/purses/alva", "alva")
    assert purse["balances"] == {"krona": 48}
    assert sorted((note["creditor"], note["amount"]) for note in purse["owes"]) == [("berit", 2), ("cato", 4)]
    await api.ok("POST", f"{NORTH}/reversals", "organiser", {"position": position, "reason": "a slip"})
    assert (await api.ok("GET", f"{NORTH}/purses/berit", "berit"))["owed"] == [
        {"debtor": "alva", "asset": "krona", "amount": 6}
    ]


async def test_a_larp_is_founded_once(api: Api) -> None:
    receipt = await api.ok("POST", f"{BASE}/larps", "admin", {"larp": "west", "name": "West", "language": "nb"})
    assert receipt["position"] == 1
    assert receipt["events"][0]["data"] == {"larp": "west", "name": "West", "language": "nb"}
    answer = await api.call("POST", f"{BASE}/larps", "admin", {"larp": "west", "name": "Again"})
    assert problem(answer) == (409, "already_exists")
    listed = await api.ok("GET", f"{BASE}/larps/west", "admin")
    assert listed == {
        **{"larp": "west", "name": "West", "language": "nb"},
        **{"position": 1, "characters": 0, "assets": 3, "tables": 0},
    }


async def test_limits_of_assets_that_are_not_named_stay(api: Api) -> None:
    await api.ok("POST", f"{NORTH}/assets", "organiser", {"asset": "skruv", "kind": "token", "name": "Skruv"})
    await api.ok("PATCH", f"{NORTH}/characters/alva", "organiser", {"credit_limit": {"skruv": 3}})
    await api.ok("PATCH", f"{NORTH}/characters/alva", "organiser", {"name": "Alva of the Marsh"})
    (alva, *_) = (await api.ok("GET", f"{NORTH}/characters", "banker"))["items"]
    assert alva["name"] == "Alva of the Marsh"
    assert alva["credit_limit"] == {"krona": 100, "skruv": 3}


async def test_a_trailing_slash_is_forgiven(api: Api) -> None:
    assert (await api.call("GET", f"{NORTH}/purses/", "banker")).is_success


async def test_head_answers_as_get_without_a_body(app: Litestar, api: Api) -> None:
    """Every GET can be asked for its headers alone, refusals included."""
    await api.ok("POST", f"{NORTH}/tables", "keeper", TABLE)
    paths = {route.path_format for route in app.routes if "GET" in getattr(route, "methods", ())}
    known = {"larp": "north", "character": "alva", "table": "eagle", "position": "1", "code": "malformed"}
    fill = defaultdict(lambda: "none", known)
    for path in sorted(paths):
        for who in ("organiser", None):
            address = path.format_map(fill)
            got, head = await api.call("GET", address, who), await api.call("HEAD", address, who)
            assert head.status_code == got.status_code, address
            assert head.content == b"", address
            assert head.headers["content-type"] == got.headers["content-type"], address
            if "content-length" in got.headers and not path.endswith("/metrics"):  # streams have none, figures move
                assert head.headers["content-length"] == str(len(got.content)), address


async def test_answers_are_not_kept_by_anybody_in_between(api: Api) -> None:
    answer = await api.call("GET", f"{NORTH}/purses/alva", "alva")
    assert answer.headers["cache-control"] == "private, no-cache"
    refused = await api.call("GET", f"{NORTH}/purses/alva", "berit")
    assert refused.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert json.loads(answer.content)["character"] == "alva"
