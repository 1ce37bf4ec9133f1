"""A weekend of sample games, played through the writer into one LARP: something in every projection."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from ledger import purses
from ledger.book import ActRequest, Book, Request
from ledger.database import Database
from ledger.errors import Refused
from ledger.journal import Journals
from ledger.messages import Actor
from ledger.migrations import migrate
from ledger.writer import Writers
from projections.runner import PROJECTIONS
from tests.support.in_memory import command_of

ACTOR = Actor(role="organiser", token="tok_test")
SCENARIOS = Path(__file__).parent.parent / "scenarios"
WEEKEND = ("schocken-mark", "skuggkast-raises", "takespillet-plain", "ledger-reversals")


async def play(writers: Writers, larp: str, scenarios: Sequence[str] = WEEKEND, *, void: bool = True) -> None:
    """One sample game after the other. What the later ones want and is there already is refused, and left out.

    `void`: whether tables that are voided are; else they stay open.
    """
    await writers.found(purses.FoundLarp(larp=larp, name=larp.title()), ACTOR)
    for scenario in scenarios:
        positions: dict[int, int] = {}
        for step in json.loads((SCENARIOS / f"{scenario}.json").read_text())["steps"]:
            if not void and step["path"].endswith("/void"):
                continue
            try:
                receipt = await writers.submit(larp, _command(step, positions), ACTOR)
            except (Refused, msgspec.ValidationError):
                continue
            positions[step["n"]] = receipt.position


def _command(step: dict[str, Any], positions: dict[int, int]) -> Request:
    """What a step asks for. `{"step": N}` is the position that step N led to; none that there is, if it was refused."""
    body = {
        key: positions.get(value["step"], 10**6) if isinstance(value, dict) and set(value) == {"step"} else value
        for key, value in step["body"].items()
    }
    match step["path"].strip("/").split("/"):
        case ["tables", table, "actions"]:
            return ActRequest(table, json.dumps(body).encode())
        case _:
            return command_of(Book("any"), step["method"], step["path"], body)


def template_with(server: str, name: str, begin: Callable[[Writers], Awaitable[None]]) -> str:
    """A template database in which something has happened, so that each test's own copy begins there."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    url = make_conninfo(server, dbname=name)
    migrate(url)

    async def happen() -> None:
        async with Database(url) as database:
            writers = Writers(Journals(database, PROJECTIONS))
            await begin(writers)
            await writers.close()

    asyncio.run(happen())
    return name
