"""Golden journals as files: the stored bytes of each event between its position and its hash."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ledger.book import READER, Applied, Book

FOLDER = Path(__file__).parent
_LINE = re.compile(rb'\{"position":(\d+),(.*),"hash":"([0-9a-f]{64})"\}')

Json = Any


class Line(Struct, frozen=True):
    """An event: its place, its bytes and its hash."""

    position: int
    body: bytes
    hash: bytes


def names() -> Sequence[str]:
    """Every journal that is kept."""
    return sorted(
        file.name.removesuffix(".ndjson") for file in FOLDER.glob("*.ndjson") if not file.name.endswith(".views.ndjson")
    )


def journal(file: Path) -> Sequence[Line]:
    return [_line(text) for text in file.read_bytes().splitlines()]


def _line(text: bytes) -> Line:
    found = _LINE.fullmatch(text)
    assert found, f"no event as the API shows it: {text[:80]!r}"
    return Line(int(found[1]), b"{" + found[2] + b"}", bytes.fromhex(found[3].decode()))


def views(name: str) -> Mapping[str, Json]:
    """The view of each table after its last event, as it is kept."""
    lines = (FOLDER / f"{name}.views.ndjson").read_bytes().splitlines()
    return {view["table"]: view for view in map(msgspec.json.decode, lines)}


def folded(lines: Sequence[Line]) -> tuple[Book, Sequence[Applied]]:
    """The LARP that follows from the events. Its name is in the first one."""
    book = Book(msgspec.json.decode(lines[0].body)["data"]["larp"])
    return book, [book.apply(READER.read(line.position, line.body, line.hash)) for line in lines]


def last_views(applied: Sequence[Applied]) -> Mapping[str, bytes]:
    """The view of each table after its last event, as JSON."""
    last = {each.recorded.table: each for each in applied if each.recorded.table is not None}
    return {table: msgspec.json.encode(each.view()) for table, each in last.items()}
