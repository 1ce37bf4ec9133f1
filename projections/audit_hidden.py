"""The audit of what is hidden: every secret against its commitment in the journal, and every commitment's secret.

The commitments are written to a temporary table while the journal streams by, so that a million of them take no
memory. No finding shows a value.
"""

from collections.abc import AsyncIterator

import msgspec
from psycopg.rows import class_row

from ledger import sql
from ledger.arrays import Int8s, Texts
from ledger.database import Connection
from ledger.games.table import UncoversValues
from ledger.messages import Sealed, Uncovered
from ledger.recorded import Recorded
from ledger.verify import Finding, holds

SQL = sql.load("projections.sql", "audit.sql")
BATCH = 1_000
"""Commitments that are written in one statement."""
CHUNK = 1_000
"""Secrets that are read at a time."""


class _Stored(msgspec.Struct, frozen=True):
    position: int
    commitment: str
    nonce: str
    value: bytes


class HiddenValues:
    """What a journal hides, beside what is kept of it."""

    def __init__(self, connection: Connection, larp: int) -> None:
        self._connection = connection
        self._larp = larp
        self._sealed: list[tuple[str | None, Sealed, int]] = []
        self._shown: list[tuple[str | None, str, int]] = []

    async def prepare(self) -> None:
        await self.drop()
        await self._connection.execute(SQL["create_commitments"])

    async def drop(self) -> None:
        await self._connection.execute(SQL["drop_commitments"])

    async def see(self, recorded: Recorded) -> None:
        """The next event of the journal."""
        position = recorded.position
        sealed: tuple[Sealed, ...] = getattr(recorded.event, "sealed", ())
        self._sealed += [(recorded.table, each, position) for each in sealed]
        if isinstance(recorded.event, UncoversValues):
            self._shown += [(recorded.table, shown.commitment, position) for shown in recorded.event.uncovered]
        if len(self._sealed) + len(self._shown) >= BATCH:
            await self._flush()

    async def _flush(self) -> None:
        """What is uncovered was sealed before, if not in the same events."""
        sealed, shown = self._sealed, self._shown
        self._sealed, self._shown = [], []
        if sealed:
            values: dict[str, object] = {
                "table": Texts(table or "" for table, _, _ in sealed),
                "commitment": Texts(each.commitment for _, each, _ in sealed),
                "seat": Texts(each.seat for _, each, _ in sealed),
                "what": Texts(each.what for _, each, _ in sealed),
                "position": Int8s(position for _, _, position in sealed),
            }
            await self._connection.execute(SQL["commit"], values)
        if shown:
            values = {
                "table": Texts(table or "" for table, _, _ in shown),
                "commitment": Texts(commitment for _, commitment, _ in shown),
                "position": Int8s(position for _, _, position in shown),
            }
            await self._connection.execute(SQL["uncover"], values)

    async def findings(self, limit: int) -> AsyncIterator[Finding]:
        """What is not as it must be, after the last event; up to `limit` of a kind."""
        await self._flush()
        cursor = await self._connection.execute(SQL["differing_secrets"], {"larp": self._larp, "limit": limit})
        for row in await cursor.fetchall():
            yield _difference(*row)
        async with self._connection.cursor("secrets", row_factory=class_row(_Stored)) as secrets:
            secrets.itersize = CHUNK
            await secrets.execute(SQL["secrets"], {"larp": self._larp})
            async for stored in secrets:
                if not _is_committed_to(stored):
                    detail = "a hidden value is not the one that was committed to"
                    yield Finding("secrets", stored.position, detail)


def _is_committed_to(stored: _Stored) -> bool:
    try:
        value = msgspec.json.decode(stored.value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return holds(Uncovered(stored.commitment, stored.nonce, value))


def _difference(
    position: int | None,
    kept_position: int | None,
    seat: str | None,
    kept_seat: str | None,
    what: str | None,
    kept_what: str | None,
    uncovered: int | None,
    kept_uncovered: int | None,
) -> Finding:
    """What is wrong with one secret. The first of each pair is the journal's."""
    if position is None:
        return Finding("secrets", kept_position or 0, "a hidden value is kept that nothing in the journal commits to")
    if kept_position is None:
        return Finding("secrets", position, f"the value ({what}) that was sealed here is not kept")
    if uncovered != kept_uncovered:
        detail = f"a hidden value is marked as {_shown(kept_uncovered)}, by the journal it is {_shown(uncovered)}"
        return Finding("secrets", position, detail)
    if position != kept_position:
        return Finding("secrets", position, f"the value that was sealed here is kept as sealed at {kept_position}")
    detail = f"{what} of {seat or 'nobody'} was sealed here, and is kept as {kept_what} of {kept_seat or 'nobody'}"
    return Finding("secrets", position, detail)


def _shown(position: int | None) -> str:
    return "hidden" if position is None else f"uncovered at position {position}"
