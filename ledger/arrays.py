"""Arrays as parameters of one statement for a whole batch, in PostgreSQL's binary format.

Each class has one fixed type, whatever is in it: an empty batch and a full one run the same prepared statement.
"""

import struct
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ClassVar

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


def _int8(value: int) -> bytes:
    return struct.pack("!q", value)


def _text(value: str) -> bytes:
    return value.encode()


def _bytea(value: bytes) -> bytes:
    return value


def _instant(value: datetime) -> bytes:
    since = value - _EPOCH
    return struct.pack("!q", (since.days * 86400 + since.seconds) * _MICROSECOND + since.microseconds)


class _ArrayDumper(Dumper):
    """One-dimensional, binary; None is NULL."""

    format = pq.Format.BINARY
    item_oid: ClassVar[int]
    item: ClassVar[Callable[[Any], bytes]]

    def dump(self, obj: list[Any]) -> bytes:
        if not obj:
            return struct.pack("!iiI", 0, 0, self.item_oid)
        parts = [struct.pack("!iiIii", 1, int(None in obj), self.item_oid, len(obj), 1)]
        item = type(self).item
        for value in obj:
            if value is None:
                parts.append(b"\xff\xff\xff\xff")
            else:
                data = item(value)
                parts += (len(data).to_bytes(4, "big"), data)
        return b"".join(parts)


def _dumper(item_name: str, item: Callable[[Any], bytes]) -> type[Dumper]:
    info = psycopg.adapters.types[item_name]
    return type(
        f"{item_name.title()}ArrayDumper",
        (_ArrayDumper,),
        {"oid": info.array_oid, "item_oid": info.oid, "item": staticmethod(item)},
    )


def register(connection: psycopg.AsyncConnection[Any]) -> None:
    """Let a connection take these arrays (placeholders %b)."""
    for of, name, item in ((Int8s, "int8", _int8), (Texts, "text", _text), (Byteas, "bytea", _bytea)):
        connection.adapters.register_dumper(of, _dumper(name, item))
    connection.adapters.register_dumper(Instants, _dumper("timestamptz", _instant))
