"""What Prometheus reads: figures that move with the work, labels that nobody can make more of, and who may look."""

import asyncio
import re
from collections.abc import AsyncIterator

import httpx
import pytest
from litestar import Litestar

from api.app import create_app
from api.metrics import Metrics
from ledger.database import Database
from ledger.journal import Journals
from ledger.settings import Settings
from ledger.writer import Writers
from projections.runner import PROJECTIONS
from tests.api.conftest import answering
from tests.api.support import BASE, NORTH, Api, problem

FIGURE = re.compile(r"^(\w+(?:\{.*\})?) (\S+)$", re.MULTILINE)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
async def writers(journals: Journals, metrics: Metrics) -> AsyncIterator[Writers]:
    made = Writers(journals, metrics)
    yield made
    await made.close()


@pytest.fixture
def app(database: Database, writers: Writers, metrics: Metrics) -> Litestar:
    return create_app(database, writers, Settings(), metrics=metrics)


async def figures(client: httpx.AsyncClient) -> dict[str, float]:
    answer = await client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {found[1]: float(found[2]) for found in FIGURE.finditer(answer.text)}


async def test_figures_move_with_the_work(api: Api) -> None:
    before = await figures(api.client)
    body = {"from": "alva", "to": "berit", "asset": "krona", "amount": 1}
    await asyncio.gather(*(api.ok("POST", f"{NORTH}/transfers", "banker", body) for _ in range(5)))
    assert problem(await api.call("POST", f"{NORTH}/transfers", "banker", body | {"amount": 999}))[0] == 409
    after = await figures(api.client)

    def grown(name: str) -> float:
        return after[name] - before.get(name, 0)

    route = f"{BASE}/larps/{{larp}}/transfers"
    assert grown(f'skuggbok_requests_total{{method="POST",route="{route}",status="2xx"}}') == 5
    assert grown(f'skuggbok_requests_total{{method="POST",route="{route}",status="4xx"}}') == 1
    assert grown(f'skuggbok_request_seconds_count{{method="POST",route="{route}"}}') == 6
    assert grown("skuggbok_events_recorded_total") == 5
    assert grown("skuggbok_batch_commands_sum") == 5
    assert grown("skuggbok_commit_seconds_count") == grown("skuggbok_batch_commands_count") >= 1
    assert grown("skuggbok_book_load_seconds_count") == 1
    assert after["skuggbok_commands_waiting"] == 0
    assert after["skuggbok_feed_listeners"] == 0
    assert after["skuggbok_requests_running"] == 1, "this one"
    assert after["skuggbok_database_up"] == 1
    assert after["skuggbok_projections_stale"] == 0
    assert after["skuggbok_database_pool_size"] >= 1


async def test_an_append_that_another_process_was_before_is_counted(api: Api, journals: Journals) -> None:
    body = {"from": "alva", "to": "berit", "asset": "krona", "amount": 1}
    await api.ok("POST", f"{NORTH}/transfers", "banker", body)
    other = Writers(Journals(api.database, PROJECTIONS))
    async with answering(create_app(api.database, other, Settings())) as client:
        await Api(client, api.database, api.tokens).ok("POST", f"{NORTH}/transfers", "banker", body)
    await other.close()
    await api.ok("POST", f"{NORTH}/transfers", "banker", body)
    assert (await figures(api.client))["skuggbok_append_conflicts_total"] == 1


async def test_no_request_makes_a_label_of_its_own(api: Api) -> None:
    """Neither names, nor paths that do not exist, nor methods that nobody knows, nor tokens."""
    for path in ("/canary", f"{BASE}/larps/canary", f"{NORTH}/purses/canary", f"{NORTH}/canary/canary"):
        for method in ("GET", "CANARY", "PROPFIND"):
            await api.call(method, path, "organiser", headers={"x-request-id": "canary"})
    text = (await api.client.get("/metrics")).text
    assert "canary" not in text.lower()
    assert "PROPFIND" not in text
    assert "north" not in text
    assert "alva" not in text
    assert 'route="none"' in text


@pytest.mark.parametrize("path", ["/metrics", f"{BASE}/metrics"])
async def test_from_this_machine_anybody_may_look_and_from_elsewhere_an_admin(
    api: Api, app: Litestar, path: str
) -> None:
    assert (await api.client.get(path)).is_success
    transport = httpx.ASGITransport(app, client=("192.0.2.7", 1))  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://skuggbok.test") as elsewhere:
        remote = Api(elsewhere, api.database, api.tokens)
        assert (await remote.call("GET", path, "admin")).is_success
        for who in ("organiser", "tool", "alva"):
            assert problem(await remote.call("GET", path, who)) == (403, "forbidden")
        assert problem(await remote.call("GET", path, None)) == (401, "unauthenticated")
    for header in ("x-forwarded-for", "forwarded", "via", "x-real-ip"):
        assert problem(await api.client.get(path, headers={header: "127.0.0.1"})) == (401, "unauthenticated")


async def test_while_the_database_is_away_it_is_still_seen(
    api: Api, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ledger.errors import Unavailable

    def away() -> None:
        raise Unavailable("away")

    monkeypatch.setattr(database, "connection", away)
    assert (await figures(api.client))["skuggbok_database_up"] == 0


def test_what_others_watch_is_shown(metrics: Metrics) -> None:
    metrics.watch("skuggbok_webhook_backlog", "Events that wait to be delivered.", lambda: 7)
    assert b"skuggbok_webhook_backlog 7.0\n" in metrics.text()
