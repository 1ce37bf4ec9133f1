"""Every sample game through the API: every status, code, view, purse and balance as written."""

import json
from collections import defaultdict
from typing import Any

import pytest

from tests.api.support import BASE, Api
from tests.test_scenarios_in_memory import FILES, differences, filled

Json = dict[str, Any]


class Larp:
    """One fresh LARP, with a token for each role that asks, made when it first does."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.tokens: dict[str, str] = {}
        self.positions: dict[int, int] = {}
        self.accounts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))

    async def ask(self, method: str, path: str, who: str, body: Json | None = None) -> tuple[int, Json]:
        role, _, character = who.partition(":")
        if who not in self.api.tokens:
            self.api.tokens[who] = await self.api.token(
                {"role": role, "label": who, "character": character or None}
                if character
                else {"role": role, "label": who},
                "sample",
            )
        answer = await self.api.call(method, f"{BASE}/larps/sample{path}", who, body)
        return answer.status_code, answer.json()

    def note(self, events: list[Json]) -> None:
        """What the postings of a receipt say is in the accounts."""
        for event in events:
            for posting in event["postings"]:
                self.accounts[posting["from"]][posting["asset"]] -= posting["amount"]
                self.accounts[posting["to"]][posting["asset"]] += posting["amount"]


@pytest.mark.parametrize("steps", [pytest.param(json.loads(f.read_text())["steps"], id=f.stem) for f in FILES])
async def test_replays_as_written(api: Api, steps: list[Json]) -> None:
    await api.ok("POST", f"{BASE}/larps", "admin", {"larp": "sample", "name": "Sample"})
    api.tokens = {"admin": api.tokens["admin"]}
    larp = Larp(api)
    for step in steps:
        said = f"step {step['n']} ({step['what']})"
        expect = step["expect"]
        status, answer = await larp.ask(step["method"], step["path"], step["as"], filled(step["body"], larp.positions))
        if expect["status"] != 201:
            allowed = [(each["status"], each["code"]) for each in (expect, *expect.get("or", []))]
            assert (status, answer["code"]) in allowed, f"{said}: {answer}"
            assert answer["detail"]
            continue
        assert status == 201, f"{said}: {answer}"
        larp.positions[step["n"]] = answer["position"]
        larp.note(answer["events"])
        if "sealed" in step:
            assert json.dumps(step["sealed"]) not in json.dumps(answer["events"]), said
        await check(larp, expect, answer, said)


async def check(larp: Larp, expect: Json, answer: Json, said: str) -> None:
    if "table" in expect:
        assert differences(expect["table"], answer["table"], said) == []
        _, read = await larp.ask("GET", f"/tables/{expect['table']['table']}", "keeper")
        assert differences(expect["table"], read, f"{said}, read again") == []
    for account, want in expect.get("accounts", {}).items():
        assert {asset: n for asset, n in larp.accounts[account].items() if n} == want, f"{said}: {account}"
    for character, want in expect.get("purses", {}).items():
        _, purse = await larp.ask("GET", f"/purses/{character}", "organiser")
        assert purse["balances"] == want["balances"], f"{said}: {character}"
        for key in ("owes", "owed"):
            assert sorted(map(str, map(sorted_items, purse[key]))) == sorted(map(str, map(sorted_items, want[key]))), (
                said
            )


def sorted_items(note: Json) -> list[tuple[str, Any]]:
    return sorted(note.items())
