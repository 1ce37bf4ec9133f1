"""Where everything is measured: a folder of its own, with one embedded PostgreSQL as users have it."""

import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from ledger.embedded import EmbeddedPostgres
from ledger.migrations import migrate


class Place:
    """Open with `with`. Everything in it, the server included, is gone afterwards."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="skuggbok-bench-"))
        self._embedded = EmbeddedPostgres(self.folder / "data")
        self._url = ""

    def __enter__(self) -> Self:
        self._url = self._embedded.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._embedded.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def empty_database(self, name: str) -> str:
        """The conninfo of a fresh database with nothing in it; one of the same name is dropped."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return make_conninfo(self._url, dbname=name)

    def database(self, name: str) -> str:
        """The conninfo of a fresh database of Skuggbok's."""
        url = self.empty_database(name)
        migrate(url)
        return url

    def settle(self) -> None:
        """Let the server write out what it has, so that no measurement pays for the one before it."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
