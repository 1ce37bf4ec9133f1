"""COPY of the same rows, the fastest that PostgreSQL takes them in and gives them out, by the driver that we use, too.

Binary COPY, which is faster here than text for rows that are mostly bytea. In: one transaction over all tables that an
import fills, into a fresh database of Skuggbok's, with the same keys, indexes, checks and references. Out: whole rows
of the journal into a file, without ORDER BY.
"""

import time
from collections.abc import Sequence
from pathlib import Path

import psycopg
from psycopg.sql import SQL, Composed, Identifier

from tests.bench.place import Place

_BLOCK = 1 << 18

_TABLES = """
    SELECT table_name FROM information_schema.columns
    WHERE table_schema = 'skuggbok' AND column_name = 'larp' ORDER BY table_name <> 'larp', table_name
"""


class Rows:
    """What an import made of a journal: the rows of each table, in files of `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tables: Sequence[str] = ()

    def keep(self, url: str) -> None:
        """Take the rows out of a database with one LARP."""
        self._folder.mkdir(exist_ok=True)
        tables = list[str]()
        with psycopg.connect(url) as connection:
            for (table,) in connection.execute(_TABLES).fetchall():
                cursor = connection.execute(SQL("SELECT count(*) FROM skuggbok.{}").format(Identifier(table)))
                if cursor.fetchone() != (0,):
                    tables.append(table)
                    _out(connection, table, self._folder / table)
        self._tables = tables

    def copy_into(self, place: Place, database: str) -> float:
        """Put them into a fresh database. Returns the seconds that COPY and the commit took."""
        url = place.database(database)
        place.settle()
        with psycopg.connect(url) as connection:
            begun = time.perf_counter()
            for table in self._tables:
                statement = _statement("COPY skuggbok.{} FROM STDIN (FORMAT binary)", table)
                with (
                    (self._folder / table).open("rb") as file,
                    connection.cursor() as cursor,
                    cursor.copy(statement) as copy,
                ):
                    while block := file.read(_BLOCK):
                        copy.write(block)
            connection.commit()
            return time.perf_counter() - begun


def copy_out(url: str, file: Path) -> float:
    """Write the journal of a database with one LARP into a file. Returns the seconds that it took."""
    with psycopg.connect(url) as connection:
        begun = time.perf_counter()
        _out(connection, "event", file)
        return time.perf_counter() - begun


def _out(connection: psycopg.Connection, table: str, path: Path) -> None:
    statement = _statement("COPY skuggbok.{} TO STDOUT (FORMAT binary)", table)
    with path.open("wb") as file, connection.cursor() as cursor, cursor.copy(statement) as copy:
        for block in copy:
            file.write(block)


def _statement(text: str, table: str) -> Composed:
    return SQL(text).format(Identifier(table))
