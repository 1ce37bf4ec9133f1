"""A turn: commands that are decided one after the other on a fork of the Book, and written together."""

from collections.abc import Mapping, Sequence

from ledger.book import Applied, Book
from ledger.errors import Refused
from ledger.messages import Secret
from ledger.pending import Pending
from ledger.recorded import Recorded
from ledger.sending import Attempt, Carried


class Turn:
    """Decided on `book`, or on the fork of a turn that is being written and may fail: see `follows`.

    `originals`: the events that reversals name.
    """

    def __init__(self, book: Book, originals: Mapping[int, Recorded] | None = None) -> None:
        self.batch: list[Pending] = []
        self.keys: set[tuple[str, str]] = set()
        """The idempotency keys of the batch, and those that a turn before it may have recorded."""
        self._begins = book.position, book.hash
        self._attempt = Attempt(book, originals or {})

    @property
    def fork(self) -> Book:
        return self._attempt.fork

    @property
    def secrets(self) -> Sequence[tuple[int, Secret]]:
        return self._attempt.secrets

    @property
    def accepted(self) -> list[Pending]:
        """Those with something to record."""
        return [pending for pending in self.batch if pending.attempt.applied]

    @property
    def refused(self) -> list[Pending]:
        return [pending for pending in self.batch if pending.refusal is not None]

    @property
    def applied(self) -> list[Applied]:
        return [applied for pending in self.batch for applied in pending.attempt.applied]

    def decide(self, commands: Sequence[Pending], secret_key: bytes) -> None:
        """One after the other. A refusal changes nothing for the next. `secret_key`: for the idempotency keys."""
        self.batch += commands
        self.keys |= {pending.key for pending in commands if pending.key is not None}
        for pending in commands:
            pending.hashed_key(secret_key)
            pending.refusal, pending.attempt = None, Carried()
            try:
                pending.attempt = self._attempt.carry_out(pending.sent, pending.entropy)
            except Refused as refused:
                pending.refusal = refused

    def follows(self, book: Book) -> bool:
        """Whether the Book is the one that everything here was decided on."""
        return self._begins == (book.position, book.hash)
