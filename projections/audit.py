"""Every invariant of a LARP, checked now: the journal from its bytes, and every projection derived again.

It runs in one transaction that sees one state, while the service goes on writing.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import msgspec
from msgspec import Struct
from psycopg.rows import class_row

from ledger import sql
from ledger.database import Connection
from ledger.errors import UnknownLarp
from ledger.messages import Uncovered
from ledger.sealing import holds
from ledger.verify import CHECKS, Finding, StoredEvent, Verifier
from projections.derive import Derivation
from projections.queries import SQL as QUERIES
from projections.runner import PROJECTIONS

SQL = sql.load("projections.sql", "audit.sql")
CHUNK = 1_000
FINDINGS_MAX = 100
"""Findings that are named of each check; the first of them tell where to look."""


class CheckResult(Struct, frozen=True):
    """One kind of check."""

    name: str
    ok: bool
    findings: Sequence[Finding]


class Audit(Struct, frozen=True):
    """All checks, as of `position`."""

    ok: bool
    position: int
    checks: Sequence[CheckResult]


async def audit(
    connection: Connection, larp: str, progress: Callable[[int, int], None] = lambda done, of: None
) -> Audit:
    """Check everything. `progress` is told how many events of how many are done. Raises UnknownLarp."""
    findings: list[Finding] = []
    async with connection.transaction():
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        row = await (await connection.execute(QUERIES["head"], {"slug": larp})).fetchone()
        if row is None:
            raise UnknownLarp(f"there is no LARP {larp!r}")
        number, position, hash_ = row
        verifier = Verifier(larp)
        derivation = Derivation(connection, number, PROJECTIONS)
        await derivation.prepare()
        async with connection.cursor("journal", row_factory=class_row(StoredEvent)) as cursor:
            cursor.itersize = CHUNK
            await cursor.execute(SQL["journal"], {"larp": number})
            async for stored in cursor:
                found, applied = verifier.see(stored)
                findings += found
                if applied is not None:
                    await derivation.add(applied)
                if stored.position % CHUNK == 0:
                    progress(stored.position, position)
        findings += verifier.end(position, hash_)
        await derivation.flush()
        if verifier.folds:
            findings += await _differences(derivation)
        findings += await _sums(connection, number, position)
        findings += await _secrets(connection, number)
    progress(position, position)
    return _result(position, findings)


async def _differences(derivation: Derivation) -> Iterable[Finding]:
    return [
        Finding(projection.name, position, f"{table}: {detail}")
        for projection in PROJECTIONS
        for table in projection.tables
        for position, detail in await derivation.differences(table, FINDINGS_MAX)
    ]


async def _sums(connection: Connection, number: int, position: int) -> Iterable[Finding]:
    cursor = await connection.execute(SQL["sums"], {"larp": number})
    return [
        Finding("sums", position, f"all {asset} add up to {total}, not to 0")
        for asset, total in await cursor.fetchall()
    ]


async def _secrets(connection: Connection, number: int) -> Iterable[Finding]:
    cursor = await connection.execute(SQL["secrets"], {"larp": number})
    return [
        Finding("secrets", position, "a hidden value is not the one that was committed to")
        for commitment, nonce, value, position, _ in await cursor.fetchall()
        if not holds(Uncovered(commitment, nonce, msgspec.json.decode(value)))
    ]


def _result(position: int, findings: Sequence[Finding]) -> Audit:
    names = [*CHECKS, *(projection.name for projection in PROJECTIONS), "sums", "secrets"]
    by_name = {name: list(found) for name, found in groupby(sorted(findings, key=_name), key=_name)}
    checks = [CheckResult(name, name not in by_name, by_name.get(name, [])[:FINDINGS_MAX]) for name in names]
    return Audit(all(check.ok for check in checks), position, checks)


def _name(finding: Finding) -> str:
    return finding.check
