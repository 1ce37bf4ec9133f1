"""What everybody appends: bodies of transfers as Skuggbok stores them, between 500 accounts."""

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import uuid_utils.compat as uuid
from msgspec import Struct

from ledger import chain, purses
from ledger.messages import Actor, Draft, Posting
from ledger.money import purse
from ledger.recorded import record

LARP = "contest"
ASSET = "krona"
ACTOR = Actor(role="organiser", token="0198a5f0c1d27a30b54e9c6d1f2a3b4c")
ACCOUNTS = tuple(f"character-{number:03}" for number in range(500))
MEMO = "for bread, and for the way home"
COUNT = 10_000
SEED = 7


class Payload(Struct, frozen=True):
    """`account`: whose stream it is in, where there are streams; it pays `amount` to `to`."""

    id: str
    account: str
    to: str
    amount: int
    body: bytes


class _Body(Struct):
    id: str
    postings: tuple[Posting, ...]


def write(path: Path) -> None:
    """A body a line. Skuggbok's own are made in the same way while it is measured."""
    rng = random.Random(SEED)
    previous, bodies = chain.GENESIS, list[bytes]()
    for number in range(COUNT):
        from_, to = rng.sample(ACCOUNTS, 2)
        now = datetime.now(UTC)
        amount = rng.randint(1, 9)
        event = purses.Transferred(memo=MEMO)
        recorded = record(
            Draft(event, (Posting(purse(from_), purse(to), ASSET, amount),)),
            larp=LARP,
            position=number + 1,
            previous=previous,
            id=str(uuid.uuid7()),
            at=now,
            recorded_at=now,
            actor=ACTOR,
        )
        previous = recorded.hash
        bodies.append(recorded.body)
    path.write_bytes(b"\n".join(bodies))


def read(path: str) -> Sequence[Payload]:
    decoder = msgspec.json.Decoder(_Body)
    found = list[Payload]()
    for line in Path(path).read_bytes().splitlines():
        body = decoder.decode(line)
        (paid,) = body.postings
        found.append(Payload(body.id, _account(paid.from_), _account(paid.to), paid.amount, line))
    return found


def _account(name: str) -> str:
    return name.removeprefix(purse(""))


def as_object(payload: Payload) -> Mapping[str, Any]:
    found: Mapping[str, Any] = msgspec.json.decode(payload.body)
    return found
