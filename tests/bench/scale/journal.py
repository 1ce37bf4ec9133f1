"""Exported journals of any length, as `skuggbok export` writes them: transfers between 500 characters.

Memos are of the length that people write, amounts are small, ids and times grow as a service's would. The same LARP
and the same number of events give the same bytes.
"""

import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from ledger import chain, purses
from ledger.messages import Actor, Draft, Posting
from ledger.recorded import Recorded, record
from projections.exports import NDJSON_FORMAT, Header

CHARACTERS = 500
ASSET = "krona"
GRANT = 10**7
"""More than a purse gives away in ten million transfers."""
AMOUNT_MAX = 20
SMALLEST = 2 + 2 * CHARACTERS
"""Events that a journal has before anything is transferred."""
BEGUN = datetime(2026, 6, 5, 16, tzinfo=UTC)
GAP = timedelta(milliseconds=7, microseconds=353)
"""Between two events; a service's clock never shows whole milliseconds."""
_WORDS = (
    *("ale", "bread", "a bed for the night", "the lost bet", "silence", "a map of the moor", "two candles", "news"),
    *("the ferry", "a borrowed cloak", "herbs", "the toll", "a song", "mending the lute", "dice", "what Runa knows"),
)
_REASONS = ("for", "owed since Friday for", "half of", "the rest for", "paid ahead for", "at the tavern, for")


def names() -> list[str]:
    """The characters, by the names that their purses have."""
    return [f"c{number}" for number in range(CHARACTERS)]


def write(path: Path, larp: str, events: int) -> None:
    """An export of a journal with so many events, `SMALLEST` at least."""
    assert events >= SMALLEST, "the characters and their purses are there first"
    with path.open("wb") as file:
        hash_ = chain.GENESIS  # its place is kept until the last event's is known
        file.write(_header(larp, events, hash_))
        for recorded in _journal(larp, events):
            file.write(recorded.to_json() + b"\n")
            hash_ = recorded.hash
        file.seek(0)
        file.write(_header(larp, events, hash_))


def _header(larp: str, position: int, hash_: bytes) -> bytes:
    return msgspec.json.encode(Header(NDJSON_FORMAT, larp, position, hash_.hex())) + b"\n"


def _journal(larp: str, events: int) -> Iterator[Recorded]:
    actor = Actor(role="banker", token="tok_" + uuid.UUID(int=7).hex)
    previous, at = chain.GENESIS, BEGUN
    for position, draft in enumerate(_drafts(larp, events), start=1):
        id_ = str(uuid.UUID(int=(int(at.timestamp() * 1000) << 80) | (7 << 76) | (2 << 62) | position))
        recorded = record(
            draft, larp=larp, position=position, previous=previous, id=id_, at=at, recorded_at=at, actor=actor
        )
        yield recorded
        previous, at = recorded.hash, at + GAP


def _drafts(larp: str, events: int) -> Iterator[Draft]:
    chance = random.Random(larp)
    people = names()
    yield Draft(purses.LarpFounded(larp=larp, name=larp.title(), language="en"))
    yield Draft(purses.AssetDefined(asset=ASSET, kind="token", name="Krona"))
    for name in people:
        yield Draft(purses.CharacterAdded(character=name, name=name.upper(), credit_limit={}))
        yield Draft(purses.Granted(memo="what everybody has at the start"), (_posting("mint", name, GRANT),))
    for _ in range(events - SMALLEST):
        one, other = chance.sample(people, 2)
        memo = f"{chance.choice(_REASONS)} {chance.choice(_WORDS)} and {chance.choice(_WORDS)}"
        posting = _posting(f"purse/{one}", other, chance.randint(1, AMOUNT_MAX))
        yield Draft(purses.Transferred(memo=memo), (posting,))


def _posting(account: str, to: str, amount: int) -> Posting:
    return Posting(account, f"purse/{to}", ASSET, amount)
