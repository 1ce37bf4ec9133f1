"""Everything that is not 2xx is a problem, and each problem has a page that says what it means."""

import re

import httpx
import pytest
from litestar import Litestar

from api.errors import catalogue
from ledger.database import Database
from ledger.errors import Refused, Unavailable
from projections import queries
from tests.api.support import BASE, NORTH, Api, problem

STATUSES = {400, 401, 403, 404, 405, 408, 409, 412, 413, 415, 422, 429, 431, 500, 503}


def test_each_code_has_one_status_and_a_title() -> None:
    assert {kinds[0].status for kinds in catalogue().values()} <= STATUSES
    for code, kinds in catalogue().items():
        assert re.fullmatch(r"[a-z][a-z_]+", code)
        assert len({kind.status for kind in kinds}) == 1, code
        for kind in kinds:
            words = (kind.__doc__ or "").strip().partition("\n")[0]
            assert words, f"{kind} has a docstring of its own"
            assert not words.endswith("."), code
            assert kind.__doc__ != Refused.__doc__, code


async def test_each_code_has_a_page(client: httpx.AsyncClient) -> None:
    index = await client.get("/problems")
    for code, kinds in catalogue().items():
        assert f'href="/problems/{code}"' in index.text
        page = await client.get(f"/problems/{code}")
        assert page.status_code == 200
        assert page.headers["content-type"].startswith("text/html")
        assert str(kinds[0].status) in page.text
    for code in ("none", "%3Cscript%3E", "%00", "a" * 5000):
        assert problem(await client.get(f"/problems/{code}")) == (404, "not_found")


async def test_paths_that_do_not_exist(client: httpx.AsyncClient) -> None:
    for path in ("/", "/nothing", BASE, f"{BASE}/nothing", "/schema/assets/none/none", f"{BASE}/larps/a/b/c/d/%00"):
        assert problem(await client.get(path)) == (404, "not_found"), path


async def test_a_fault_of_ours_tells_an_id_and_nothing_else(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("the cup shows star-5-neutral")

    monkeypatch.setattr(queries, "purse", fail)
    answer = await api.call("GET", f"{NORTH}/purses/alva", "organiser", headers={"x-request-id": "evening-7"})
    assert problem(answer) == (500, "internal_error")
    assert answer.json()["request_id"] == answer.headers["x-request-id"] == "evening-7"
    assert "star" not in answer.text
    assert "RuntimeError" not in answer.text


async def test_while_the_database_is_away_requests_are_told_when_to_come_again(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise Unavailable("the database is away at the moment", 7)

    monkeypatch.setattr(queries, "purse", away)
    answer = await api.call("GET", f"{NORTH}/purses/alva", "organiser")
    assert problem(answer) == (503, "unavailable")
    assert answer.headers["retry-after"] == "7"


async def test_probes(app: Litestar, client: httpx.AsyncClient, database: Database) -> None:
    """Whether the process runs is known without a database; whether it can answer is not."""
    for base in ("", BASE):
        for name in ("live", "ready"):
            answer = await client.get(f"{base}/health/{name}")
            assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
            assert answer.headers["cache-control"] == "no-store"
    async with database.connection() as connection:
        await connection.execute("RESET ROLE")
        await connection.execute("INSERT INTO skuggbok.migration (number, name, sha256) VALUES (9999, 'newer', '')")
        await connection.execute("SET ROLE skuggbok_service")
    answer = await client.get("/health/ready")
    assert problem(answer) == (503, "unavailable")
    assert "9999" in answer.json()["detail"]
    assert (await client.get("/health/live")).status_code == 200
