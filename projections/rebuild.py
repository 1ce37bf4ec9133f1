"""Rebuilding projections from position 1, beside those that are kept, while the service reads and writes.

The new rows are derived into temporary tables, which end with the session: whatever kills a rebuild leaves nothing
behind. Compared with what is kept, they tell which rows are wrong; a row that is right stays right, because the
service goes on applying events to it. So only wrong rows change places, in one short transaction in which nobody
writes to these tables. It locks them against writers and not against readers, who see all of the change or nothing.
Every append locks the tables it writes to before it looks at a row, so none works on what it saw before the change.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from psycopg import errors, sql

from ledger import chain
from ledger.book import READER, Applied, Book
from ledger.database import Connection
from ledger.errors import Damaged, ProjectionHalted, SkuggbokError, UnknownLarp
from projections.derive import BATCH, Derivation, reason_of
from projections.in_flight import InFlight
from projections.queries import SQL as QUERIES
from projections.runner import Kept
from projections.versions import SQL, halted

CHUNK = 500
"""Fewer events than that are left for the time when writers wait."""
BREATH = 50
"""Events after which whoever shares the process has a turn, the database connection among them."""
CATCH_UPS_MAX = 20
"""Times that what was recorded meanwhile is derived before the lock, if the service writes as fast as that."""
LOCK_TIMEOUT = "3s"
"""How long writers may be made to wait for whoever holds a table; longer than it takes to end an autovacuum."""
ATTEMPTS = 20
"""Times that the lock is asked for."""

StoredRow = tuple[int, bytes, bytes]
"""Position, body and hash."""
Progress = Callable[[int, int], None]


class Busy(SkuggbokError):
    """Somebody holds the tables of a projection for long: nothing was changed, it can be tried again."""


class Rebuilt(Struct, frozen=True):
    """The projections are what the journal says as of `position`, in which `rows` rows were wrong."""

    position: int
    rows: int


async def rebuild(
    connection: Connection, larp: str, projections: Sequence[Kept], progress: Progress = lambda done, of: None
) -> Rebuilt:
    """Rebuild projections of a LARP. `progress` is told how many events of how many are done.

    Raises UnknownLarp; ProjectionHalted, and then what is kept is as it was; Busy.
    """
    row = await (await connection.execute(QUERIES["head"], {"slug": larp})).fetchone()
    if row is None:
        raise UnknownLarp(f"there is no LARP {larp!r}")
    number = row[0]
    try:
        return await _Rebuild(connection, larp, number, projections, progress).run()
    except ProjectionHalted as error:
        await halted(connection, number, [each.name for each in projections], error)
        raise


class _Rebuild:
    """One rebuild of one LARP, in one session."""

    def __init__(
        self, connection: Connection, slug: str, larp: int, projections: Sequence[Kept], progress: Progress
    ) -> None:
        self._connection = connection
        self._larp = larp
        self._projections = projections
        self._progress = progress
        self._book = Book(slug)
        self._derivation = Derivation(connection, larp, projections)
        self._rows = 0

    async def run(self) -> Rebuilt:
        await self._derivation.prepare()
        try:
            # Most of it in a transaction for each batch: within one, the old versions of balances would pile up.
            await self._derive()
            async with self._connection.transaction():  # one state of the database, to compare with
                await self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                await self._derive()
                for table in self._derivation.tables:
                    self._rows += await self._compare(table)
            for _ in range(CATCH_UPS_MAX):
                async with self._connection.transaction():
                    if await self._derive() < CHUNK:
                        break
            await self._change_places()
        finally:
            if not self._connection.broken:
                for table in self._derivation.tables:
                    await self._connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(_wrong(table)))
                await self._derivation.drop()
        return Rebuilt(self._book.position, self._rows)

    async def _derive(self) -> int:
        """Derive what the journal has and we have not, and count it."""
        book, before = self._book, self._book.position
        row = await (await self._connection.execute(QUERIES["head"], {"slug": book.larp})).fetchone()
        assert row is not None, "a LARP that is there stays"
        async with InFlight[None]() as writing, InFlight[Sequence[StoredRow]]() as reading:
            rows = await self._read(before)
            while rows:  # while some are folded here, those before are written there and those after are read
                reading.begin(self._read(rows[-1][0]))
                batch = await self._folded(rows)
                await writing.settle()
                writing.begin(self._derivation.write(batch))
                rows = await reading.result()
                self._progress(book.position, max(row[1], book.position))
        return book.position - before

    async def _read(self, after: int) -> Sequence[StoredRow]:
        parameters = {"larp": self._larp, "after": after, "limit": BATCH}
        cursor = await self._connection.execute(SQL["journal"], parameters, binary=True)
        return await cursor.fetchall()

    async def _folded(self, rows: Sequence[StoredRow]) -> Sequence[Applied]:
        """The events, applied to the Book. Raises ProjectionHalted."""
        book, names, batch = self._book, ", ".join(each.name for each in self._projections), list[Applied]()
        for position, body, hash_ in rows:
            if chain.link(book.larp, position, book.hash, body) != hash_:
                raise ProjectionHalted(names, position, "its hash does not follow from the event before it")
            try:
                batch.append(book.apply(READER.read(position, body, hash_)))
            except Damaged as error:
                raise ProjectionHalted(names, position, str(error)) from error
            except Exception as error:  # an event that does not follow from those before may break any assumption
                raise ProjectionHalted(names, position, reason_of(error)) from error
            if position % BREATH == 0:
                await asyncio.sleep(0)
        return batch

    async def _compare(self, table: str) -> int:
        """Note the keys of rows that are wrong, missing or too many, and count them."""
        columns, key = await self._columns(table)
        await self._connection.execute(sql.SQL("ANALYZE pg_temp.{}").format(sql.Identifier(table)))
        query = sql.SQL(
            "CREATE TEMPORARY TABLE {wrong} AS SELECT {key} FROM"
            " (SELECT * FROM skuggbok.{table} WHERE larp = {larp}) kept"
            " FULL JOIN pg_temp.{table} derived USING ({key})"
            " WHERE ROW({kept}) IS DISTINCT FROM ROW({derived})"
        ).format(
            wrong=_wrong(table),
            key=_joined(key),
            table=sql.Identifier(table),
            larp=sql.Literal(self._larp),
            kept=_joined(columns, "kept"),
            derived=_joined(columns, "derived"),
        )
        await self._connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(_wrong(table)))
        cursor = await self._connection.execute(query)
        return cursor.rowcount

    async def _change_places(self) -> None:
        """Put the new rows where the wrong ones are. Raises Busy."""
        for _ in range(ATTEMPTS):
            before = self._book.position
            try:
                async with self._connection.transaction():
                    await self._lock()
                    await self._derive()
                    for table in self._derivation.tables:
                        await self._exchange(table)
                    names = [each.name for each in self._projections]
                    await self._connection.execute(SQL["rebuilt"], {"larp": self._larp, "names": names})
                return
            except (errors.LockNotAvailable, errors.DeadlockDetected):
                assert self._book.position == before, "only the lock is waited for"
        raise Busy("the tables are held by somebody else, such as a backup's restore: try again later")

    async def _lock(self) -> None:
        """Nobody writes to the tables from here on. They are locked in the order in which appends lock them."""
        await self._connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        tables = [sql.SQL("skuggbok.{}").format(sql.Identifier(table)) for table in self._derivation.tables]
        lock = sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(sql.SQL(", ").join(tables))
        await self._connection.execute(lock)

    async def _exchange(self, table: str) -> None:
        columns, key = await self._columns(table)
        same = sql.SQL(" AND ").join(sql.SQL("kept.{0} = wrong.{0}").format(sql.Identifier(column)) for column in key)
        parts = {
            "table": sql.Identifier(table),
            "wrong": _wrong(table),
            "same": same,
            "columns": _joined(columns),
            "key": _joined(key),
            "derived": _joined(columns, "derived"),
        }
        delete = sql.SQL("DELETE FROM skuggbok.{table} kept USING {wrong} wrong WHERE {same}")
        insert = sql.SQL(
            "INSERT INTO skuggbok.{table} ({columns})"
            " SELECT {derived} FROM pg_temp.{table} derived JOIN {wrong} wrong USING ({key})"
        )
        await self._connection.execute(delete.format(**parts))
        await self._connection.execute(insert.format(**parts))

    async def _columns(self, table: str) -> tuple[Sequence[str], Sequence[str]]:
        """All columns, and those of the key."""
        cursor = await self._connection.execute(SQL["columns"], {"table": f"skuggbok.{table}"})
        found: Sequence[tuple[str, Any]] = await cursor.fetchall()
        return [name for name, _ in found], [name for name, is_key in found if is_key]


def _wrong(table: str) -> sql.Composed:
    """The table of the keys of wrong rows."""
    return sql.SQL("pg_temp.{}").format(sql.Identifier(f"wrong_{table}"))


def _joined(columns: Sequence[str], of: str | None = None) -> sql.Composed:
    names = (sql.Identifier(of, column) if of else sql.Identifier(column) for column in columns)
    return sql.SQL(", ").join(names)
