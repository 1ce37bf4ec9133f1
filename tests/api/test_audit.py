"""GET /audit: what it answers, and that nobody who writes waits for it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from api import audit as route
from projections import audit
from projections.audit import NAMES
from tests.api.support import NORTH, Api, problem

PATH = f"{NORTH}/audit"
GRANT = {"to": "alva", "asset": "krona", "amount": 1}


@pytest.fixture
async def superuser(database_url: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute("SET session_replication_role = replica")
        yield connection


async def test_all_is_well(api: Api) -> None:
    answer = await api.ok("GET", PATH, "organiser")
    assert answer == {
        "ok": True,
        "position": await api.head(),
        "checks": [{"name": name, "ok": True, "findings": []} for name in (*NAMES, "tree", "checkpoints")],
    }


async def test_what_is_not_is_named_with_its_position(api: Api, superuser: psycopg.AsyncConnection[Any]) -> None:
    await superuser.execute("UPDATE skuggbok.head SET hash = sha256('x') WHERE larp = 1")
    await superuser.execute("DELETE FROM skuggbok.entry WHERE larp = 1 AND account = 'purse/alva'")
    answer = await api.ok("GET", PATH, "organiser")
    wrong = {check["name"]: check for check in answer["checks"] if not check["ok"]}
    assert not answer["ok"]
    assert set(wrong) == {"chain", "entries"}
    (finding,) = wrong["chain"]["findings"]
    head = await api.head()
    assert finding == {"check": "chain", "position": head, "detail": "the head's hash is not that of the last event"}


async def test_writers_go_on_and_one_audit_runs_at_a_time(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit is held in the middle, its transaction open; what is recorded meanwhile is not looked at."""
    reached, go_on = asyncio.Event(), asyncio.Event()
    compare = audit._Audit.compare

    async def held(self: audit._Audit, head: int) -> None:
        reached.set()
        await go_on.wait()
        await compare(self, head)

    monkeypatch.setattr(audit._Audit, "compare", held)
    before = await api.head()
    running = asyncio.create_task(api.ok("GET", PATH, "organiser"))
    await reached.wait()
    for _ in range(3):
        await api.ok("POST", f"{NORTH}/grants", "organiser", GRANT)
    answer = await api.call("GET", PATH, "organiser")
    assert problem(answer) == (503, "unavailable")
    assert answer.headers["retry-after"] == str(route.RETRY_AFTER_S)
    go_on.set()
    result = await running
    assert (result["ok"], result["position"]) == (True, before)
    assert (await api.ok("GET", PATH, "organiser"))["position"] == before + 3


async def test_an_audit_beside_busy_writers_finds_nothing(api: Api) -> None:
    writing = [
        asyncio.create_task(api.ok("POST", f"{NORTH}/grants", "organiser", GRANT | {"amount": n})) for n in range(1, 60)
    ]
    results = [await api.ok("GET", PATH, "organiser") for _ in range(3)]
    await asyncio.gather(*writing)
    assert [result["ok"] for result in results] == [True, True, True]


async def test_a_projection_that_is_stale_is_said_by_readiness(
    api: Api, superuser: psycopg.AsyncConnection[Any]
) -> None:
    """What it cannot apply is not recorded: 503, and why, for whoever asked and for whoever watches."""
    await superuser.execute("INSERT INTO skuggbok.asset VALUES (1, 'feather', 'token', 'Feather', 1)")
    before = await api.head()
    body = {"asset": "feather", "kind": "token", "name": "Feather"}
    answer = await api.call("POST", f"{NORTH}/assets", "organiser", body)
    assert problem(answer) == (503, "unavailable")
    assert f"projection directory cannot apply the event at position {before + 1}: " in answer.json()["detail"]
    assert "nothing was recorded" in answer.json()["detail"]
    assert answer.headers["retry-after"] == "60"
    assert await api.head() == before
    ready = await api.call("GET", "/health/ready", None)
    assert problem(ready) == (503, "unavailable")
    assert f"projection directory of north is not what its journal says at position {before + 1}" in ready.text
    assert "skuggbok rebuild directory" in ready.json()["detail"]
    await api.ok("POST", f"{NORTH}/grants", "organiser", GRANT)
