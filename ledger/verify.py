"""Is the journal what it must be? Every event once, in order, without trusting anything but the bytes.

Pure: the caller brings the stored rows. A fault is a Finding and the work goes on, so that one damaged event does
not hide the next; what depends on all events before it (balances, tables) stops at the first that cannot be folded.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from ledger import chain, money, sealing
from ledger.book import READER, Applied, Book
from ledger.errors import Damaged
from ledger.games.table import TableClosed, TableState, TableVoided, UncoversValues
from ledger.messages import Sealed, Uncovered
from ledger.recorded import Recorded

Check = Literal[
    "chain", "envelope", "fold", "no_account_below_zero", "closed_tables_empty", "lids_complete", "commitments"
]
CHECKS: tuple[Check, ...] = (
    "chain",
    "envelope",
    "fold",
    "no_account_below_zero",
    "closed_tables_empty",
    "lids_complete",
    "commitments",
)


class Finding(Struct, frozen=True):
    """Something is not as it must be. `position`: the event at which it shows."""

    check: str
    position: int
    detail: str


class StoredEvent(Struct, frozen=True):
    """A row of the journal. `body` is what is hashed; the other columns repeat what it says."""

    position: int
    body: bytes
    hash: bytes
    type: str
    table: str | None
    character: str | None
    at: datetime
    recorded_at: datetime


class Verifier:
    """Sees the rows of one journal in the order of their positions.

    What it remembers grows with the LARP's Book and with what lies hidden at open tables, not with the journal.
    `recorded`: the event that was seen last, None if it could not be read.
    """

    def __init__(self, larp: str) -> None:
        self.larp = larp
        self.book = Book(larp)
        self.folds = True
        self.recorded: Recorded | None = None
        self._position = 0
        self._hash = chain.GENESIS
        self._sealed: dict[str | None, set[str]] = {}
        """Commitments by table, as long as the table is open: afterwards nothing is uncovered there."""

    def see(self, row: StoredEvent) -> tuple[list[Finding], Applied | None]:
        """What is wrong with this row, and the event as it was folded, as long as the journal can be."""
        self.recorded = None
        try:
            recorded = READER.read(row.position, row.body, row.hash)
        except Damaged as error:
            self.folds = False
            return [*self._link(row), Finding("envelope", row.position, str(error))], None
        return self.see_read(row, recorded)

    def see_read(self, row: StoredEvent, recorded: Recorded) -> tuple[list[Finding], Applied | None]:
        """The same of a row whose body was read already."""
        self.recorded = recorded
        findings = [*self._link(row), *self._envelope(row, recorded)]
        findings += self._commitments(recorded)
        applied = None
        if self.folds:
            try:
                applied = self.book.apply(recorded)
            except Exception as error:  # an event that was tampered with may break whatever folding takes for granted
                self.folds = False
                findings.append(
                    Finding("fold", row.position, f"the event does not follow from those before: {error!r}")
                )
            else:
                findings += self._money(applied)
        return findings, applied

    def end(self, position: int, hash_: bytes) -> Iterator[Finding]:
        """The head, as it is stored."""
        if position != self._position:
            yield Finding("chain", position, f"the head says {position} events, the journal has {self._position}")
        elif hash_ != self._hash:
            yield Finding("chain", position, "the head's hash is not that of the last event")

    def _link(self, row: StoredEvent) -> Iterator[Finding]:
        if row.position != self._position + 1:
            yield Finding("chain", row.position, f"position {row.position} follows {self._position}")
        if chain.link(self.larp, row.position, self._hash, row.body) != row.hash:
            yield Finding("chain", row.position, "the hash is not that of this body in this place")
        self._position, self._hash = row.position, row.hash

    def _envelope(self, row: StoredEvent, recorded: Recorded) -> Iterator[Finding]:
        says = (recorded.type, recorded.table, recorded.event.character_concerned, recorded.at, recorded.recorded_at)
        if (row.type, row.table, row.character, row.at, row.recorded_at) != says:
            yield Finding("envelope", row.position, "the columns do not say what the body says")
        if self.folds and self.book.recorded_at and recorded.recorded_at < self.book.recorded_at:
            yield Finding("envelope", row.position, "it was recorded before the event before it")

    def _commitments(self, recorded: Recorded) -> Iterator[Finding]:
        sealed: Sequence[Sealed] = getattr(recorded.event, "sealed", ())
        open_ = self._sealed.get(recorded.table)
        if open_ is None:
            if not sealed and not isinstance(recorded.event, UncoversValues):
                return
            open_ = self._sealed[recorded.table] = set()
        open_ |= {each.commitment for each in sealed}
        if isinstance(recorded.event, UncoversValues):
            for shown in recorded.event.uncovered:
                if shown.commitment not in open_:
                    yield Finding("commitments", recorded.position, "a value is uncovered that was not sealed")
                elif not holds(shown):
                    yield Finding("commitments", recorded.position, "an uncovered value is not the one that was sealed")
                open_.discard(shown.commitment)
        if not open_ or isinstance(recorded.event, TableClosed | TableVoided):
            del self._sealed[recorded.table]

    def _money(self, applied: Applied) -> Iterator[Finding]:
        position = applied.recorded.position
        for entry in applied.entries:
            if entry.balance < 0 and not money.may_go_below_zero(entry.account):
                yield Finding("no_account_below_zero", position, f"{entry.account} has {entry.balance} {entry.asset}")
            if abs(entry.balance) > money.BALANCE_MAX:
                yield Finding("no_account_below_zero", position, f"{entry.account} has {entry.balance} {entry.asset}")
        if applied.table is not None:
            yield from _of_table(position, applied.table)


def holds(shown: Uncovered) -> bool:
    """Whether a value is the one that was committed to. Whoever tampered with it need not have kept to any form."""
    try:
        return sealing.holds(shown)
    except (ValueError, TypeError, RecursionError):  # no hex digits, or no value that canonical JSON has
        return False


def _of_table(position: int, table: TableState) -> Iterator[Finding]:
    lying = {account: amounts for account, amounts in table.held.items() if account != money.BURNT}
    if table.is_over and lying:
        yield Finding("closed_tables_empty", position, f"{table.table} is over and still holds {lying}")
    lids = sum(amounts.get("lid", 0) for amounts in lying.values())
    expected = getattr(getattr(table, "rules", None), "lids", 0)
    if not table.is_over and lids != expected:
        yield Finding("lids_complete", position, f"{table.table} has {lids} lids of {expected}")
