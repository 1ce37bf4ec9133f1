"""The hash chain: each event's hash covers the one before it, so nothing can be changed, moved or left out.

hash = SHA-256 over these fields, each behind its length in bytes as 8 bytes, big-endian:
format, LARP, position in decimal, hash of the event before (32 zero bytes for the first), body as stored.
"""

import functools
import hashlib

FORMAT = b"skuggbok.event.v1"
GENESIS = bytes(32)


@functools.lru_cache(maxsize=1_000)
def _beginning(larp: str) -> bytes:
    """Format and LARP, with which all of a journal's links begin."""
    slug = larp.encode()
    return len(FORMAT).to_bytes(8, "big") + FORMAT + len(slug).to_bytes(8, "big") + slug


def link(larp: str, position: int, previous: bytes, body: bytes) -> bytes:
    """The 32 bytes that bind `body` to its place."""
    place = b"%d" % position
    # No call of a function for each length: this is done for every event, whenever anything is read or written.
    fields = (
        *(_beginning(larp), len(place).to_bytes(8, "big"), place),
        *(len(previous).to_bytes(8, "big"), previous, len(body).to_bytes(8, "big"), body),
    )
    return hashlib.sha256(b"".join(fields)).digest()
