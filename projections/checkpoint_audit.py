"""The audit of what is kept beside a journal: the subtrees of its Merkle tree, and the checkpoints that were signed."""

from collections.abc import AsyncIterator, Callable, Sequence

from ledger.database import Connection
from ledger.errors import Damaged
from ledger.kept import Kept
from ledger.merkle import Growing
from ledger.verify import Finding
from projections import tree
from projections.audit import Audit, CheckResult, audit
from projections.audit_hidden import SQL as AUDIT
from projections.checkpoints import CHECK, Notary, cut, rewritten
from projections.tree import SQL, TILE

CHUNK = 5_000
TREE = "tree"


async def audit_all(
    connection: Connection,
    larp: str,
    notary: Notary,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Audit:
    """The audit, and the journal compared with everything that was ever signed of it. Raises UnknownLarp."""
    result = await audit(connection, larp, progress)
    kept = await notary.kept(connection, larp)
    async with connection.transaction():
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        row = await (await connection.execute(AUDIT["head"], {"slug": larp})).fetchone()
        assert row is not None, "it was audited just now"
        number, position, _ = row
        found = await compare_all(connection, number, position or 0, kept)
    more = [_check(name, found) for name in (TREE, CHECK)]
    return Audit(result.ok and not found, result.position, [*result.checks, *more])


def _check(name: str, found: Sequence[Finding]) -> CheckResult:
    of_name = [finding for finding in found if finding.check == name]
    return CheckResult(name, not of_name, of_name)


async def compare_all(connection: Connection, larp: int, position: int, kept: Kept) -> Sequence[Finding]:
    """Every kept subtree and checkpoint against the journal. In a transaction, which sees one state."""
    found: list[Finding] = []
    growing, good = Growing(), 0
    try:
        signed_before = iter(sorted(kept.all(), key=lambda checkpoint: checkpoint.size))
    except Damaged as error:
        found.append(Finding(CHECK, position, str(error)))
        signed_before = iter(())
    due = next(signed_before, None)
    async for at, hash_ in _hashes(connection, larp):
        growing.add(hash_)
        if growing.size % TILE == 0 and not found:
            found += await _other_subtrees(connection, larp, growing)
        while due is not None and due.size == at:
            if (due.root, due.head) != (growing.root, hash_):
                return [*found, rewritten(due, good)]
            good, due = due.size, next(signed_before, None)
    if due is not None:
        found.append(cut(position, due))
    return found


async def _hashes(connection: Connection, larp: int) -> AsyncIterator[tuple[int, bytes]]:
    async with connection.cursor("hashes", binary=True) as cursor:
        await cursor.execute(SQL["hashes"], {"larp": larp})
        while rows := await cursor.fetchmany(CHUNK):
            for row in rows:
                yield row


async def _other_subtrees(connection: Connection, larp: int, growing: Growing) -> Sequence[Finding]:
    """Kept subtrees that end with the newest leaf and are not what the events make them."""
    complete = growing.completed[tree.TILE_HEIGHT :: tree.TILE_HEIGHT]
    findings = []
    for level, hash_ in enumerate(complete, start=1):
        index = growing.size // TILE**level - 1
        span = {"larp": larp, "level": level, "first": index, "end": index + 1}
        row = await (await connection.execute(SQL["nodes"], span, binary=True)).fetchone()
        if row is not None and row[0] != hash_:
            findings.append(
                Finding("tree", growing.size, f"subtree {index} of level {level} is not that of the events")
            )
    return findings
