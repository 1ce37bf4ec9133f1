"""What an event takes in the database, indexes included, beside tables like pgledger's with the same transfers.

pgledger keeps accounts, transfers with their metadata, and entries with the balances before and after. We keep, beside
the same, who did it, an id, the text that is hashed, and its hash. What an event takes in its tables does not depend on
how many there are, so they are filled once, from the middle LARP. `detail` tells each table of both.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg
from msgspec import Struct

from tests.bench.measured import Line
from tests.bench.options import progress
from tests.bench.scale.larps import Larp
from tests.bench.scale.lines import at_most, beside

TIMES = 1.5

_SIZES = """
    SELECT relname, pg_table_size(c.oid), pg_indexes_size(c.oid) FROM pg_class c
    WHERE relnamespace = %s::regnamespace AND relkind = 'r' AND pg_relation_size(c.oid) > 0 ORDER BY 2 DESC
"""
_BODIES = "SELECT sum(pg_column_size(body)) FROM skuggbok.event"


class Sizes(Struct, frozen=True):
    """Bytes an event: of each table, its own and those of its indexes; and of the text that is hashed."""

    words: str
    tables: Mapping[str, tuple[float, float]]
    bodies: float = 0.0

    @property
    def all(self) -> float:
        return self.without_indexes + sum(indexes for _, indexes in self.tables.values())

    @property
    def without_indexes(self) -> float:
        return sum(table for table, _ in self.tables.values())


def ours(larp: Larp) -> Sizes:
    """Of a LARP that is alone in its database."""
    with psycopg.connect(larp.url) as connection:
        row = connection.execute(_BODIES).fetchone()
        assert row is not None, "a sum has a row"
        return Sizes(larp.words, _sizes(connection, "skuggbok", larp.events), float(row[0]) / larp.events)


def like_pgledger(larp: Larp) -> Sizes:
    """Of the same transfers in tables like its, which are gone afterwards."""
    progress(f"scale: {larp.words}: tables like pgledger's")
    with psycopg.connect(larp.url) as connection:
        connection.execute(Path(__file__).with_name("pgledger.sql").read_bytes())
        sizes = _sizes(connection, "pgledger", larp.events)
        connection.rollback()
    return Sizes(f"tables like pgledger's, {larp.words}", sizes)


def _sizes(connection: psycopg.Connection, schema: str, events: int) -> Mapping[str, tuple[float, float]]:
    """Of the tables that hold something."""
    rows = connection.execute(_SIZES, (schema,)).fetchall()
    return {name: (own / events, indexes / events) for name, own, indexes in rows}


def lines(our: Sizes, their: Sizes) -> Sequence[Line]:
    work = f"size of an event, {our.words}"
    detail = {"table_and_indexes": {"ours": our.tables, "theirs": their.tables}}
    return [
        at_most(work, [our.all], [their.all], beside=their.words, times=TIMES, unit="bytes", detail=detail),
        beside(f"{work}, without the text that is hashed", our.all - our.bodies, their.all, their.words, "bytes"),
        beside(f"{work}, without indexes", our.without_indexes, their.without_indexes, their.words, "bytes"),
    ]
