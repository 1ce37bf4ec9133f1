"""One line a request, with what operators need and nothing that players must not know."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import structlog
from structlog.testing import LogCapture

from projections import queries
from tests.api.support import BASE, NORTH, Api

Lines = list[Any]

CANARY = "canary-7f3a"


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What is logged, as it is before it becomes JSON."""
    capture = LogCapture()
    before = structlog.get_config()
    structlog.configure(processors=[structlog.contextvars.merge_contextvars, capture], cache_logger_on_first_use=False)
    yield capture.entries
    structlog.configure(**before)


def requests(lines: Lines) -> Lines:
    return [line for line in lines if line["event"] == "request"]


async def test_a_line_says_who_asked_what_and_how_it_went(api: Api, lines: Lines) -> None:
    await api.call("GET", f"{NORTH}/purses/alva?limit=x", "alva", headers={"x-request-id": "r-1"})
    (line,) = lines
    assert line.pop("duration_ms") > 0
    assert line.pop("token").startswith("tok_")
    assert line == {
        **{"event": "request", "log_level": "info", "request_id": "r-1", "method": "GET", "status": 400},
        **{"route": f"{BASE}/larps/{{larp}}/purses/{{character}}", "larp": "north", "role": "player"},
    }


async def test_every_request_has_one_line_and_every_answer_its_id(
    api: Api, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError(CANARY)

    monkeypatch.setattr(queries, "characters", fail)
    asked = [
        ("GET", f"{NORTH}/purses/alva", "alva", 200),
        ("POST", f"{NORTH}/transfers", "alva", 403),
        ("GET", NORTH, None, 401),
        ("GET", "/nowhere", None, 404),
        ("PUT", NORTH, None, 405),
        ("OPTIONS", NORTH, None, 204),
        ("HEAD", "/schema", None, 200),
        ("GET", "/problems/malformed", None, 200),
        ("GET", "/health/live", None, 200),
        ("GET", f"{NORTH}/characters", "alva", 500),
    ]
    for method, path, who, status in asked:
        lines.clear()
        answer = await api.call(method, path, who, {"from": "berit"} if method == "POST" else None)
        assert answer.status_code == status, path
        (line,) = requests(lines)
        assert (line["method"], line["status"]) == (method, status)
        assert line["request_id"] == answer.headers["x-request-id"]
        assert all(other["request_id"] == line["request_id"] for other in lines)


@pytest.mark.parametrize("given", ["evening-7", "A.b_c-9", "x" * 128])
async def test_a_sane_request_id_is_kept(client: httpx.AsyncClient, given: str) -> None:
    answer = await client.get("/health/live", headers={"x-request-id": given})
    assert answer.headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "a b", '"}', "x" * 129, "æ".encode(), "-x", "a\tb"])
async def test_any_other_is_replaced(client: httpx.AsyncClient, given: str | bytes) -> None:
    answer = await client.get(
        "/health/live", headers=[(b"x-request-id", given if isinstance(given, bytes) else given.encode())]
    )
    assert re.fullmatch(r"[0-9a-f]{16}", answer.headers["x-request-id"])


async def test_no_line_shows_a_body_a_token_or_a_query(api: Api, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when it is carried out, refused or malformed, and not when the service has a fault while it holds it."""
    transfer = {"from": "alva", "to": "berit", "asset": "krona", "amount": 1, "memo": CANARY}
    await api.ok("POST", f"{NORTH}/transfers", "alva", transfer)
    await api.call("POST", f"{NORTH}/transfers", "alva", transfer | {"amount": 10**9})
    await api.call("POST", f"{NORTH}/transfers", "alva", transfer | {CANARY: CANARY})
    await api.call("GET", f"{NORTH}/events?account={CANARY}", "tool")
    await api.call("GET", f"{NORTH}/purses/{CANARY}", "organiser")
    await api.call("GET", f"/{CANARY}", None)
    api.tokens["canary"] = CANARY
    await api.call("GET", NORTH, "canary")

    async def fail(*_: object) -> None:
        try:
            raise ValueError(CANARY)
        except ValueError as error:
            raise RuntimeError(CANARY) from error

    monkeypatch.setattr(queries, "purse", fail)
    await api.call("GET", f"{NORTH}/purses/alva", "alva")
    assert len(requests(lines)) == 8
    rendered = json.dumps([{**line, "exc_info": ""} for line in lines], default=repr)
    assert CANARY not in rendered
    assert not [token for token in api.tokens.values() if token in rendered]
