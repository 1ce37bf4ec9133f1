"""A short weekend by bots through a real service: everything ends, everything adds up, and everybody acts as itself."""

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from click.testing import CliRunner

from api.simulation.asking import Pace, SimulationError
from api.simulation.command import simulate as command
from api.simulation.players import player_of
from api.simulation.weekend import Plan, simulate
from ledger.database import Connection, Database
from ledger.games import GAMES
from projections import queries
from projections.audit import audit
from projections.queries import EventFilter
from tests.support.service import ADMIN_TOKEN, Service

Json = Any
PLAN = Plan(seed=3, tables=4, characters=12, hours=20, actions=200)


async def test_a_weekend_ends_and_adds_up(database_url: str, tmp_path: Path) -> None:
    """All four games are played to their ends, and the audit finds nothing."""
    told: list[tuple[int, int]] = []
    with Service(tmp_path, database_url=database_url) as service:
        summary = await simulate(service.address, ADMIN_TOKEN, PLAN, lambda done, of: told.append((done, of)))
        with pytest.raises(SimulationError, match="weekend-3 already: choose another name"):
            await simulate(service.address, ADMIN_TOKEN, PLAN)
        with pytest.raises(SimulationError, match="401"):
            await simulate(service.address, "skb_nobody", PLAN)
        await play_as_an_organiser(service.address)
        await play_until_the_service_dies(service)
    assert told == sorted(told)
    assert told[-1] == (PLAN.actions, PLAN.actions)
    assert {game for game, how in summary.tables if how == "played"} == {game.name for game in GAMES}
    assert {"transfer", "iou", "late entry"} <= summary.recorded.keys()
    assert summary.recorded.keys() & {"settlement", "forgival", "assignment"}
    assert summary.recorded["character"] == PLAN.characters, "who comes late comes all the same"
    assert "weekend-3" in summary.told()
    async with Database(database_url) as database, database.connection() as connection:
        result = await audit(connection, "weekend-3")
        assert [check for check in result.checks if not check.ok] == []
        assert result.position == summary.events
        await check_tables(connection, summary.tables)
        await check_actors(connection)


async def check_tables(connection: Connection, ended: Counter[tuple[str, str]]) -> None:
    """Every table is over, as the summary says, with nothing left on it."""
    rows = [
        msgspec.json.decode(view) for _, view in await queries.tables(connection, "weekend-3", None, None, None, 999)
    ]
    assert Counter((v["game"], "voided" if v["phase"] == "voided" else "played") for v in rows) == ended
    assert {view["phase"] for view in rows} <= {"closed", "voided"}
    assert all(view["pot"] == {} for view in rows)


async def check_actors(connection: Connection) -> None:
    """A seat's doing was its own player's or a keeper's; no organiser ever played."""
    found = await queries.events(connection, "weekend-3", EventFilter(), 100_000)
    events = [msgspec.json.decode(event) for _, event in found]
    roles: Counter[str] = Counter()
    for event in events:
        actor, seat = event["actor"], event["data"].get("seat")
        if event["table"] and event["type"].endswith((".rolled", ".claim_made", ".hand_shown", ".placed", ".thrown")):
            roles[actor["role"]] += 1
            assert actor["role"] == "keeper" or actor["character"] == seat
    assert roles.keys() == {"player", "keeper"}
    assert any(event["actor"]["role"] == "banker" for event in events), "bankers wrote something down"
    newest = ""
    for event in events:  # they write late: other things that happened after it are recorded already
        assert event["actor"]["role"] != "banker" or event["at"] < newest
        newest = max(newest, event["at"])


async def play_as_an_organiser(address: str) -> None:
    """An organiser plays in its own LARP, twice: people and assets are there the second time, tables have new names."""
    plan = Plan(seed=5, tables=1, characters=10, actions=30)
    async with httpx.AsyncClient(base_url=f"{address}/api/v1") as http:
        admin = {"authorization": f"Bearer {ADMIN_TOKEN}"}
        await http.post("/larps", json={"larp": "north", "name": "North"}, headers=admin)
        body = {"role": "organiser", "label": "test"}
        made = await http.post("/larps/north/tokens", json=body, headers=admin)
    for again in (False, True):
        summary = await simulate(address, made.json()["token"], plan)
        assert summary.larp == "north"
        assert summary.tables.total() >= 1
        assert summary.refused["already_exists"] == (10 + 3 if again else 0)


async def play_until_the_service_dies(service: Service) -> None:
    """All bots stop, and one sentence says why."""

    def killing(done: int, of: int) -> None:
        if done == 10:
            service.kill()

    with pytest.raises(SimulationError, match="does not answer"):
        await simulate(service.address, ADMIN_TOKEN, Plan(seed=6, characters=10), killing)


def test_the_command_with_a_service_of_its_own(database_url: str) -> None:
    """It prints lines where there is no terminal, sums up, and ends the service that it started."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SKUGGBOK_")}
    asked = ["simulate", "--actions", "40", "--characters", "10", "--tables", "1", "--rate", "1000"]
    made = subprocess.run(
        [sys.executable, "-m", "api.cli", *asked],
        env=environment | {"SKUGGBOK_DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert "Simulating: 20 of 40 actions" in made.stderr
    assert '"level"' not in made.stderr, "no line for each request"
    assert "skuggbok verify weekend-1" in made.stdout


def test_the_command_says_what_is_missing() -> None:
    runner = CliRunner()
    without = runner.invoke(command, ["--url", "http://127.0.0.1:9"], env={"SKUGGBOK_TOKEN": None})
    assert (without.exit_code, "--url needs --token" in without.output) == (2, True)
    nobody = runner.invoke(command, ["--url", "http://127.0.0.1:9", "--token", "skb_x"])
    assert isinstance(nobody.exception, SimulationError)
    assert "http://127.0.0.1:9" in str(nobody.exception)


async def test_the_pace_is_kept() -> None:
    """No write begins before its turn."""
    pace, begun = Pace(200), time.monotonic()
    for _ in range(11):
        await pace.turn()
    assert time.monotonic() - begun >= 10 / 200


@pytest.mark.parametrize("game", [game.name for game in GAMES])
def test_there_is_a_bot_for_every_game(game: str) -> None:
    player = player_of(game)
    assert all(callable(getattr(player, what)) for what in ("opening", "peeks", "propose", "keeper"))
