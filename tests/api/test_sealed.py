"""What lies under a cup is its owner's and the organisers' business until the rules uncover it."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import structlog
from structlog.testing import LogCapture

from ledger import sealing
from ledger.messages import Uncovered
from tests.api.support import BASE, NORTH, Api, problem

TABLE = f"{NORTH}/tables/eagle"
OPENING = {
    **{"game": "skuggkast", "table": "eagle", "seats": ["alva", "berit"], "dice": "service"},
    **{"stake": {"asset": "krona", "amount": 1}, "rules": {"target": 18}},
}
ROUNDS = 6
LOGGED = {
    *("event", "log_level", "request_id", "method", "route", "status", "duration_ms", "larp", "role", "token"),
}
"""All that is logged of a request: nothing of what is in it."""

Cup = dict[str, Any]


@pytest.fixture
def logged() -> Iterator[list[Any]]:
    capture = LogCapture()
    before = structlog.get_config()
    structlog.configure(processors=[structlog.contextvars.merge_contextvars, capture], cache_logger_on_first_use=False)
    yield capture.entries
    structlog.configure(**before)


class Listener:
    """Everything that anybody but the owner and the organisers was told, and what it must not have been."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.heard: list[tuple[str, str]] = []

    async def ask(self, who: str, method: str, path: str, body: Any = None) -> httpx.Response:
        answer = await self.api.call(method, path, who, body)
        self.heard.append((f"{method} {path} as {who}", answer.text + repr(answer.headers)))
        return answer

    async def ask_for_everything(self) -> None:
        """Every address that could show the cup, as everybody who must not see it."""
        for who in ("berit", "cato", "keeper", "banker", "tool", "admin", "stranger"):
            for path in ("/sealed", "", "?at=now", "/sealed?seat=alva"):
                await self.ask(who, "GET", TABLE + path)
            for path in ("tables", "events", "events?table=eagle", "purses/alva", "purses/alva/statement"):
                await self.ask(who, "GET", f"{NORTH}/{path}")
            await self.ask(who, "POST", f"{TABLE}/actions", {"action": "roll", "seat": "alva"})
            await self.ask(who, "POST", f"{TABLE}/actions", {"action": "reveal", "seat": "alva", "dice": "?"})

    def assert_unheard(self, cup: Cup) -> None:
        """The cup stands in no answer, in whatever order its keys might be."""
        for where, text in self.heard:
            assert not _shows(text, cup), f"{where} shows {cup}"


def _shows(text: str, cup: Cup) -> bool:
    """Whether all three sides stand in one object that no claim is: claims are told apart by their key."""
    try:
        found = json.loads(text.partition("Headers(")[0])
    except ValueError:
        return False
    return any(cup.items() <= node.items() and "believed" not in node for node in _objects(found))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for key, below in value.items():
            if key != "claimed":
                yield from _objects(below)
    elif isinstance(value, list):
        for below in value:
            yield from _objects(below)


async def test_an_evening_by_players_tokens_alone_shows_no_cup_before_its_time(api: Api, logged: list[Any]) -> None:
    """The service rolls; each player sees its own cup, the organiser all, nobody else any, nor any log line."""
    listener = Listener(api)
    await api.ok("POST", f"{NORTH}/tables", "keeper", OPENING)
    view = await _roll_off(api)
    uncovered_before: list[Cup] = []
    for _ in range(ROUNDS):
        active, other = view["turn"], "berit" if view["turn"] == "alva" else "alva"
        rolled = await api.call("POST", f"{TABLE}/actions", active, {"action": "roll", "seat": active})
        listener.heard.append(("the roller's own receipt", rolled.text))
        (own,) = (await api.ok("GET", f"{TABLE}/sealed", active))["items"]
        cup = own["value"]
        assert (own["seat"], own["what"]) == (active, "cup")
        assert own["commitment"] == rolled.json()["events"][0]["data"]["sealed"][0]["commitment"]
        assert (await api.ok("GET", f"{TABLE}/sealed", other))["items"] == []
        assert (await api.ok("GET", f"{TABLE}/sealed", "organiser"))["items"] == [own]
        if active == "alva":
            await listener.ask_for_everything()
        claim = {"action": "claim", "seat": active, "symbol": "skull", "number": 1, "shadow": "cursed"}
        await listener.ask(active, "POST", f"{TABLE}/actions", claim)
        if cup not in uncovered_before:  # else everybody has seen the same dice before, and nothing tells the two apart
            listener.assert_unheard(cup)
        uncovered_before.append(cup)
        assert {key for line in logged for key in line} == LOGGED
        assert {line["event"] for line in logged} == {"request"}
        listener.heard.clear()
        receipt = await api.ok("POST", f"{TABLE}/actions", other, {"action": "challenge", "seat": other})
        (uncovered,) = [e["data"]["uncovered"][0] for e in receipt["events"] if "uncovered" in e["data"]]
        assert uncovered["value"] == cup, "now everybody sees it"
        assert sealing.holds(Uncovered(**uncovered)), "and can check it"
        assert (await api.ok("GET", f"{TABLE}/sealed", "organiser"))["items"] == []
        view = receipt["table"]


async def _roll_off(api: Api) -> dict[str, Any]:
    view: dict[str, Any] = await api.ok("GET", TABLE, "alva")
    while view["phase"] == "roll_off":
        for seat in view["waiting_for"]:
            view = (await api.ok("POST", f"{TABLE}/actions", seat, {"action": "roll_off", "seat": seat}))["table"]
    return view


async def test_who_may_ask_for_what_is_sealed(api: Api) -> None:
    await api.ok("POST", f"{NORTH}/tables", "keeper", OPENING)
    for who in ("keeper", "banker", "tool", "admin"):
        assert problem(await api.call("GET", f"{TABLE}/sealed", who)) == (403, "forbidden"), who
    assert problem(await api.call("GET", f"{TABLE}/sealed", "stranger")) == (404, "unknown_larp")
    assert await api.ok("GET", f"{TABLE}/sealed", "cato") == {"items": []}, "who has no seat hides nothing"


async def test_a_namesake_in_another_larp_sees_nothing(api: Api) -> None:
    api.tokens["namesake"] = await api.token({"role": "player", "character": "alva", "label": "x"}, larp="south")
    await api.ok("POST", f"{NORTH}/tables", "keeper", OPENING)
    assert problem(await api.call("GET", f"{TABLE}/sealed", "namesake")) == (404, "unknown_larp")
    south = f"{BASE}/larps/south/tables/eagle/sealed"
    assert problem(await api.call("GET", south, "namesake")) == (404, "unknown_table")
