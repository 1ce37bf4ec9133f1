"""The Merkle tree of a journal in the database: complete subtrees are kept, so that a proof reads a few hundred hashes.

Appends do not touch it. Whoever asks for a root or a proof first keeps the subtrees that are complete and missing;
they never change. Level k holds the roots of 256^k leaves (tiles of height 8, as in https://c2sp.org/tlog-tiles).
"""

from collections.abc import Iterable, Mapping, Sequence

from ledger import merkle, sql
from ledger.arrays import Byteas, Int8s
from ledger.database import Connection
from ledger.errors import Damaged
from ledger.merkle import Range, Subtree

SQL = sql.load("projections.sql", "tree.sql")
TILE_HEIGHT = 8
TILE = 1 << TILE_HEIGHT
TILES_AT_ONCE = 16
"""Tiles that are read and hashed at a time: some milliseconds of work between two looks at other requests."""
_LEVEL_MAX = 6
"""256^7 events are more than positions go."""


async def fill(connection: Connection, larp: int, size: int) -> None:
    """Keep every subtree that is complete with `size` events. Raises Damaged where an event is missing."""
    kept = dict(await (await connection.execute(SQL["filled"], {"larp": larp})).fetchall())
    below = size
    for level in range(1, _LEVEL_MAX + 1):
        below //= TILE
        for index in range(kept.get(level, 0), below, TILES_AT_ONCE):
            await _keep(connection, larp, level, range(index, min(index + TILES_AT_ONCE, below)))
        if below < TILE:
            return


async def _keep(connection: Connection, larp: int, level: int, indexes: range) -> None:
    span = {"larp": larp, "level": level - 1, "first": indexes.start * TILE, "end": indexes.stop * TILE}
    cursor = await connection.execute(SQL["nodes" if level > 1 else "leaves"], span, binary=True)
    hashes = [hash_ for (hash_,) in await cursor.fetchall()]
    if len(hashes) != len(indexes) * TILE:
        raise Damaged(f"{_missing(level - 1)} among {indexes.start * TILE + 1} to {indexes.stop * TILE} are missing")
    if level == 1:
        hashes = [merkle.leaf(hash_) for hash_ in hashes]
    roots = [merkle.complete_root(hashes[at : at + TILE]) for at in range(0, len(hashes), TILE)]
    kept = {"larp": larp, "level": level, "index": Int8s(indexes), "hash": Byteas(roots)}
    await connection.execute(SQL["fill"], kept)


def _missing(level: int) -> str:
    return "subtrees" if level else "events"


class Tree:
    """The tree over the first `size` events, as far as one question needs it."""

    def __init__(self, hashes: Mapping[Subtree, bytes]) -> None:
        self._hashes = hashes

    @classmethod
    async def load(cls, connection: Connection, larp: int, ranges: Iterable[Range]) -> "Tree":
        """With all that the ranges consist of, in one query. They end where the tree was filled. Raises Damaged."""
        subtrees = sorted({subtree for range_ in ranges for subtree in range_.subtrees})
        spans = {subtree: _span(subtree) for subtree in subtrees}
        wanted = {
            "larp": larp,
            "level": Int8s(level for level, _ in spans.values()),
            "first": Int8s(span.start for _, span in spans.values()),
            "end": Int8s(span.stop for _, span in spans.values()),
        }
        cursor = await connection.execute(SQL["parts"], wanted, binary=True)
        parts = {
            (level, index): hash_ if level else merkle.leaf(hash_) for level, index, hash_ in await cursor.fetchall()
        }
        try:
            return cls(
                {
                    subtree: merkle.complete_root([parts[level, index] for index in span])
                    for subtree, (level, span) in spans.items()
                }
            )
        except KeyError as error:
            level, index = error.args[0]
            raise Damaged(f"{_missing(level)} are missing, number {index + 1} among them") from None

    def hash(self, range_: Range) -> bytes:
        return merkle.root_of(range_, self._hashes.__getitem__)

    def hashes(self, ranges: Sequence[Range]) -> list[bytes]:
        return [self.hash(range_) for range_ in ranges]


def _span(subtree: Subtree) -> tuple[int, range]:
    """The level whose hashes a subtree is computed of, at most 128 of them, and which ones."""
    level, rest = divmod(subtree.height, TILE_HEIGHT)
    return level, range(subtree.index << rest, (subtree.index + 1) << rest)


async def root(connection: Connection, larp: int, size: int) -> bytes:
    """Of the tree over the first `size` events. Raises Damaged."""
    await fill(connection, larp, size)
    whole = Range(0, size)
    return (await Tree.load(connection, larp, [whole])).hash(whole)
