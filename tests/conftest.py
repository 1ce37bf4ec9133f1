"""A real PostgreSQL for every test that touches data: one embedded server a session, one fresh database a test."""

import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from ledger.database import Database
from ledger.embedded import EmbeddedPostgres
from ledger.journal import Journals
from ledger.migrations import migrate
from ledger.writer import Writers
from projections.runner import PROJECTIONS


@pytest.fixture(scope="session", autouse=True)
def nobodys_data_folder() -> Iterator[None]:
    """Whatever is started without a folder of its own must not write into that of whoever runs the tests."""
    before = os.environ.get("XDG_DATA_HOME")
    with tempfile.TemporaryDirectory(prefix="skuggbok-home-") as folder:
        os.environ["XDG_DATA_HOME"] = folder
        yield
    if before is None:
        del os.environ["XDG_DATA_HOME"]
    else:
        os.environ["XDG_DATA_HOME"] = before


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The conninfo of an embedded server's superuser. It is stopped and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="skuggbok-tests-"))
    embedded = EmbeddedPostgres(folder / "data")
    try:
        yield embedded.start()
    finally:
        embedded.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def template(server: str) -> str:
    """The name of a migrated database that each test's own is a copy of."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE skuggbok_template")
    migrate(make_conninfo(server, dbname="skuggbok_template"))
    return "skuggbok_template"


@pytest.fixture
def database_url(server: str, template: str) -> Iterator[str]:
    """A fresh, migrated database, dropped afterwards."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY WAL_LOG").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        try:
            yield make_conninfo(server, dbname=name)
        finally:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def empty_database_url(server: str) -> Iterator[str]:
    """A fresh database without a schema, dropped afterwards."""
    name = f"empty_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield make_conninfo(server, dbname=name)
        finally:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with Database(database_url) as opened:
        yield opened


@pytest.fixture
async def journals(database: Database) -> Journals:
    return Journals(database, PROJECTIONS)


@pytest.fixture
async def writers(journals: Journals) -> AsyncIterator[Writers]:
    made = Writers(journals)
    yield made
    await made.close()
