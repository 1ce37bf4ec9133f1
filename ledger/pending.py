"""Commands that wait, what is made of them until they are answered, and the answer."""

import asyncio
import hmac
import secrets
from collections.abc import Sequence

from msgspec import Struct

from ledger import purses
from ledger.book import Applied
from ledger.errors import Refused
from ledger.journal import Kept, Once
from ledger.sealing import ENTROPY_BYTES
from ledger.sending import Carried, Sent, Together


class Receipt(Struct, frozen=True):
    """What was recorded of one command, durably: its events in order, and the table after each.

    `ends`: the last position of each of the commands that were carried out together, or of the one.
    `replayed`: it was recorded when the same key was used before, and nothing new was.
    """

    applied: tuple[Applied, ...]
    ends: tuple[int, ...] = ()
    replayed: bool = False

    @property
    def position(self) -> int:
        return self.applied[-1].recorded.position


class Pending:
    """A command that waits, and what was made of it so far."""

    __slots__ = ("answer", "attempt", "entropy", "once", "refusal", "sent", "tried")

    def __init__(self, sent: Sent) -> None:
        self.sent = sent
        self.once: Once | None = None
        self.entropy = secrets.token_bytes(ENTROPY_BYTES)
        self.answer: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self.refusal: Refused | None = None
        self.attempt = Carried()
        self.tried: list[Carried] = []
        """Attempts that were sent and may have been recorded: a lost connection does not say."""

    @property
    def key(self) -> tuple[str, str] | None:
        """The idempotency key, and whose it is."""
        return None if self.sent.key is None else (self.sent.actor.token, self.sent.key)

    @property
    def reversals(self) -> list[int]:
        """The positions that it would reverse: to decide it, the journal has to be asked."""
        request = self.sent.request
        if not isinstance(request, Together):
            return [request.position] if isinstance(request, purses.Reverse) else []
        return [each.position for each in request.requests if isinstance(each, purses.Reverse)]

    def hashed_key(self, secret_key: bytes) -> Once | None:
        """`once`, which is made of the key at the first time; None if there is none."""
        if self.sent.key is not None and self.once is None:
            self.once = _once(secret_key, self.sent.actor.token, self.sent.key, self.sent.said)
        return self.once

    def kept(self) -> Kept | None:
        """What is kept of the attempt under the key, if there is one."""
        if self.once is None:
            return None
        applied, ends = self.attempt.applied, self.attempt.ends
        span = applied[0].recorded.position, applied[-1].recorded.position
        return Kept(self.once, *span, ends if len(ends) > 1 else ())

    def resolve(self, carried: Carried, *, replayed: bool = False) -> None:
        if not self.answer.done():
            self.answer.set_result(Receipt(carried.applied, carried.ends, replayed))

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


def not_tried(batch: Sequence[Pending]) -> None:
    """The last attempt recorded nothing for certain."""
    for pending in batch:
        pending.tried.pop()


def _once(secret_key: bytes, token: str, key: str, said: bytes) -> Once:
    """Keyed hashes: whoever reads the database can neither guess a body nor use a key."""

    def keyed(purpose: bytes, value: bytes) -> bytes:
        return hmac.digest(secret_key, purpose + b"\0" + token.encode() + b"\0" + value, "sha256")

    return Once(token, keyed(b"key", key.encode()), keyed(b"said", said))
