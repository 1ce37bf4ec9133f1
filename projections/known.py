"""What a connection has learned of LARPs and need not ask again: their numbers, which never change, and how far their
journals go at least, for a journal only grows. A connection leads to one database as long as it lives.
"""

from weakref import WeakKeyDictionary

from msgspec import Struct
from psycopg.rows import class_row

from ledger import sql
from ledger.database import Connection
from ledger.errors import UnknownLarp

SQL = sql.load("projections.sql", "queries.sql")


class LarpNumber(Struct, frozen=True):
    """A LARP's number, and a position that its journal has."""

    larp: int
    position: int


_known: WeakKeyDictionary[Connection, dict[str, LarpNumber]] = WeakKeyDictionary()


async def now(connection: Connection, larp: str) -> LarpNumber:
    """With the last position of the journal. Raises UnknownLarp."""
    async with connection.cursor(row_factory=class_row(LarpNumber)) as cursor:
        await cursor.execute(SQL["number"], {"slug": larp})
        found = await cursor.fetchone()
    if found is None:
        raise UnknownLarp(f"there is no LARP {larp!r}")
    _known.setdefault(connection, {})[larp] = found
    return found


async def at_least(connection: Connection, larp: str, position: int) -> LarpNumber:
    """With that position, or a later one, if the journal has it. Raises UnknownLarp."""
    known = _known.get(connection, {}).get(larp)
    return known if known is not None and 1 <= position <= known.position else await now(connection, larp)


async def number(connection: Connection, larp: str) -> int:
    """The number alone. Raises UnknownLarp."""
    return (await at_least(connection, larp, 1)).larp
