"""Signed notes and checkpoints: what a journal was at some moment, signed, in a form that others' tools read too.

Source: https://c2sp.org/signed-note and https://c2sp.org/tlog-checkpoint. Pure.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Struct

from ledger.errors import SkuggbokError
from ledger.merkle import HASH_BYTES

ED25519 = b"\x01"
SIGNATURES_MAX = 100
_KEY_ID_BYTES = 4
_NAME = re.compile(r"[^\s+]+")
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_HEAD = "head "


class NoteError(SkuggbokError):
    """A note is not one, or not signed by whom it should be; the message says which."""


class Verifier(Struct, frozen=True):
    """A key that signs: its name, and its public half of 32 bytes."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        return hashlib.sha256(self.name.encode() + b"\n" + ED25519 + self.public).digest()[:_KEY_ID_BYTES]

    def __str__(self) -> str:
        """As a verifier key, `NAME+KEYID+KEY`, which is how people and tools pass it on."""
        return f"{self.name}+{self.key_id.hex()}+{base64.b64encode(ED25519 + self.public).decode()}"

    @classmethod
    def parse(cls, text: str) -> "Verifier":
        """Raises NoteError."""
        name, _, rest = text.partition("+")
        key_id, _, encoded = rest.partition("+")
        key = _decoded(encoded, "the key")
        verifier = cls(name, key[1:])
        if not _NAME.fullmatch(name) or key[:1] != ED25519 or len(key) != 33 or verifier.key_id.hex() != key_id:
            raise NoteError("this is no verifier key of the form NAME+KEYID+KEY for Ed25519")
        return verifier


class Checkpoint(Struct, frozen=True):
    """A journal of `size` events: the root of the tree over their hashes, and the hash of the last of them."""

    origin: str
    size: int
    root: bytes
    head: bytes

    @property
    def text(self) -> str:
        """What is signed. The extension line `head` ties the tree to the chain of hashes."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n{_HEAD}{self.head.hex()}\n"

    @classmethod
    def parse(cls, text: str) -> "Checkpoint":
        """Raises NoteError for a text that is no checkpoint of a journal."""
        origin, size, root, head, *others = text.removesuffix("\n").split("\n") + [""] * 4
        if not _NAME.fullmatch(origin) or not _SIZE.fullmatch(size) or any(others):
            raise NoteError("the note is no checkpoint: origin, size and root, then the journal's head")
        if not head.startswith(_HEAD) or not re.fullmatch(f"[0-9a-f]{{{2 * HASH_BYTES}}}", head.removeprefix(_HEAD)):
            raise NoteError("the checkpoint has no line with the journal's head")
        decoded = _decoded(root, "the root")
        if len(decoded) != HASH_BYTES:
            raise NoteError(f"the checkpoint's root has {len(decoded)} bytes, not {HASH_BYTES}")
        return cls(origin, int(size), decoded, bytes.fromhex(head.removeprefix(_HEAD)))


def signed(text: str, name: str, key: Ed25519PrivateKey) -> str:
    """The note: the text, an empty line, and the signature of `name`."""
    assert text.endswith("\n") and _printable(text), "a text of whole lines"
    assert _NAME.fullmatch(name), "a name without spaces and +"
    verifier = Verifier(name, key.public_key().public_bytes_raw())
    signature = base64.b64encode(verifier.key_id + key.sign(text.encode())).decode()
    return f"{text}\n— {name} {signature}\n"


def opened(note: str, verifier: Verifier) -> str:
    """The text of a note that `verifier` signed. Signatures of others are of no interest. Raises NoteError."""
    text, signatures = _parts(note)
    for name, key_id, signature in signatures:
        if (name, key_id) == (verifier.name, verifier.key_id):
            try:
                Ed25519PublicKey.from_public_bytes(verifier.public).verify(signature, text.encode())
            except (InvalidSignature, ValueError):
                raise NoteError(f"the signature of {name} is not one of this text") from None
            return text
    raise NoteError(f"the note is not signed by {verifier.name}")


def _parts(note: str) -> tuple[str, Sequence[tuple[str, bytes, bytes]]]:
    """Text and signatures: name, key id, signature. Raises NoteError."""
    text, blank, lines = note.rpartition("\n\n")
    if not blank or not text or not lines.endswith("\n") or not _printable(note):
        raise NoteError("this is no signed note: text, an empty line, signatures")
    signatures = [_signature(line) for line in lines.removesuffix("\n").split("\n")]
    if len(signatures) > SIGNATURES_MAX:
        raise NoteError(f"the note has more than {SIGNATURES_MAX} signatures")
    return text + "\n", signatures


def _signature(line: str) -> tuple[str, bytes, bytes]:
    dash, name, encoded, *others = [*line.split(" "), "", ""]
    if dash != "—" or not _NAME.fullmatch(name) or any(others):
        raise NoteError("a signature is a line `— NAME BASE64`")
    decoded = _decoded(encoded, "a signature")
    if len(decoded) <= _KEY_ID_BYTES:
        raise NoteError("a signature is shorter than the id of its key")
    return name, decoded[:_KEY_ID_BYTES], decoded[_KEY_ID_BYTES:]


def _printable(text: str) -> bool:
    return all(character >= " " or character == "\n" for character in text)


def _decoded(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise NoteError(f"{what} is not base64") from None
