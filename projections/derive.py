"""Deriving projections again, beside those that are kept: the same statements, written to other tables."""

import re
from collections.abc import Sequence

from psycopg import sql

from ledger.book import Applied
from ledger.database import Connection
from projections.runner import Kept

BATCH = 2_000
"""Events that are derived in one statement."""


def statement(projections: Sequence[Kept], schema: str) -> str:
    """What writes one batch to the projections' tables in another schema."""
    parts = ", ".join(projection.statement for projection in projections)
    for projection in projections:
        for table in projection.tables:
            parts = re.sub(rf"\bskuggbok\.{table}\b", f"{schema}.{table}", parts)
    return f"WITH head AS (SELECT %(larp)b::integer AS larp), {parts} SELECT count(*) FROM head"  # noqa: S608  # our own files


class Derivation:
    """The projections of one LARP in temporary tables, which go with the transaction."""

    def __init__(self, connection: Connection, larp: int, projections: Sequence[Kept]) -> None:
        self._connection = connection
        self._larp = larp
        self._projections = projections
        self._statement = statement(projections, "pg_temp")
        self._batch: list[Applied] = []

    async def prepare(self) -> None:
        """Empty tables like those that are kept."""
        for projection in self._projections:
            for table in projection.tables:
                create = sql.SQL("CREATE TEMPORARY TABLE {0} (LIKE skuggbok.{0} INCLUDING ALL) ON COMMIT DROP")
                await self._connection.execute(create.format(sql.Identifier(table)))

    async def add(self, applied: Applied) -> None:
        self._batch.append(applied)
        if len(self._batch) >= BATCH:
            await self.flush()

    async def flush(self) -> None:
        if not self._batch:
            return
        parameters: dict[str, object] = {"larp": self._larp}
        for projection in self._projections:
            parameters |= projection.parameters(self._batch)
        await self._connection.execute(self._statement, parameters, prepare=True)
        self._batch.clear()

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
