"""Hidden values and dice: commitments that anyone can check, and chance that nobody can foresee.

A commitment is SHA-256 over 32 random bytes (the nonce) followed by the value as RFC 8785 canonical JSON.
Source: rules/README.md, "Hidden things". Nothing here asks for randomness: it comes in as `entropy`.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, TypeVar

import rfc8785

from ledger.messages import Sealed, Secret, Uncovered

T = TypeVar("T")

ENTROPY_BYTES = 32
NONCE_BYTES = 32


def commitment(nonce: bytes, value: Any) -> str:
    """64 hex digits that bind to `value` (JSON builtins) without showing it."""
    return hashlib.sha256(nonce + rfc8785.dumps(value)).hexdigest()


def holds(uncovered: Uncovered) -> bool:
    """Whether an uncovered value is the one that was committed to."""
    return commitment(bytes.fromhex(uncovered.nonce), uncovered.value) == uncovered.commitment


def uncover(secret: Secret) -> Uncovered:
    return Uncovered(commitment=secret.commitment, nonce=secret.nonce, value=secret.value)


class Chance:
    """Dice and nonces of one command, drawn from its entropy (32 unpredictable bytes).

    The same entropy gives the same draws in the same order, which keeps deciding pure; without it they
    cannot be told from random. Every face is equally likely: draws that would favour one are thrown away.
    """

    def __init__(self, entropy: bytes) -> None:
        if len(entropy) != ENTROPY_BYTES:
            raise ValueError(f"entropy has {len(entropy)} bytes, it needs {ENTROPY_BYTES}")
        self._entropy = entropy
        self._drawn = 0
        self.rolled = False
        """Whether a die was rolled; a nonce is no die."""

    def _draw(self, purpose: bytes, size: int) -> bytes:
        self._drawn += 1
        return hashlib.shake_256(self._entropy + self._drawn.to_bytes(8, "big") + purpose).digest(size)

    def die(self, sides: int = 6) -> int:
        """1 to `sides` (at most 256), each as likely as the next."""
        if not 1 <= sides <= 256:
            raise ValueError(f"a die has 1 to 256 sides, not {sides}")
        self.rolled = True
        fair = 256 - 256 % sides
        while True:
            byte = self._draw(b"die", 1)[0]
            if byte < fair:
                return byte % sides + 1

    def pick(self, faces: Sequence[T]) -> T:
        """One of `faces` (at most 256), each as likely as the next."""
        return faces[self.die(len(faces)) - 1]

    def shuffle(self, items: Sequence[T]) -> list[T]:
        """`items` (at most 256) in an order of which each is equally likely (Fisher and Yates)."""
        shuffled = list(items)
        for last in range(len(shuffled) - 1, 0, -1):
            other = self.die(last + 1) - 1
            shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
        return shuffled

    def seal(self, table: str, seat: str | None, what: str, value: Any) -> tuple[Sealed, Secret]:
        """Hide `value` (JSON builtins): the commitment for the journal, and what it hides."""
        nonce = self._draw(b"nonce", NONCE_BYTES)
        sealed = Sealed(commitment=commitment(nonce, value), seat=seat, what=what)
        secret = Secret(commitment=sealed.commitment, table=table, seat=seat, what=what, nonce=nonce.hex(), value=value)
        return sealed, secret
