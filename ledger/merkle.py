"""The Merkle tree over a journal's event hashes: proofs of a few hundred bytes instead of the whole journal.

Leaf i is the hash of the event at position i + 1. Source: RFC 6962, section 2.1. Pure: whoever proves names the
ranges of leaves whose hashes a proof is made of, and brings the hashes of the complete subtrees in them.
"""

import hashlib
from collections.abc import Callable, Sequence

from msgspec import Struct

HASH_BYTES = 32
EMPTY = hashlib.sha256(b"").digest()
"""The root of a tree without leaves."""


class Subtree(Struct, frozen=True, order=True):
    """A complete subtree: 2^height leaves, the first of which is number index * 2^height."""

    height: int
    index: int


class Range(Struct, frozen=True):
    """Leaves from `first` up to `end`, which is not included; as the tree splits them, so `first` is aligned."""

    first: int
    end: int

    @property
    def subtrees(self) -> list[Subtree]:
        """The complete subtrees that it consists of, from the left: the largest first."""
        found, first = [], self.first
        while first < self.end:
            height = (self.end - first).bit_length() - 1
            found.append(Subtree(height, first >> height))
            first += 1 << height
        return found


def leaf(entry: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + entry).digest()


def node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of(range_: Range, hash_of: Callable[[Subtree], bytes]) -> bytes:
    """The Merkle tree hash of a range of leaves."""
    hashes = [hash_of(subtree) for subtree in range_.subtrees]
    if not hashes:
        return EMPTY
    root = hashes.pop()
    while hashes:
        root = node(hashes.pop(), root)
    return root


def complete_root(hashes: Sequence[bytes]) -> bytes:
    """The root over 2^n subtrees of equal height."""
    assert hashes and len(hashes) & (len(hashes) - 1) == 0, "a complete tree has 2^n leaves"
    level = list(hashes)
    while len(level) > 1:
        level = [node(level[at], level[at + 1]) for at in range(0, len(level), 2)]
    return level[0]


def _split(size: int) -> int:
    """The largest power of two below `size`, which is at least 2."""
    return 1 << ((size - 1).bit_length() - 1)


def inclusion(index: int, size: int) -> list[Range]:
    """What proves that leaf `index` is one of `size`, its sibling first."""
    assert 0 <= index < size, "only a leaf of the tree is proved"
    first, end, path = 0, size, []
    while end - first > 1:
        middle = first + _split(end - first)
        if index < middle:
            path.append(Range(middle, end))
            end = middle
        else:
            path.append(Range(first, middle))
            first = middle
    return path[::-1]


def consistency(old: int, size: int) -> list[Range]:
    """What proves that a tree of `size` leaves only appended to one of `old`; nothing where they are the same."""
    assert 1 <= old <= size, "a tree without leaves is the beginning of any"
    first, end, path, whole = 0, size, [], True
    while first + old != end:  # `old` counts from `first`
        middle = first + _split(end - first)
        if first + old <= middle:
            path.append(Range(middle, end))
            end = middle
        else:
            path.append(Range(first, middle))
            old -= middle - first
            first, whole = middle, False
    if not whole:
        path.append(Range(first, end))
    return path[::-1]


# ---- checking, with no tree at hand ----


def includes(index: int, size: int, leaf_hash: bytes, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether `proof` leads from the leaf to the root. Source: RFC 9162, section 2.1.3.2."""
    if not 0 <= index < size:
        return False
    at, last, hash_ = index, size - 1, leaf_hash
    for other in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            hash_ = node(other, hash_)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            hash_ = node(hash_, other)
        at, last = at >> 1, last >> 1
    return last == 0 and hash_ == root


def extends(old: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether `proof` shows that the tree only grew. Source: RFC 9162, section 2.1.4.2."""
    if not 1 <= old <= size or old == size:
        return old == size and old_root == root and not proof
    hashes = iter([old_root, *proof] if old & (old - 1) == 0 else proof)
    at, last = old - 1, size - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    before = after = next(hashes, b"")
    for other in hashes:
        if last == 0:
            return False
        if at & 1 or at == last:
            before, after = node(other, before), node(other, after)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            after = node(after, other)
        at, last = at >> 1, last >> 1
    return last == 0 and before == old_root and after == root


class Growing:
    """The tree of leaves that come one after the other, in memory of its height: for who sees a whole journal.

    `completed`: the subtrees that end with the newest leaf, by height.
    """

    def __init__(self) -> None:
        self.size = 0
        self.completed: list[bytes] = []
        self._peaks: list[bytes] = []

    def add(self, entry: bytes) -> None:
        hash_, index = leaf(entry), self.size
        self.size += 1
        self.completed = [hash_]
        while index & 1:
            hash_, index = node(self._peaks.pop(), hash_), index >> 1
            self.completed.append(hash_)
        self._peaks.append(hash_)

    @property
    def root(self) -> bytes:
        if not self._peaks:
            return EMPTY
        *others, root = self._peaks
        for peak in reversed(others):
            root = node(peak, root)
        return root
