"""Checkpoints: what a journal is, signed and kept beside the database, and whether it still is what was signed.

A journal that was cut, put back from an older backup or rewritten with hashes that fit contradicts a checkpoint.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Struct

from ledger import merkle
from ledger.database import Connection
from ledger.errors import Damaged, Refused, UnknownLarp, UnknownPosition
from ledger.kept import Kept
from ledger.merkle import Range
from ledger.notes import Checkpoint, Verifier, signed
from ledger.settings import Settings
from ledger.signing import KEPT_FOLDER, key_in
from ledger.verify import Finding
from projections import tree
from projections.queries import SQL as QUERIES
from projections.tree import SQL, Tree

CHECK = "checkpoints"


class Contradicted(Refused):
    """The journal is not the one that was signed before"""

    code = "contradicted"


class Issued(Struct, frozen=True):
    """A checkpoint as it was signed. `note` holds all of it; `verifier` is the key to check it with."""

    checkpoint: Checkpoint
    note: str
    verifier: Verifier


class Proof(Struct, frozen=True):
    """That the event at `position`, with `hash`, is one of those of a checkpoint: RFC 6962 hashes, the sibling first.

    `consistency`: that this checkpoint only appended to the first `old` events, whose root is `old_root`.
    """

    position: int
    hash: bytes
    inclusion: Sequence[bytes]
    issued: Issued
    old: int | None = None
    old_root: bytes | None = None
    consistency: Sequence[bytes] = ()


class _Head(Struct, frozen=True):
    larp: int
    position: int
    hash: bytes


class Notary:
    """Signs checkpoints and keeps them in `data_dir`. The key is there too, or in the database that many share."""

    def __init__(self, data_dir: Path, *, key_in_database: bool) -> None:
        self._data_dir = data_dir
        self._key_in_database = key_in_database
        self._known: Ed25519PrivateKey | None = None

    async def verifier(self, connection: Connection, larp: str) -> Verifier:
        """The public key, under the LARP's origin. Raises SigningKeyError."""
        public = (await self._key(connection)).public_key().public_bytes_raw()
        return Verifier(f"skuggbok/{_fingerprint(public)}/{larp}", public)

    async def issue(self, connection: Connection, larp: str) -> Issued:
        """Sign the head. Raises UnknownLarp, and Contradicted where an earlier checkpoint says otherwise."""
        try:
            return await self._issue(connection, larp)
        except Damaged as error:
            raise Contradicted(f"{error}. Nothing is signed until that is cleared up") from error

    async def _issue(self, connection: Connection, larp: str) -> Issued:
        head, kept = await _head(connection, larp), await self.kept(connection, larp)
        old = kept.newest()
        for finding in await _contradictions(connection, head, old):
            raise Contradicted(f"{finding.detail}. Nothing is signed until that is cleared up")
        verifier = await self.verifier(connection, larp)
        root = await tree.root(connection, head.larp, head.position)
        checkpoint = Checkpoint(verifier.name, head.position, root, head.hash)
        note = signed(checkpoint.text, verifier.name, await self._key(connection))
        if old is None or old.size < head.position:
            await asyncio.to_thread(kept.add, head.position, note)
        return Issued(checkpoint, note, verifier)

    async def prove(self, connection: Connection, larp: str, position: int, old: int | None) -> Proof:
        """Raises UnknownLarp, UnknownPosition for what the journal does not have, and Contradicted."""
        head = await _head(connection, larp)
        if not 1 <= position <= head.position or not 1 <= (old or 1) <= head.position:
            raise UnknownPosition(f"the journal ends at position {head.position}")
        issued = await self.issue(connection, larp)
        size = issued.checkpoint.size
        inclusion = merkle.inclusion(position - 1, size)
        consistency = merkle.consistency(old, size) if old else []
        before = [Range(0, old)] if old else []
        loaded = await Tree.load(connection, head.larp, [*inclusion, *consistency, *before])
        return Proof(
            position=position,
            hash=await _hash_at(connection, head.larp, position),
            inclusion=loaded.hashes(inclusion),
            issued=issued,
            old=old,
            old_root=loaded.hash(before[0]) if before else None,
            consistency=loaded.hashes(consistency),
        )

    async def compare(self, connection: Connection, larp: str) -> Sequence[Finding]:
        """What contradicts the newest checkpoint that is kept, at the price of a proof. Raises UnknownLarp."""
        head = await _head(connection, larp)
        try:
            return await _contradictions(connection, head, (await self.kept(connection, larp)).newest())
        except Damaged as error:
            return [Finding(CHECK, head.position, str(error))]

    async def kept(self, connection: Connection, larp: str) -> Kept:
        verifier = await self.verifier(connection, larp)
        return Kept(self._data_dir / KEPT_FOLDER / _fingerprint(verifier.public), larp, verifier)

    async def _key(self, connection: Connection) -> Ed25519PrivateKey:
        if self._known is None:
            if self._key_in_database:
                new = Ed25519PrivateKey.generate().private_bytes_raw()
                await connection.execute(SQL["make_signing_key"], {"key": new})
                row = await (await connection.execute(SQL["signing_key"], binary=True)).fetchone()
                assert row is not None, "it was made"
                self._known = Ed25519PrivateKey.from_private_bytes(row[0])
            else:
                self._known = key_in(self._data_dir)
        return self._known


def notary_of(settings: Settings) -> Notary:
    """The notary of a database of one's own has its key in there, as many hosts may use it."""
    return Notary(settings.data_dir, key_in_database=settings.database_url is not None)


def _fingerprint(public: bytes) -> str:
    """Tells databases apart that have LARPs of the same name."""
    return hashlib.sha256(public).hexdigest()[:16]


async def _head(connection: Connection, larp: str) -> _Head:
    row = await (await connection.execute(QUERIES["head"], {"slug": larp}, binary=True)).fetchone()
    if row is None:
        raise UnknownLarp(f"there is no LARP {larp!r}")
    return _Head(*row)


async def _hash_at(connection: Connection, larp: int, position: int) -> bytes:
    parameters = {"larp": larp, "position": position}
    row = await (await connection.execute(SQL["hash_at"], parameters, binary=True)).fetchone()
    if row is None:
        raise Damaged(f"the event at position {position} is missing")
    return bytes(row[0])


async def _contradictions(connection: Connection, head: _Head, old: Checkpoint | None) -> Sequence[Finding]:
    if old is None:
        return []
    if old.size > head.position:
        return [cut(head.position, old)]
    try:
        if await _hash_at(connection, head.larp, old.size) != old.head:
            return [rewritten(old, 0)]
        if await tree.root(connection, head.larp, old.size) != old.root:
            return [rewritten(old, 0)]
    except Damaged as error:
        return [Finding(CHECK, old.size, str(error))]
    return []


def cut(position: int, old: Checkpoint) -> Finding:
    return Finding(
        CHECK,
        position,
        f"the journal has {position} events, but a checkpoint was signed over {old.size}:"
        " its tail was cut, or an older backup was put back",
    )


def rewritten(old: Checkpoint, after: int) -> Finding:
    return Finding(CHECK, old.size, f"the events at positions {after + 1} to {old.size} are not those that were signed")
