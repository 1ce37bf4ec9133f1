"""Arrays as parameters of one statement for a whole batch, in PostgreSQL's binary format.

Each class has one fixed type, whatever is in it: an empty batch and a full one run the same prepared statement.
"""

import functools
import struct
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from itertools import chain, repeat
from typing import Any

import psycopg
from psycopg import pq
from psycopg.adapt import Dumper

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = 10**6


class Int8s(list[int]):
    """bigint[]"""


class Texts(list[str | None]):
    """text[]"""


class Byteas(list[bytes]):
    """bytea[]"""


class Instants(list[datetime]):
    """timestamptz[]"""


Array = Int8s | Texts | Byteas | Instants


def columns(rows: Collection[Sequence[Any]], **kinds: type[Array]) -> dict[str, Array]:
    """The columns of some rows as arrays, by name; all empty if there are no rows."""
    if not rows:
        return {name: kind() for name, kind in kinds.items()}
    return {name: kind(column) for (name, kind), column in zip(kinds.items(), zip(*rows, strict=True), strict=True)}


_HEADER = struct.Struct("!iiIii")
_NULL = b"\xff\xff\xff\xff"


def _header(count: int, oid: int, *, has_null: bool = False) -> bytes:
    """One dimension of `count` elements, counted from 1; no dimension for an empty array."""
    return _HEADER.pack(1, int(has_null), oid, count, 1) if count else _HEADER.pack(0, 0, oid, 0, 0)[:12]


class _Int8sDumper(Dumper):
    format = pq.Format.BINARY
    oid = psycopg.adapters.types["int8"].array_oid
    _item = psycopg.adapters.types["int8"].oid

    def dump(self, obj: list[int]) -> bytes:
        if not obj:
            return _header(0, self._item)
        count, lengths_and_values = len(obj), chain.from_iterable(zip(repeat(8), obj, strict=False))
        packing = _packing_of_few(count) if count <= FEW else _packing(count)
        return packing.pack(1, 0, self._item, count, 1, *lengths_and_values)


FEW = 64


def _packing(count: int) -> struct.Struct:
    """A header, and so many numbers with their lengths."""
    return struct.Struct("!iiIii" + "iq" * count)


_packing_of_few = functools.lru_cache(maxsize=FEW)(_packing)


class _InstantsDumper(_Int8sDumper):
    oid = psycopg.adapters.types["timestamptz"].array_oid
    _item = psycopg.adapters.types["timestamptz"].oid

    def dump(self, obj: list[datetime]) -> bytes:  # type: ignore[override]  # it dumps what the numbers stand for
        return super().dump([_since_epoch(value) for value in obj])


def _since_epoch(value: datetime) -> int:
    since = value - _EPOCH
    return (since.days * 86400 + since.seconds) * _MICROSECOND + since.microseconds


class _TextsDumper(Dumper):
    format = pq.Format.BINARY
    oid = psycopg.adapters.types["text"].array_oid
    _item = psycopg.adapters.types["text"].oid

    def dump(self, obj: list[str | None]) -> bytes:
        return _header(len(obj), self._item, has_null=None in obj) + b"".join(map(_text, obj))


@functools.lru_cache(maxsize=50_000)
def _text(value: str | None) -> bytes:
    """With its length. Accounts, assets and types come again and again."""
    if value is None:
        return _NULL
    data = value.encode()
    return len(data).to_bytes(4, "big") + data


class _ByteasDumper(Dumper):
    format = pq.Format.BINARY
    oid = psycopg.adapters.types["bytea"].array_oid
    _item = psycopg.adapters.types["bytea"].oid

    def dump(self, obj: list[bytes]) -> bytes:
        parts = [_header(len(obj), self._item)]
        for value in obj:
            parts += (len(value).to_bytes(4, "big"), value)
        return b"".join(parts)


def register(connection: psycopg.AsyncConnection[Any]) -> None:
    """Let a connection take these arrays (placeholders %b, or $n of a raw cursor)."""
    connection.adapters.register_dumper(Int8s, _Int8sDumper)
    connection.adapters.register_dumper(Texts, _TextsDumper)
    connection.adapters.register_dumper(Byteas, _ByteasDumper)
    connection.adapters.register_dumper(Instants, _InstantsDumper)
