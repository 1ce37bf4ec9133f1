"""The audit of receipts: what a token was told was recorded stands in the journal, and was recorded by that token.

Receipts come in the order of their events, beside the journal, so none but the current one is in memory. A receipt
that was deleted leaves no trace: most commands have none.
"""

from collections.abc import AsyncIterator

from msgspec import Struct
from psycopg.rows import class_row

from ledger.database import Connection
from ledger.recorded import Recorded
from ledger.verify import Finding
from projections.audit_hidden import SQL

CHUNK = 1_000


class _Receipt(Struct, frozen=True):
    """The events from `first` to `last` are what came of one command of `token`."""

    token: str
    first: int
    last: int


class Receipts:
    """The receipts of one LARP, beside the events that they name."""

    def __init__(self, connection: Connection, larp: int) -> None:
        self._receipts = self._stored(connection, larp)
        self._next: _Receipt | None = None
        self._current: _Receipt | None = None

    @staticmethod
    async def _stored(connection: Connection, larp: int) -> AsyncIterator[_Receipt]:
        async with connection.cursor("receipts", row_factory=class_row(_Receipt)) as cursor:
            cursor.itersize = CHUNK
            await cursor.execute(SQL["receipts"], {"larp": larp})
            async for receipt in cursor:
                yield receipt

    async def prepare(self) -> None:
        await self._advance()

    async def _advance(self) -> None:
        self._next = await anext(self._receipts, None)

    async def see(self, position: int, recorded: Recorded | None) -> AsyncIterator[Finding]:
        """The next event of the journal; None if it cannot be read."""
        if self._current is not None and position > self._current.last:
            self._current = None
        while self._next is not None and self._next.first <= position:
            found, before = self._next, self._current
            if found.first < position:
                yield _finding(found, found.first, "which the journal does not have")
            if before is not None:
                yield _finding(found, found.first, f"which another receipt of {before.token} names too")
            self._current = found if found.last >= position else None
            await self._advance()
        current = self._current
        if current is not None and recorded is not None and recorded.actor.token != current.token:
            yield _finding(current, position, f"which {recorded.actor.token} recorded")
            self._current = None

    async def end(self, position: int) -> AsyncIterator[Finding]:
        """After the last event, at `position`."""
        if self._current is not None and self._current.last > position:
            yield _finding(self._current, self._current.last, "which the journal does not have")
        while self._next is not None:
            yield _finding(self._next, self._next.first, "which the journal does not have")
            await self._advance()


def _finding(receipt: _Receipt, position: int, why: str) -> Finding:
    return Finding("receipts", position, f"a receipt of {receipt.token} names this event, {why}")
