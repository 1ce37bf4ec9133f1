"""Events as they are recorded: the envelope, its bytes, and the way back from bytes to events.

An event is encoded once. The bytes that are stored are the bytes that are hashed; nothing is ever encoded again
to be verified. Tags are literals with a version, `skuggkast.claim_made.v1`, never class names.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from ledger import chain
from ledger.errors import Damaged
from ledger.messages import Actor, Draft, Event, Posting

D = TypeVar("D")


class Envelope(Struct, Generic[D], frozen=True, gc=False):
    """The stored body, in this order. Times are RFC 3339 in UTC; `at` is the field's, `recorded_at` the service's."""

    id: str
    type: str
    version: int
    at: datetime
    recorded_at: datetime
    actor: Actor
    table: str | None
    data: D
    postings: tuple[Posting, ...]


class Recorded(Struct, frozen=True, gc=False):
    """One event of a journal."""

    position: int
    id: str
    type: str
    version: int
    at: datetime
    recorded_at: datetime
    actor: Actor
    table: str | None
    event: Event
    postings: tuple[Posting, ...]
    body: bytes
    hash: bytes

    def to_json(self) -> bytes:
        """The event as the API shows it: the stored bytes between position and hash."""
        return event_json(self.position, self.body, self.hash)


def event_json(position: int, body: bytes, hash_: bytes) -> bytes:
    """The stored body, untouched, with position and hash around it."""
    return b'{"position":%d,%b,"hash":"%b"}' % (position, body[1:-1], hash_.hex().encode())


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Envelope[Raw])


@functools.cache
def split_tag(tag: str) -> tuple[str, int]:
    """`skuggkast.claim_made.v1` is type `skuggkast.claim_made`, version 1."""
    type_, _, version = tag.rpartition(".v")
    return type_, int(version)


def record(
    draft: Draft,
    *,
    larp: str,
    position: int,
    previous: bytes,
    id: str,
    at: datetime,
    recorded_at: datetime,
    actor: Actor,
) -> Recorded:
    """Give a decided event its place in the journal. `previous` is the hash of the event before it."""
    type_, version = split_tag(draft.event.TYPE)
    body = _encoder.encode(
        Envelope(id, type_, version, at, recorded_at, actor, draft.table, draft.event, draft.postings)
    )
    return Recorded(
        position=position,
        id=id,
        type=type_,
        version=version,
        at=at,
        recorded_at=recorded_at,
        actor=actor,
        table=draft.table,
        event=draft.event,
        postings=draft.postings,
        body=body,
        hash=chain.link(larp, position, previous, body),
    )


class Upcaster(Struct, frozen=True):
    """How an event of an old version is read as one of the next. `old` is never recorded again, and read for ever.

    `to_next`: a pure function of the old event alone. Bytes, hash and postings stay what they are.
    """

    old: type[Event]
    to_next: Callable[[Any], Event]


class Reader:
    """From stored bytes to events, for a closed set of event types, old versions of which are read as the newest."""

    def __init__(self, events: Iterable[type[Event]], upcasters: Iterable[Upcaster] = ()) -> None:
        self._upcasters: Mapping[type[Event], Upcaster] = {upcaster.old: upcaster for upcaster in upcasters}
        self._decoders: Mapping[tuple[str, int], msgspec.json.Decoder[Any]] = {
            split_tag(event.TYPE): msgspec.json.Decoder(event) for event in (*events, *self._upcasters)
        }

    def read(self, position: int, body: bytes, hash_: bytes) -> Recorded:
        """Raises Damaged for bytes that are no event this version of the service knows."""
        try:
            envelope = _decoder.decode(body)
            decoder = self._decoders[envelope.type, envelope.version]
            event = self._newest(decoder.decode(envelope.data))
        except KeyError as error:
            tag = "{}.v{}".format(*error.args[0])
            raise Damaged(f"position {position}: events of type {tag} are not known to this version") from None
        except msgspec.MsgspecError as error:
            raise Damaged(f"position {position}: the stored body cannot be read: {error}") from None
        return Recorded(
            position=position,
            id=envelope.id,
            type=envelope.type,
            version=envelope.version,
            at=envelope.at,
            recorded_at=envelope.recorded_at,
            actor=envelope.actor,
            table=envelope.table,
            event=event,
            postings=envelope.postings,
            body=body,
            hash=hash_,
        )

    def _newest(self, event: Event) -> Event:
        """Version by version, so that each change is written down once."""
        while upcaster := self._upcasters.get(type(event)):
            event = upcaster.to_next(event)
        return event
