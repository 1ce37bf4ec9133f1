"""The application in this process, over a real database in which a LARP has begun already."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import psycopg
import pytest
from litestar import Litestar
from psycopg.conninfo import make_conninfo

from api.app import create_app
from ledger.database import Database
from ledger.journal import Journals
from ledger.migrations import migrate
from ledger.settings import Settings
from ledger.writer import Writers
from projections import versions
from projections.runner import PROJECTIONS
from tests.api.support import Api

WORLD = "skuggbok_template_world"


@pytest.fixture(scope="session")
def world(server: str) -> dict[str, str]:
    """A template database with the LARPs of `Api`, made by requests, and the tokens in it."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {WORLD}")
    url = make_conninfo(server, dbname=WORLD)
    migrate(url)
    return asyncio.run(_begin(url))


async def _begin(url: str) -> dict[str, str]:
    async with Database(url) as database:
        writers = Writers(Journals(database, PROJECTIONS))
        async with database.connection() as connection:
            await versions.notice(connection)
        async with answering(create_app(database, writers, Settings())) as client:
            api = Api(client, database)
            await api.begin()
        await writers.close()
    return api.tokens


@pytest.fixture(scope="session")
def template(world: dict[str, str]) -> str:
    """The name of the database that each test's own is a copy of: here one that has a world in it."""
    return WORLD


@pytest.fixture
def app(database: Database, writers: Writers, tmp_path: Path) -> Litestar:
    return create_app(database, writers, Settings(data_dir=tmp_path))


@pytest.fixture
async def client(app: Litestar) -> AsyncIterator[httpx.AsyncClient]:
    async with answering(app) as made:
        yield made


@pytest.fixture
def api(client: httpx.AsyncClient, database: Database, world: dict[str, str]) -> Api:
    return Api(client, database, dict(world))


@asynccontextmanager
async def answering(app: Litestar) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application, which lives in a task of its own.

    Its lifespan must end in the task that began it, and a fixture's end is not in the task of its beginning.
    """
    begun, over = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with app.lifespan():
            begun.set()
            await over.wait()

    living, beginning = asyncio.create_task(live()), asyncio.create_task(begun.wait())
    await asyncio.wait({living, beginning}, return_when=asyncio.FIRST_COMPLETED)
    beginning.cancel()
    transport = httpx.ASGITransport(cast(Any, app))
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://skuggbok.test") as client:
            yield client
    finally:
        over.set()
        await living
