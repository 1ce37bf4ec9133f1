"""The hash chain: each event's hash covers the one before it, so nothing can be changed, moved or left out.

hash = SHA-256 over these fields, each behind its length in bytes as 8 bytes, big-endian:
format, LARP, position in decimal, hash of the event before (32 zero bytes for the first), body as stored.
"""

import hashlib

FORMAT = b"skuggbok.event.v1"
GENESIS = bytes(32)


def _field(value: bytes) -> bytes:
    return len(value).to_bytes(8, "big") + value


def link(larp: str, position: int, previous: bytes, body: bytes) -> bytes:
    """The 32 bytes that bind `body` to its place."""
    fields = (FORMAT, larp.encode(), b"%d" % position, previous, body)
    return hashlib.sha256(b"".join(map(_field, fields))).digest()
