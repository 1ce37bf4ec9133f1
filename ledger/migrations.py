"""The schema: numbered migrations, forward only, each in a transaction of its own, under one lock.

What was applied is kept with its SHA-256; a migration that was changed afterwards, or a database that is newer
than this version, is refused. They run as whoever `url` names, who becomes the owner; the service itself works
in the role `skuggbok_service`, which may append to the journal and not change it.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from importlib import resources

import psycopg
from msgspec import Struct
from psycopg import sql

from ledger.errors import SkuggbokError

POSTGRES_MIN = 15
SERVICE_ROLE = "skuggbok_service"
_LOCK = 0x736B7567  # "skug": the key of the advisory lock
_FILE = re.compile(r"(\d{4})_(\w+)\.sql")


class MigrationError(SkuggbokError):
    """The database cannot be brought to this version's schema; the message says what would help."""


class Migration(Struct, frozen=True):
    number: int
    name: str
    script: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.script.encode()).hexdigest()


def all_migrations() -> Sequence[Migration]:
    """In order, 1..n without a gap."""
    folder = resources.files("ledger.sql.migrations")
    found = sorted((file.name, file) for file in folder.iterdir() if file.name.endswith(".sql"))
    migrations = []
    for at, (name, file) in enumerate(found, start=1):
        match = _FILE.fullmatch(name)
        assert match, f"{name} is no name of a migration"
        assert int(match[1]) == at, f"{name} is not number {at}"
        migrations.append(Migration(at, match[2], file.read_text(encoding="utf-8")))
    return migrations


def migrate(url: str, tell: Callable[[str], None] = lambda line: None) -> int:
    """Bring the database to the newest schema and return its number. Several processes may do it at once.

    Raises MigrationError, and psycopg.OperationalError when the database cannot be reached.
    """
    migrations = all_migrations()
    with psycopg.connect(url, autocommit=True) as connection:
        _require_version(connection)
        if _applied(connection, migrations) == len(migrations):
            return len(migrations)
        connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        try:
            _prepare(connection)
            for migration in migrations[_applied(connection, migrations) :]:
                tell(f"migration {migration.number}: {migration.name}")
                _apply(connection, migration)
        except psycopg.errors.InsufficientPrivilege as error:
            raise MigrationError(
                f"{connection.info.user} may not change the schema ({error.diag.message_primary}): run"
                " `skuggbok migrate` with SKUGGBOK_DATABASE_URL naming the owner"
            ) from None
        finally:
            connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))
    return len(migrations)


def _require_version(connection: psycopg.Connection) -> None:
    version = connection.info.server_version // 10000
    if version < POSTGRES_MIN:
        raise MigrationError(f"the database is PostgreSQL {version}, {POSTGRES_MIN} or newer is needed")


def _applied(connection: psycopg.Connection, migrations: Sequence[Migration]) -> int:
    """How many are applied. Raises MigrationError where they are not ours, or newer."""
    if connection.execute("SELECT to_regclass('skuggbok.migration')").fetchone() == (None,):
        return 0
    rows = connection.execute("SELECT number, name, sha256 FROM skuggbok.migration ORDER BY number").fetchall()
    if len(rows) > len(migrations):
        raise MigrationError(
            f"the database has schema {len(rows)} ({rows[-1][1]}), this version of Skuggbok knows up to"
            f" {len(migrations)}: install the newer version that last ran on it"
        )
    for (number, name, sha256), migration in zip(rows, migrations, strict=False):
        if sha256 != migration.sha256:
            raise MigrationError(f"migration {number} ({name}) is not the one that this version knows")
    return len(rows)


def _prepare(connection: psycopg.Connection) -> None:
    """The service's role, which belongs to the whole server, and the list of migrations."""
    role = sql.Identifier(SERVICE_ROLE)
    try:
        exists = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (SERVICE_ROLE,)).fetchone()
        if not exists:
            connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(role))
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
        pass  # another database of this server was faster
    except psycopg.errors.InsufficientPrivilege:
        raise MigrationError(
            f"{connection.info.user} may not create the role {SERVICE_ROLE}: let an administrator of the server run"
            f" CREATE ROLE {SERVICE_ROLE} NOLOGIN; GRANT {SERVICE_ROLE} TO {connection.info.user};"
        ) from None
    if connection.execute("SELECT pg_has_role(%s, 'MEMBER')", (SERVICE_ROLE,)).fetchone() != (True,):
        connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(role))
    connection.execute("CREATE SCHEMA IF NOT EXISTS skuggbok")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS skuggbok.migration (number integer PRIMARY KEY, name text NOT NULL,"
        " sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
    )
    connection.execute(sql.SQL("GRANT USAGE ON SCHEMA skuggbok TO {}").format(role))
    connection.execute(sql.SQL("GRANT SELECT ON skuggbok.migration TO {}").format(role))


def _apply(connection: psycopg.Connection, migration: Migration) -> None:
    with connection.transaction():
        connection.execute(migration.script.encode())
        connection.execute(
            "INSERT INTO skuggbok.migration (number, name, sha256) VALUES (%s, %s, %s)",
            (migration.number, migration.name, migration.sha256),
        )
