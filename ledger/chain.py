"""The hash chain: each event's hash covers the one before it, so nothing can be changed, moved or left out.

hash = SHA-256 over these fields, each behind its length in bytes as 8 bytes, big-endian:
format, LARP, position in decimal, hash of the event before (32 zero bytes for the first), body as stored.
"""

import functools
import hashlib

FORMAT = b"skuggbok.event.v1"
GENESIS = bytes(32)


def _length(value: bytes) -> bytes:
    return len(value).to_bytes(8, "big")


@functools.lru_cache(maxsize=1_000)
def _beginning(larp: str) -> bytes:
    """Format and LARP, with which all of a journal's links begin."""
    slug = larp.encode()
    return _length(FORMAT) + FORMAT + _length(slug) + slug


def link(larp: str, position: int, previous: bytes, body: bytes) -> bytes:
    """The 32 bytes that bind `body` to its place."""
    place = b"%d" % position
    fields = (_beginning(larp), _length(place), place, _length(previous), previous, _length(body), body)
    return hashlib.sha256(b"".join(fields)).digest()
