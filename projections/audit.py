"""Every invariant of a LARP, checked now: the journal from its bytes, and everything that follows from it once more.

It runs in one transaction that sees one state, while the service goes on writing: it locks nothing that a writer
needs, and nothing that is recorded meanwhile is looked at. The journal streams by; whatever is compared with it lies
in temporary tables, so memory grows with the LARP's Book and not with its journal.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from psycopg.rows import class_row

from ledger import snapshot
from ledger.chain import GENESIS
from ledger.database import Connection
from ledger.errors import ProjectionHalted, UnknownLarp
from ledger.verify import CHECKS, Finding, StoredEvent, Verifier
from projections.audit_hidden import SQL, HiddenValues
from projections.audit_receipts import Receipts
from projections.derive import Derivation
from projections.runner import PROJECTIONS

CHUNK = 1_000
"""Events that are fetched at a time."""
BREATH = 20
"""Events after which whoever shares the process has a turn."""
FINDINGS_MAX = 100
"""Findings that are named of each check; the first of them tell where to look."""
NAMES: Sequence[str] = (*CHECKS, *(each.name for each in PROJECTIONS), "sums", "secrets", "receipts", "snapshot")

Progress = Callable[[int, int], None]


class CheckResult(Struct, frozen=True):
    """One kind of check, and what it found: the first hundred findings, by position."""

    name: str
    ok: bool
    findings: Sequence[Finding]


class Audit(Struct, frozen=True):
    """All checks, as of `position`."""

    ok: bool
    position: int
    checks: Sequence[CheckResult]

    def with_check(self, name: str, findings: Sequence[Finding]) -> "Audit":
        """The same with a check that was made elsewhere."""
        check = CheckResult(name, not findings, findings[:FINDINGS_MAX])
        return Audit(self.ok and check.ok, self.position, [*self.checks, check])


async def larps(connection: Connection, only: str | None = None) -> Sequence[str]:
    """LARPs that there are, or were: also those whose head or first event is gone."""
    cursor = await connection.execute(SQL["larps"], {"only": only})
    return [row[0] for row in await cursor.fetchall()]


async def audit(connection: Connection, larp: str, progress: Progress = lambda done, of: None) -> Audit:
    """Check everything. `progress` is told how many events of how many are done. Raises UnknownLarp."""
    async with connection.transaction():
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        row = await (await connection.execute(SQL["head"], {"slug": larp})).fetchone()
        if row is None:
            raise UnknownLarp(f"there is no LARP {larp!r}")
        number, position, hash_ = row
        checking = _Audit(connection, larp, number)
        await checking.prepare()
        await checking.read_journal(position or 0, progress)
        if position is None:
            checking.add([Finding("chain", 0, "the journal has no head")])
        checking.add(checking.verifier.end(position or 0, hash_ or GENESIS))
        await checking.compare(position or 0)
        await checking.drop()
    progress(position or 0, position or 0)
    return checking.result(position or 0)


class _Audit:
    """One audit of one LARP, in one transaction."""

    def __init__(self, connection: Connection, slug: str, larp: int) -> None:
        self.verifier = Verifier(slug)
        self._connection = connection
        self._larp = larp
        self._derivation = Derivation(connection, larp, PROJECTIONS)
        self._halted: ProjectionHalted | None = None
        self._hidden = HiddenValues(connection, larp)
        self._receipts = Receipts(connection, larp)
        self._snapshot: _StoredSnapshot | None = None
        self._findings: Mapping[str, list[Finding]] = {name: [] for name in NAMES}
        self._last = 0
        self._folded = 0

    def add(self, findings: Iterable[Finding]) -> None:
        """Keep the first of each check: a journal that is wholly damaged has millions."""
        for finding in findings:
            if len(of_check := self._findings[finding.check]) < FINDINGS_MAX:
                of_check.append(finding)

    async def prepare(self) -> None:
        await self._derivation.prepare(checked=False)
        await self._hidden.prepare()
        await self._receipts.prepare()
        async with self._connection.cursor(row_factory=class_row(_StoredSnapshot)) as cursor:
            await cursor.execute(SQL["snapshot"], {"larp": self._larp})
            self._snapshot = await cursor.fetchone()

    async def drop(self) -> None:
        await self._derivation.drop()
        await self._hidden.drop()

    async def read_journal(self, head: int, progress: Progress) -> None:
        async with self._connection.cursor("journal", row_factory=class_row(StoredEvent)) as cursor:
            cursor.itersize = CHUNK
            await cursor.execute(SQL["journal"], {"larp": self._larp})
            async for stored in cursor:
                await self._see(stored)
                if stored.position % BREATH == 0:
                    await asyncio.sleep(0)
                if stored.position % CHUNK == 0:
                    progress(stored.position, head)

    async def _see(self, stored: StoredEvent) -> None:
        self._last = stored.position
        found, applied = self.verifier.see(stored)
        self.add(found)
        if self.verifier.recorded is not None:
            await self._hidden.see(self.verifier.recorded)
        async for finding in self._receipts.see(stored.position, self.verifier.recorded):
            self.add([finding])
        if applied is None:
            return
        self._folded = stored.position
        if self._snapshot is not None and self._snapshot.position == stored.position:
            self.add(self._snapshot.findings(self.verifier))
        if self._halted is None:
            try:
                await self._derivation.add(applied)
            except ProjectionHalted as error:
                self._halted = error

    async def compare(self, head: int) -> None:
        """Everything that is kept beside the journal, with what was derived from it."""
        if self._halted is None:
            try:
                await self._derivation.flush()
            except ProjectionHalted as error:
                self._halted = error
        if self._halted is not None:
            self.add(_not_derived(self._halted.position, str(self._halted)))
        elif not self.verifier.folds:
            self.add(_not_derived(self._folded + 1, "what follows from the journal is not known from here on"))
        else:
            await self._differences()
        if self._snapshot is not None and self._snapshot.position > self._last:
            self.add([Finding("snapshot", self._snapshot.position, "a Book is kept that is newer than the journal")])
        async for finding in self._receipts.end(self._last):
            self.add([finding])
        async for finding in self._hidden.findings(FINDINGS_MAX):
            self.add([finding])
        cursor = await self._connection.execute(SQL["sums"], {"larp": self._larp})
        for asset, total in await cursor.fetchall():
            self.add([Finding("sums", head, f"all {asset} add up to {total}, not to 0")])

    async def _differences(self) -> None:
        for projection in PROJECTIONS:
            for table in projection.tables:
                for position, detail in await self._derivation.differences(table, FINDINGS_MAX):
                    self.add([Finding(projection.name, position, f"{table}: {detail}")])

    def result(self, position: int) -> Audit:
        checks = [CheckResult(name, not found, found) for name, found in self._findings.items()]
        return Audit(all(check.ok for check in checks), position, checks)


class _StoredSnapshot(Struct, frozen=True):
    """The Book that was kept as of `position`."""

    position: int
    hash: bytes
    shape: str
    book: bytes

    def findings(self, verifier: Verifier) -> Iterable[Finding]:
        """What is wrong with it, beside the journal folded up to its position.

        One of another shape was made by another version and is read by nobody.
        """
        if self.hash != verifier.book.hash:
            yield Finding("snapshot", self.position, "a Book is kept of a journal with another hash here")
        elif self.shape == snapshot.shape() and not snapshot.same(self.book, snapshot.take(verifier.book)):
            yield Finding("snapshot", self.position, "the Book that is kept is not what the journal folds to")


def _not_derived(position: int, why: str) -> Iterable[Finding]:
    return [Finding(projection.name, position, f"could not be derived again: {why}") for projection in PROJECTIONS]
