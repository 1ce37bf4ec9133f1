"""Two service processes on one database, many tables at once, and one of the processes killed again and again."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import psycopg

from ledger.database import Database
from projections.audit import audit
from tests.games.players import player_of
from tests.support.service import ADMIN_TOKEN, Service

CLIENTS = 32
TABLES = 200
KILLS = 6
CHARACTERS = [f"c{number:02}" for number in range(40)]
PLAYER = player_of("skuggkast")
Json = dict[str, Any]


class Tavern:
    """The clients' view of the service: two addresses, either of which may not answer just now."""

    def __init__(self, services: Sequence[Service], client: httpx.AsyncClient) -> None:
        self.services = services
        self.client = client
        self.token = ADMIN_TOKEN
        self.acknowledged: dict[int, str] = {}
        self.progress = asyncio.Condition()
        self.over: dict[str, Json] = {}
        self.unanswered = 0

    async def ask(self, rng: random.Random, method: str, path: str, body: Json | None = None) -> httpx.Response | None:
        """The answer, None where nobody knows what came of it: a process died, or said 503."""
        service = rng.choice(self.services)
        try:
            answer = await self.client.request(
                method, f"{service.address}/api/v1{path}", json=body, headers={"Authorization": f"Bearer {self.token}"}
            )
        except httpx.TransportError:
            self.unanswered += 1
            return None
        assert answer.status_code != 500, f"{method} {path} {body}: {answer.text}"
        if answer.status_code == 503:
            return None
        if answer.status_code == 201:
            for event in answer.json().get("events", ()):
                assert self.acknowledged.setdefault(event["position"], event["hash"]) == event["hash"]
            async with self.progress:
                self.progress.notify_all()
        return answer

    async def insist(self, rng: random.Random, method: str, path: str, body: Json | None = None) -> Json:
        """Ask until there is an answer that says it is so, be it now or by an earlier request."""
        while True:
            answer = await self.ask(rng, method, path, body)
            if answer is not None:
                assert answer.status_code in (200, 201, 409), answer.text
                made: Json = answer.json()
                return made

    async def play(self, rng: random.Random, tables: Sequence[str]) -> None:
        """Open some tables and play them in turn until each is over."""
        larp = "/larps/north"
        for table in tables:
            opening = PLAYER.opening(rng, table, CHARACTERS)
            opening["rules"]["target"] = 1
            await self.insist(rng, "POST", f"{larp}/tables", opening)
        views = {table: await self.insist(rng, "GET", f"{larp}/tables/{table}") for table in tables}
        while views:
            table, view = rng.choice(list(views.items()))
            seat = rng.choice(view["waiting_for"] or [s["character"] for s in view["seats"]])
            action = PLAYER.propose(view, seat, [], rng)
            answer = action and await self.ask(rng, "POST", f"{larp}/tables/{table}/actions", action)
            if answer is not None and answer.status_code == 201:
                views[table] = answer.json()["table"]
            else:  # refused, or nobody knows: look
                views[table] = await self.insist(rng, "GET", f"{larp}/tables/{table}")
            if views[table]["phase"] == "closed":
                self.over[table] = views.pop(table)


async def kill_again_and_again(tavern: Tavern, victim: Service) -> int:
    """Each time when some hundred more actions were acknowledged, in the middle of the next ones."""
    for kills in range(KILLS):
        goal = len(tavern.acknowledged) + 200
        async with tavern.progress:
            await tavern.progress.wait_for(
                lambda goal=goal: len(tavern.acknowledged) >= goal or len(tavern.over) == TABLES
            )
        if len(tavern.over) == TABLES:
            return kills
        await asyncio.to_thread(victim.kill)
        await asyncio.to_thread(victim.start, victim.port)
    return KILLS


async def test_nothing_that_was_acknowledged_is_lost(database_url: str, tmp_path: Path) -> None:
    with Service(tmp_path, database_url=database_url) as steady, Service(tmp_path, database_url=database_url) as victim:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=60, limits=limits) as client:
            tavern = Tavern([steady, victim], client)
            await prepare(tavern)
            killer = asyncio.create_task(kill_again_and_again(tavern, victim))
            names = [f"t{number:03}" for number in range(TABLES)]
            await asyncio.gather(*(tavern.play(random.Random(n), names[n::CLIENTS]) for n in range(CLIENTS)))
            async with tavern.progress:
                tavern.progress.notify_all()
            kills = await killer
    assert kills >= 3
    assert tavern.unanswered > 0, "a kill in the middle of requests leaves some without an answer"
    await check(database_url, tavern)


async def prepare(tavern: Tavern) -> None:
    rng = random.Random(0)
    await tavern.insist(rng, "POST", "/larps", {"larp": "north", "name": "North"})
    made = await tavern.insist(rng, "POST", "/larps/north/tokens", {"role": "organiser", "label": "test"})
    tavern.token = made["token"]
    await tavern.insist(rng, "POST", "/larps/north/assets", {"asset": "krona", "kind": "token", "name": "Krona"})
    for character in CHARACTERS:
        body: Json = {"character": character, "name": character, "credit_limit": {"krona": 50}}
        await tavern.insist(rng, "POST", "/larps/north/characters", body)
        await tavern.insist(rng, "POST", "/larps/north/grants", {"to": character, "asset": "krona", "amount": 1000})


async def check(database_url: str, tavern: Tavern) -> None:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        stored = await (await connection.execute("SELECT position, encode(hash, 'hex') FROM skuggbok.event")).fetchall()
    journal = {position: hash_ for position, hash_ in stored}
    assert sorted(journal) == list(range(1, len(stored) + 1)), "no position is missing or double"
    assert {p: h for p, h in tavern.acknowledged.items() if journal.get(p) != h} == {}, (
        "no acknowledged event is missing"
    )
    async with Database(database_url) as database, database.connection() as connection:
        result = await audit(connection, "north")
    assert [check for check in result.checks if not check.ok] == []
    assert len(tavern.over) == TABLES
    for view in tavern.over.values():
        assert view["pot"] == {}
        assert view["winner"] is None or view["winner"] in {seat["character"] for seat in view["seats"]}
        counts = {seat["character"]: seat["count"] for seat in view["seats"]}
        staying = [seat["character"] for seat in view["seats"] if not seat["left"]]
        if view["winner"] is not None and counts[view["winner"]] < view["rules"]["target"]:
            assert staying == [view["winner"]], "who wins without the count is the last at the table"
        if view["winner"] is None:
            assert view["rules"]["after_lie"] == "no_rebuy", "only then can nobody win"
