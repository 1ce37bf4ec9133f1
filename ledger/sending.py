"""Commands as they are sent, and how one is carried out on a fork of the Book, before anything is written."""

import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import uuid_utils as uuid
from msgspec import Struct

from ledger import purses
from ledger.book import Applied, Book, Request
from ledger.errors import BatchRefused, DiceInBatch, Refused, StalePosition
from ledger.games.table import SealsValues, UncoversValues
from ledger.messages import Actor, Draft, Event, Secret, in_utc
from ledger.recorded import Recorded, record


class Together(Struct, frozen=True):
    """Commands that are carried out all or none, one after the other. They bring no keys of their own."""

    requests: tuple[Request, ...]


class Sent(Struct, frozen=True, kw_only=True):
    """A request as it was sent, and on what conditions.

    `key`: an idempotency key of 1 to 255 characters, for which `said` is everything that was said with it.
    `if_match`: the position that the table, or else the journal, must still be at.
    """

    request: Request | Together
    actor: Actor
    key: str | None = None
    said: bytes = b""
    if_match: int | None = None

    @property
    def requests(self) -> tuple[Request, ...]:
        return self.request.requests if isinstance(self.request, Together) else (self.request,)


class Carried(Struct, frozen=True):
    """What came of a command, or of several: all events, and the last position of each command."""

    applied: tuple[Applied, ...] = ()
    ends: tuple[int, ...] = ()


class Attempt:
    """One try at a batch: a fork of the Book on which commands are carried out one after the other.

    `originals`: the events that reversals name. `secrets`: what was hidden, with the position of its event.
    """

    def __init__(self, book: Book, originals: Mapping[int, Recorded]) -> None:
        self.fork = book.fork()
        self.secrets: list[tuple[int, Secret]] = []
        self._originals = dict(originals)
        """And those of this attempt itself, which may be reversed in it."""

    def carry_out(self, sent: Sent, entropy: bytes) -> Carried:
        """Decide and apply. Raises a Refused, and then the fork is as it was."""
        if sent.if_match is not None:
            self._require_position(sent.requests[0], sent.if_match)
        if not isinstance(sent.request, Together):
            applied = self._one(self.fork, sent.request, sent.actor, entropy)
            return Carried(applied, (self.fork.position,))
        inner = Attempt(self.fork, self._originals)
        carried = inner._all(sent.request.requests, sent.actor, entropy)
        inner.fork.merge()
        self.secrets += inner.secrets
        return carried

    def _require_position(self, request: Request, if_match: int) -> None:
        """Raises StalePosition; what is malformed or unknown comes before it."""
        position = self.fork.position_of(self.fork.resolve(request))
        if position != if_match:
            raise StalePosition(f"it is at position {position}, which is not the one that If-Match names: look again")

    def _all(self, requests: Sequence[Request], actor: Actor, entropy: bytes) -> Carried:
        applied, ends = list[Applied](), list[int]()
        for at, request in enumerate(requests):
            try:
                own = hmac.digest(entropy, b"%d" % at, "sha256")
                applied += self._one(self.fork, request, actor, own, together=True)
                ends.append(self.fork.position)
            except DiceInBatch:
                raise
            except Refused as refused:
                raise BatchRefused(at, refused) from None
        return Carried(tuple(applied), tuple(ends))

    def _one(
        self, fork: Book, request: Request, actor: Actor, entropy: bytes, *, together: bool = False
    ) -> tuple[Applied, ...]:
        command = fork.resolve(request)
        at = in_utc(command.at)
        original = self._originals.get(command.position) if isinstance(command, purses.Reverse) else None
        decision = fork.decide(command, entropy, original)
        if together and (decision.rolled or any(_uncovers(draft.event) for draft in decision.drafts)):
            raise DiceInBatch("what the dice show would decide whether all is carried out: send this action alone")
        fork.keep(decision.secrets)
        applied = tuple(fork.apply(_recorded(fork, draft, actor, at)) for draft in decision.drafts)
        for each in applied:
            self._originals[each.recorded.position] = each.recorded
        if decision.secrets:
            self.secrets += _placed(decision.secrets, applied)
        return applied


def _placed(secrets: Sequence[Secret], applied: Sequence[Applied]) -> list[tuple[int, Secret]]:
    """Each secret with the position of the event that commits to it, which need not be the command's first."""
    sealing = [(each.recorded.position, each.recorded.event) for each in applied]
    positions = {
        sealed.commitment: position
        for position, event in sealing
        if isinstance(event, SealsValues)
        for sealed in event.sealed
    }
    return [(positions[secret.commitment], secret) for secret in secrets]


def _uncovers(event: Event) -> bool:
    return isinstance(event, UncoversValues) and bool(event.uncovered)


def _recorded(fork: Book, draft: Draft, actor: Actor, at: datetime | None) -> Recorded:
    """The event in its place. The service's clock may be set back; a journal's time never runs backwards."""
    now = datetime.now(UTC)
    recorded_at = max(now, fork.recorded_at) if fork.recorded_at else now
    return record(
        draft,
        larp=fork.larp,
        position=fork.position + 1,
        previous=fork.hash,
        id=str(uuid.uuid7()),
        at=at or recorded_at,
        recorded_at=recorded_at,
        actor=actor,
    )
