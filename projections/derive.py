"""Deriving projections again, beside those that are kept: the same statements, written to other tables.

The audit compares what comes of it with what is kept; a rebuild puts it in its place.
"""

import asyncio
import re
from collections.abc import Sequence

import psycopg
from psycopg import sql

from ledger.book import Applied
from ledger.database import Connection
from ledger.errors import ProjectionHalted
from projections.runner import Kept

BATCH = 5_000
"""Events that are derived in one statement. It all happens in one transaction, in which a row that is updated again
and again leaves a dead one behind each time, past which the next has to look: so there are few statements."""

UNIQUE_BY_NATURE = frozenset({"entry"})
"""Tables that are only added to, and whose rows are numbered, so that no two can have one key: they are derived
without an index, which for most of all rows would take longer than all else."""


def statement(projections: Sequence[Kept], schema: str) -> str:
    """What writes one batch to the projections' tables in another schema."""
    parts = ", ".join(projection.statement for projection in projections)
    for projection in projections:
        for table in projection.tables:
            parts = re.sub(rf"\bskuggbok\.{table}\b", f"{schema}.{table}", parts)
    return f"WITH head AS (SELECT %(larp)b::integer AS larp), {parts} SELECT count(*) FROM head"  # noqa: S608  # our own files


class Derivation:
    """Projections of one LARP in temporary tables, which are this session's own and end with it at the latest."""

    def __init__(self, connection: Connection, larp: int, projections: Sequence[Kept]) -> None:
        self._connection = connection
        self._larp = larp
        self._projections = projections
        self._statement = statement(projections, "pg_temp")
        self._batch: list[Applied] = []

    @property
    def tables(self) -> Sequence[str]:
        return [table for projection in self._projections for table in projection.tables]

    async def prepare(self, *, checked: bool = True) -> None:
        """Empty tables like those that are kept. `checked`: with their constraints; a journal that was tampered
        with may break them."""
        but = "" if checked else "EXCLUDING CONSTRAINTS"
        await self.drop()
        for table in self.tables:
            create = "CREATE TEMPORARY TABLE {0} (LIKE skuggbok.{0} INCLUDING ALL " + but
            if table in UNIQUE_BY_NATURE:
                create += " EXCLUDING INDEXES"
            await self._connection.execute(sql.SQL(create + ")").format(sql.Identifier(table)))

    async def drop(self) -> None:
        """Leave nothing behind in a session that goes on."""
        for table in self.tables:
            await self._connection.execute(sql.SQL("DROP TABLE IF EXISTS pg_temp.{}").format(sql.Identifier(table)))

    async def add(self, applied: Applied) -> None:
        """Raises ProjectionHalted."""
        self._batch.append(applied)
        if len(self._batch) >= BATCH:
            await self.flush()

    async def flush(self) -> None:
        """Raises ProjectionHalted; then nothing of the last events was derived."""
        batch, self._batch = self._batch, []
        if batch:
            await self.write(batch)

    async def write(self, batch: Sequence[Applied]) -> None:
        """Derive at most BATCH events that follow what was derived. Raises ProjectionHalted: then nothing was."""
        try:
            await self._write(self._projections, self._statement, batch)
        except psycopg.OperationalError:
            raise
        except Exception as error:  # a projection may trip over anything, and must say over which event
            raise await self._halted(batch, error) from error

    async def _write(self, projections: Sequence[Kept], statement: str, batch: Sequence[Applied]) -> None:
        parameters: dict[str, object] = {"larp": self._larp}
        for projection in projections:
            parameters |= projection.parameters(batch)
            await asyncio.sleep(0)  # whoever shares the process has a turn
        async with self._connection.transaction():
            await self._connection.execute(statement, parameters, prepare=True)

    async def _halted(self, batch: Sequence[Applied], error: Exception) -> ProjectionHalted:
        """Which projection halts at which event: the events of the batch one by one."""
        for applied in batch:
            for projection in self._projections:
                try:
                    await self._write((projection,), statement((projection,), "pg_temp"), (applied,))
                except psycopg.OperationalError:
                    raise
                except Exception as reason:  # see above
                    return ProjectionHalted(projection.name, applied.recorded.position, reason_of(reason))
        names = ", ".join(projection.name for projection in self._projections)
        return ProjectionHalted(names, batch[0].recorded.position, reason_of(error))

    async def differences(self, table: str, limit: int) -> Sequence[tuple[int, str]]:
        """Rows that are kept and not derived, or derived and not kept: their position, and what they say."""
        one = sql.SQL("SELECT * FROM {}.{} WHERE larp = {}")
        name, larp = sql.Identifier(table), sql.Literal(self._larp)
        query = sql.SQL(
            "SELECT (row->>'position')::bigint AS position, how || ' ' || row::text FROM ("
            " SELECT 'kept, not derived:' AS how, to_jsonb(a) AS row FROM ({kept} EXCEPT ALL {derived}) a"
            " UNION ALL"
            " SELECT 'derived, not kept:' AS how, to_jsonb(b) AS row FROM ({derived} EXCEPT ALL {kept}) b"
            ") different ORDER BY position LIMIT %s"
        ).format(
            kept=one.format(sql.Identifier("skuggbok"), name, larp),
            derived=one.format(sql.Identifier("pg_temp"), name, larp),
        )
        return await (await self._connection.execute(query, (limit,))).fetchall()


def reason_of(error: Exception) -> str:
    """Why, without a value: what a row holds is not for everybody who may read that a projection halted."""
    if isinstance(error, psycopg.Error):
        return error.diag.message_primary or type(error).__name__
    return type(error).__name__
