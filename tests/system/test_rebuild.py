"""`skuggbok rebuild` beside a real service that goes on writing, and killed again and again."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from ledger import purses
from ledger.database import Database
from ledger.writer import Writers
from projections.audit import audit
from tests.projections.support import ACTOR, play
from tests.support.service import ADMIN_TOKEN, Service

CLIENTS = 8
Connection = psycopg.Connection[Any]


@pytest.fixture
def superuser(database_url: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def rebuilding(database_url: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "api.cli", "rebuild", *arguments],
        env={**os.environ, "SKUGGBOK_DATABASE_URL": database_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def rebuilt(database_url: str, *arguments: str) -> str:
    """What the command says when it is done."""
    said, complained = rebuilding(database_url, *arguments).communicate(timeout=60)
    assert "rebuilt" in said, complained
    return said


async def findings(database: Database) -> list[tuple[str, int]]:
    async with database.connection() as connection:
        result = await audit(connection, "north")
    return [(finding.check, finding.position) for check in result.checks for finding in check.findings]


def tamper(superuser: Connection) -> None:
    superuser.execute("UPDATE skuggbok.pot SET paid_in = paid_in + 1000")
    superuser.execute("DELETE FROM skuggbok.entry WHERE position % 2 = 0")
    superuser.execute("DELETE FROM skuggbok.balance WHERE account LIKE 'purse/%'")


# ---- while the service writes ----


class Teller:
    """Clients of a service that grant money as fast as they are answered, until told to stop."""

    def __init__(self, address: str, client: httpx.AsyncClient, token: str) -> None:
        self.address = address
        self.client = client
        self.headers = {"Authorization": f"Bearer {token}"}
        self.acknowledged: dict[int, str] = {}
        self.balances: list[int] = []
        self.stopping = False

    async def write(self) -> None:
        body = {"to": "teller", "asset": "krona", "amount": 1}
        while not self.stopping:
            answer = await self.client.post(
                f"{self.address}/api/v1/larps/north/grants", json=body, headers=self.headers
            )
            assert answer.status_code == 201, answer.text
            for event in answer.json()["events"]:
                self.acknowledged[event["position"]] = event["hash"]

    async def read(self) -> None:
        """What a reader sees never falls back: it is the old version or the new one, and never a half."""
        while not self.stopping:
            answer = await self.client.get(f"{self.address}/api/v1/larps/north/purses/teller", headers=self.headers)
            assert answer.status_code == 200, answer.text
            self.balances.append(answer.json()["balances"].get("krona", 0))


async def test_the_service_writes_on_and_nothing_is_lost(
    writers: Writers, database: Database, database_url: str, superuser: Connection, tmp_path: Path
) -> None:
    """It starts on rows that another version wrote, says so, and goes on; when they are rebuilt all is well."""
    await play(writers, "north")
    await writers.submit("north", purses.AddCharacter(character="teller", name="Teller"), ACTOR)
    many = (writers.submit("north", purses.Grant(to="birk", asset="krona", amount=1), ACTOR) for _ in range(2000))
    await asyncio.gather(*many)
    tamper(superuser)
    superuser.execute("UPDATE skuggbok.projection SET version = 99 WHERE name = 'pots'")
    with Service(tmp_path, database_url=database_url) as service:
        async with httpx.AsyncClient(timeout=60) as client:
            made = await client.post(
                f"{service.address}/api/v1/larps/north/tokens",
                json={"role": "organiser", "label": "test"},
                headers={"Authorization": f"Bearer {ADMIN_TOKEN}"},
            )
            ready = await client.get(f"{service.address}/health/ready")
            assert ready.status_code == 503
            assert " of north is not what its journal says" in ready.json()["detail"]
            assert "projection pots of north" in service.log()
            teller = Teller(service.address, client, made.json()["token"])
            at_work = [asyncio.create_task(teller.write()) for _ in range(CLIENTS)]
            at_work.append(asyncio.create_task(teller.read()))
            begun = len(teller.acknowledged)
            said = await asyncio.to_thread(rebuilt, database_url, "--larp", "north")
            ended = len(teller.acknowledged)
            assert (await client.get(f"{service.address}/health/ready")).status_code == 200
            teller.stopping = True
            await asyncio.gather(*at_work)
    assert re.search(r"north: rebuilt as of position \d+, \d+ rows were not what the journal says", said)
    assert ended - begun > 20, "it was really written to meanwhile"
    assert teller.balances == sorted(teller.balances)
    stored = dict(superuser.execute("SELECT position, encode(hash, 'hex') FROM skuggbok.event").fetchall())
    assert {p: h for p, h in teller.acknowledged.items() if stored.get(p) != h} == {}
    assert sorted(stored) == list(range(1, len(stored) + 1))
    assert await findings(database) == []


# ---- killed ----

# Where a rebuild is held when it is killed: whatever somebody else locks, it waits for.
POINTS = {
    "before the first event": "LOCK TABLE skuggbok.event IN ACCESS EXCLUSIVE MODE",
    "while it waits for writers": "LOCK TABLE skuggbok.entry IN ROW EXCLUSIVE MODE",
    "after the last row has changed places": "SELECT FROM skuggbok.stale_projection FOR UPDATE",
}
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'skuggbok'"
TEMPORARY = "SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'"
ROWS = "SELECT (SELECT array_agg(p::text ORDER BY p) FROM skuggbok.pot p), (SELECT count(*) FROM skuggbok.entry)"


async def until(superuser: Connection, query: str, value: int) -> None:
    while superuser.execute(query).fetchone() != (value,):  # noqa: ASYNC110  # the database has no event for this
        await asyncio.sleep(0.01)


async def test_killed_at_any_point_it_can_be_run_again(
    writers: Writers, database: Database, database_url: str, superuser: Connection
) -> None:
    await play(writers, "north")
    superuser.execute("INSERT INTO skuggbok.stale_projection VALUES (1, 'pots', 5, 'test')")
    tamper(superuser)
    wrong = superuser.execute(ROWS).fetchone()
    (others,) = superuser.execute(OTHERS).fetchone() or (0,)
    for point, holding in POINTS.items():
        with psycopg.connect(database_url) as holder:
            holder.execute(holding.encode())
            process = rebuilding(database_url)
            await until(superuser, WAITING, 1)
            process.kill()
            process.communicate(timeout=10)
            holder.rollback()
        await until(superuser, OTHERS, others)
        assert superuser.execute(ROWS).fetchone() == wrong, f"killed {point}, it left what was there"
        assert superuser.execute(TEMPORARY).fetchone() == (0,), f"killed {point}, it left nothing else behind"
        assert (await writers.submit("north", purses.Grant(to="birk", asset="krona", amount=1), ACTOR)).position
        superuser.execute("DELETE FROM skuggbok.balance WHERE account = 'purse/birk'")
        superuser.execute("DELETE FROM skuggbok.entry WHERE account = 'purse/birk' AND position % 2 = 0")
        wrong = superuser.execute(ROWS).fetchone()
    assert "rows were not what the journal says" in rebuilt(database_url)
    assert await findings(database) == []
    assert superuser.execute("SELECT count(*) FROM skuggbok.stale_projection").fetchone() == (0,)
