"""Who takes part, what each is measured with, and what it holds in the end."""

import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg
from msgspec import Struct
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from tests.bench.contest import bare, message_db
from tests.bench.machine import NPM_FOLDER
from tests.bench.place import Place

OURS, SKUGGKAST, LIMIT, UNORDERED = "Skuggbok", "Skuggkast", "bare INSERT", "eventsourcing without an order"
NO_PEERS = (OURS, SKUGGKAST, LIMIT, UNORDERED)
DATABASE = "contest"
"""One name for all: whatever was measured before is gone, and no autovacuum of it disturbs the next."""
EMMETT = Path(__file__).parent / "emmett.mjs"
NOT_INSTALLED = "its package is not installed"
START_S = 10.0
STOP_S = 10.0


class Contestant(Struct, frozen=True, kw_only=True):
    """`program` is given the Config as JSON behind it. `opened`: an empty store, and its url while it is open.

    `held`: how many events there are at a url. `missing`: why it cannot take part.
    """

    name: str
    program: Sequence[str]
    opened: Callable[[Place], AbstractContextManager[str]]
    held: Callable[[str], int]
    missing: str | None = None


def contestants() -> Sequence[Contestant]:
    """Skuggbok first, then the limit, then the peers."""
    return (
        Contestant(
            name=OURS, program=_python("skuggbok"), opened=_ours, held=lambda url: _count(url, "skuggbok", "event")
        ),
        Contestant(
            name=LIMIT,
            program=_python("bare"),
            opened=lambda place: _installed(place, _install_bare),
            held=lambda url: _count(url, "public", "event"),
        ),
        _eventsourcing("eventsourcing", "application"),
        _eventsourcing(UNORDERED, "aggregate"),
        Contestant(
            name="UmaDB", program=_python("umadb_"), opened=_umadb, held=_umadb_head, missing=_no_module("umadb")
        ),
        Contestant(
            name="message-db",
            program=_python("message_db"),
            opened=lambda place: _installed(place, _install_message_db),
            held=lambda url: _count(url, "message_store", "messages"),
            missing=_no_npm("@eventide/message-db"),
        ),
        Contestant(
            name="Emmett",
            program=("node", str(EMMETT), str(NPM_FOLDER)),
            opened=_emmett,
            held=lambda url: _count(url, "public", "emt_messages"),
            missing=_no_npm("@event-driven-io/emmett-postgresql"),
        ),
    )


def _eventsourcing(name: str, recorder: str) -> Contestant:
    """It makes its tables itself."""
    return Contestant(
        name=name,
        program=(*_python("eventsourcing_"), recorder),
        opened=lambda place: _installed(place, lambda url: None),
        held=lambda url: _count(url, "public", "stored_events"),
        missing=_no_module("eventsourcing"),
    )


def skuggkast() -> Contestant:
    """Not one of them: the same writer, other commands."""
    return Contestant(
        name=SKUGGKAST, program=_python("skuggkast"), opened=_ours, held=lambda url: _count(url, "skuggbok", "event")
    )


def _python(module: str) -> Sequence[str]:
    return sys.executable, "-m", f"{__package__}.{module}"


def _no_module(name: str) -> str | None:
    return None if find_spec(name) else NOT_INSTALLED


def _no_npm(package: str) -> str | None:
    if shutil.which("node") is None:
        return "no node"
    return None if (NPM_FOLDER / "node_modules" / package).is_dir() else NOT_INSTALLED


@contextmanager
def _ours(place: Place) -> Iterator[str]:
    yield place.database(DATABASE)


@contextmanager
def _installed(place: Place, install: Callable[[str], None]) -> Iterator[str]:
    url = place.empty_database(DATABASE)
    install(url)
    yield url


@contextmanager
def _emmett(place: Place) -> Iterator[str]:
    """Node does not read libpq's form, and libpq reads both. Emmett makes its tables itself."""
    yield _as_uri(place.empty_database(DATABASE))


def _install_bare(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(bare.SCHEMA)


def _install_message_db(url: str) -> None:
    message_db.install(url, NPM_FOLDER / "node_modules" / "@eventide" / "message-db")


def _count(url: str, schema: str, table: str) -> int:
    query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema, table))
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None, "a count is a row"
    return int(row[0])


@contextmanager
def _umadb(place: Place) -> Iterator[str]:
    """Its server, on a file of its own. It is stopped, and the file removed, at the end."""
    folder = place.folder / "umadb"
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    program = Path(sysconfig.get_path("scripts")) / "umadb"
    command = [str(program), "--listen", f"127.0.0.1:{port}", "--db-path", str(folder / "events")]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(url, server)
        yield url
    finally:
        server.terminate()
        try:
            server.wait(STOP_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(folder)


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    from umadb import TransportError

    deadline = time.monotonic() + START_S
    while True:
        try:
            _umadb_head(url)
            return
        except TransportError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _umadb_head(url: str) -> int:
    from umadb import Client

    return Client(url).head() or 0


def _as_uri(conninfo: str) -> str:
    """A socket's folder is a parameter, as in libpq's own URIs."""
    given = {name: str(value) for name, value in conninfo_to_dict(conninfo).items()}
    user, password = quote(given["user"], safe=""), quote(given["password"], safe="")
    return (
        f"postgresql://{user}:{password}@/{quote(given['dbname'], safe='')}"
        f"?host={quote(given['host'], safe='')}&port={given.get('port', '5432')}"
    )
