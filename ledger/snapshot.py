"""A Book as bytes, so that a LARP with a long journal starts at once: disposable, never the truth.

It holds no hidden value. A snapshot of another `VERSION` or shape is not read: the journal is folded instead.
Bump `VERSION` when the meaning of a field changes; a changed shape is noticed by itself.
"""

import functools
import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Raw, Struct

from ledger.book import BY_NAME, Book, Character, OpenTable, Over
from ledger.money import Kind

VERSION = 2


class Snapshot(Struct, frozen=True):
    position: int
    hash: bytes
    recorded_at: datetime | None
    kinds: Mapping[str, Kind]
    characters: Mapping[str, Character]
    balances: tuple[tuple[str, str, int], ...]
    open_tables: Mapping[str, tuple[Raw, ...]]
    over: Mapping[str, tuple[str, int]]
    reversed: tuple[int, ...]


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Snapshot)
_states: Mapping[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(game.state) for name, game in BY_NAME.items()
}


@functools.cache
def shape() -> str:
    """A fingerprint of everything that a snapshot holds."""
    schemas = [Snapshot, *(game.state for game in BY_NAME.values())]
    text = repr((VERSION, [msgspec.inspect.multi_type_info([schema]) for schema in schemas]))
    return hashlib.sha256(text.encode()).hexdigest()


def take(book: Book) -> bytes:
    """The Book as it is after its last merged event."""
    tables = dict(book.tables.items())
    return _encoder.encode(
        {
            "position": book.position,
            "hash": book.hash,
            "recorded_at": book.recorded_at,
            "kinds": dict(book.kinds.items()),
            "characters": dict(book.characters.items()),
            "balances": [(*key, amount) for key, amount in book.balances.items()],
            "open_tables": {
                name: [t.state for t in tables.values() if isinstance(t, OpenTable) and t.game == name]
                for name in BY_NAME
            },
            "over": {name: (t.game, t.position) for name, t in tables.items() if isinstance(t, Over)},
            "reversed": [position for position, _ in book.reversed.items()],
        }
    )


def restore(larp: str, content: bytes) -> Book:
    """Raises msgspec.MsgspecError for bytes that are no snapshot."""
    snapshot = _decoder.decode(content)
    book = Book(larp)
    book.position, book.hash, book.recorded_at = snapshot.position, snapshot.hash, snapshot.recorded_at
    for asset, kind in snapshot.kinds.items():
        book.kinds.put(asset, kind)
    for name, character in snapshot.characters.items():
        book.characters.put(name, character)
    for account, asset, amount in snapshot.balances:
        book.balances.put((account, asset), amount)
    for game, states in snapshot.open_tables.items():
        for raw in states:
            state = _states[game].decode(raw)
            book.tables.put(state.table, OpenTable(game, state))
    for table, (game, position) in snapshot.over.items():
        book.tables.put(table, Over(game, position))
    for position in snapshot.reversed:
        book.reversed.put(position, True)
    return book


def same(one: bytes, other: bytes) -> bool:
    """Whether two snapshots hold the same Book; the order in which they list things tells nothing."""
    try:
        return bool(_sorted(msgspec.json.decode(one)) == _sorted(msgspec.json.decode(other)))
    except (msgspec.MsgspecError, LookupError, AttributeError, TypeError, RecursionError):
        return False


def _sorted(value: Any) -> Any:
    """The lists of a snapshot in an order of their own; those within a table's state or a balance stay as they are."""
    lists = {"balances": value["balances"], "reversed": value["reversed"]}
    tables = {game: sorted(states, key=_encoder.encode) for game, states in value["open_tables"].items()}
    return {**value, **{name: sorted(items) for name, items in lists.items()}, "open_tables": tables}
