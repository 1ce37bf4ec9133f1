"""A backup of the embedded database is put back whole into an empty one, and into no other."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from ledger.backup import BackupError, backup, restore
from ledger.embedded import EmbeddedPostgres
from ledger.embedded_host import account_for
from ledger.embedded_programs import Programs
from ledger.migrations import SERVICE_ROLE, migrate
from ledger.writer import Writers
from tests.ledger.test_writer import ACTOR, founded, transfer

TABLES = ("larp", "head", "event", "secret", "balance", "entry", "receipt", "secret_key", "migration")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs.find(None, tmp_path_factory.mktemp("programs"), account_for(None))


@pytest.fixture(scope="module")
def other_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A new server, which has not even the service's role."""
    folder = tmp_path_factory.mktemp("other")
    embedded = EmbeddedPostgres(folder / "data")
    try:
        yield embedded.start()
    finally:
        embedded.stop()
        shutil.rmtree(folder, ignore_errors=True)


def content(url: str) -> dict[str, object]:
    with psycopg.connect(url) as connection:
        return {t: connection.execute(f"SELECT t::text FROM skuggbok.{t} t ORDER BY 1").fetchall() for t in TABLES}


async def test_it_is_put_back_whole_into_a_new_server(
    writers: Writers, database_url: str, other_server: str, programs: Programs, tmp_path: Path
) -> None:
    await founded(writers)
    await writers.submit("north", transfer(), ACTOR)
    file = tmp_path / "north.backup"
    size = backup(database_url, programs, file)
    assert size == os.stat(file).st_size
    assert os.stat(file).st_mode & 0o777 == 0o600
    restore(other_server, programs, file)
    assert content(other_server) == content(database_url)
    migrate(other_server)
    with psycopg.connect(other_server, autocommit=True) as connection:
        with pytest.raises(psycopg.IntegrityError, match="append-only"):
            connection.execute("DELETE FROM skuggbok.event")
        connection.execute(f"SET ROLE {SERVICE_ROLE}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("UPDATE skuggbok.event SET body = body")
    before = content(other_server)
    with pytest.raises(BackupError, match="nothing is overwritten"):
        restore(other_server, programs, file)
    assert content(other_server) == before


def test_no_backup_is_overwritten(database_url: str, programs: Programs, tmp_path: Path) -> None:
    file = tmp_path / "old.backup"
    file.write_text("old")
    with pytest.raises(BackupError, match="is there already"):
        backup(database_url, programs, file)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("old.backup", "old")]


def test_what_fails_leaves_nothing(
    database_url: str, empty_database_url: str, programs: Programs, tmp_path: Path
) -> None:
    with pytest.raises(BackupError, match="pg_dump"):
        backup(make_conninfo(database_url, dbname="nowhere"), programs, tmp_path / "new.backup")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BackupError, match="cannot be written"):
        backup(database_url, programs, tmp_path / "nowhere" / "new.backup")
    with pytest.raises(BackupError, match="no file"):
        restore(empty_database_url, programs, tmp_path / "none")
    whole = tmp_path / "whole.backup"
    backup(database_url, programs, whole)
    torn = tmp_path / "torn.backup"
    torn.write_bytes(whole.read_bytes()[: whole.stat().st_size // 3])
    with pytest.raises(BackupError, match="pg_restore"):
        restore(empty_database_url, programs, torn)
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("SELECT to_regnamespace('skuggbok')").fetchone() == (None,)
    restore(empty_database_url, programs, whole)
