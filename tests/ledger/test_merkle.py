"""The Merkle tree against the definitions of RFC 6962, word for word, for every tree of up to 40 leaves."""

import pytest

from ledger import merkle
from ledger.merkle import EMPTY, Growing, Range, Subtree

ENTRIES = [bytes([number]) * 32 for number in range(40)]
SIZES = range(1, len(ENTRIES) + 1)


def split(size: int) -> int:
    """The largest power of two below size."""
    k = 1
    while 2 * k < size:
        k *= 2
    return k


def mth(entries: list[bytes]) -> bytes:
    """Section 2.1."""
    if len(entries) <= 1:
        return merkle.leaf(entries[0]) if entries else EMPTY
    k = split(len(entries))
    return merkle.node(mth(entries[:k]), mth(entries[k:]))


def path(m: int, entries: list[bytes]) -> list[bytes]:
    """Section 2.1.1."""
    if len(entries) == 1:
        return []
    k = split(len(entries))
    if m < k:
        return [*path(m, entries[:k]), mth(entries[k:])]
    return [*path(m - k, entries[k:]), mth(entries[:k])]


def subproof(m: int, entries: list[bytes], whole: bool) -> list[bytes]:
    """Section 2.1.2."""
    if m == len(entries):
        return [] if whole else [mth(entries)]
    k = split(len(entries))
    if m <= k:
        return [*subproof(m, entries[:k], whole), mth(entries[k:])]
    return [*subproof(m - k, entries[k:], False), mth(entries[:k])]


def hash_of(subtree: Subtree) -> bytes:
    return mth(ENTRIES[subtree.index << subtree.height : (subtree.index + 1) << subtree.height])


def hashes(ranges: list[Range]) -> list[bytes]:
    return [merkle.root_of(range_, hash_of) for range_ in ranges]


def test_the_hash_of_a_leaf_and_of_nothing_are_those_of_the_rfc() -> None:
    """Values as published with the test data of Certificate Transparency."""
    assert EMPTY.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert merkle.leaf(b"").hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"


@pytest.mark.parametrize("size", SIZES)
def test_roots_and_inclusion_proofs(size: int) -> None:
    entries = ENTRIES[:size]
    growing = Growing()
    for entry in entries:
        growing.add(entry)
    root = growing.root
    assert root == mth(entries) == merkle.root_of(Range(0, size), hash_of)
    for index, entry in enumerate(entries):
        proof = hashes(merkle.inclusion(index, size))
        assert proof == path(index, entries)
        assert merkle.includes(index, size, merkle.leaf(entry), proof, root)
        assert not any(merkle.includes(i, size, merkle.leaf(entry), proof, root) for i in range(size + 1) if i != index)
        assert not merkle.includes(index, size, merkle.leaf(entry), [*proof, EMPTY], root)
        assert not merkle.includes(index, size, merkle.leaf(b"other"), proof, root)
        assert not proof or not merkle.includes(index, size, merkle.leaf(entry), proof[:-1], root)


@pytest.mark.parametrize("size", SIZES)
def test_consistency_proofs(size: int) -> None:
    root = mth(ENTRIES[:size])
    for old in range(1, size + 1):
        before, proof = mth(ENTRIES[:old]), hashes(merkle.consistency(old, size))
        assert proof == subproof(old, ENTRIES[:size], True)
        assert merkle.extends(old, before, size, root, proof)
        assert not merkle.extends(old, EMPTY, size, root, proof)
        assert not merkle.extends(old, before, size, EMPTY, proof)
        assert not merkle.extends(old, before, size, root, [*proof, EMPTY])
        assert not proof or not merkle.extends(old, before, size, root, proof[:-1])


def test_what_completes_with_a_leaf_is_told() -> None:
    growing = Growing()
    for size in SIZES:
        growing.add(ENTRIES[size - 1])
        for height, hash_ in enumerate(growing.completed):
            assert hash_ == hash_of(Subtree(height, (size >> height) - 1))
        assert size % (2 << height)
