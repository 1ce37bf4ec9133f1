"""Exports: a journal as text, event by event, so that no export needs more memory than a page of it.

A journal only grows, so pages read one after the other up to a head that was looked up once are what one long
transaction would have seen; no connection is held while a slow reader reads.
"""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Protocol

import msgspec
from msgspec import Raw, Struct

from ledger.database import Database
from ledger.errors import Damaged, UnknownLarp
from ledger.recorded import Envelope, event_json
from projections import queries
from projections.plain_text import Beancount, Hledger
from projections.queries import SQL, StatementRow

NDJSON_FORMAT = "skuggbok.journal.v1"
PAGE = 2_000
"""Events that are read at a time: some milliseconds of work between two looks at other requests."""

_decoder = msgspec.json.Decoder(Envelope[Raw])
_encoder = msgspec.json.Encoder()


class Header(Struct, frozen=True):
    """The first line of a journal.ndjson: whose it is, and where it ends."""

    format: str
    larp: str
    position: int
    hash: str


class StoredRow(Struct, frozen=True):
    """An event as it is stored."""

    position: int
    body: bytes
    hash: bytes

    def envelope(self) -> Envelope[Raw]:
        """Raises Damaged."""
        try:
            return _decoder.decode(self.body)
        except msgspec.MsgspecError as error:
            raise Damaged(f"position {self.position}: the stored body cannot be read: {error}") from None


class Format(Protocol):
    """How a journal is written down. One object per export: it may remember what it has written."""

    def begin(self, header: Header) -> bytes: ...

    def event(self, row: StoredRow) -> bytes: ...


class Ndjson:
    """The stored bytes of each event between its position and its hash: complete, and to be verified by anybody."""

    def begin(self, header: Header) -> bytes:
        return _encoder.encode(header) + b"\n"

    def event(self, row: StoredRow) -> bytes:
        return event_json(row.position, row.body, row.hash) + b"\n"


class Csv:
    """One line a posting, for spreadsheets; an event that moves nothing has one line without."""

    COLUMNS = (
        *("position", "line", "recorded_at", "at", "type", "version", "table", "role", "token", "character"),
        *("from", "to", "asset", "amount", "data", "hash"),
    )

    def begin(self, header: Header) -> bytes:
        return csv_lines([self.COLUMNS]).encode()

    def event(self, row: StoredRow) -> bytes:
        said = row.envelope()
        who = said.actor
        head = (row.position, said.recorded_at.isoformat(), said.at.isoformat(), said.type, said.version, said.table)
        tail = (bytes(said.data).decode(), row.hash.hex())
        moved = [(posting.from_, posting.to, posting.asset, posting.amount) for posting in said.postings]
        return csv_lines(
            (head[0], line, *head[1:], who.role, who.token, who.character, *posting, *tail)
            for line, posting in enumerate(moved or [(None,) * 4])
        ).encode()


class Ledgers:
    """What moves something, for the programs of plain-text accounting."""

    def __init__(self, program: Hledger | Beancount) -> None:
        self._program = program

    def begin(self, header: Header) -> bytes:
        return self._program.begin(header.larp, header.position, header.hash).encode()

    def event(self, row: StoredRow) -> bytes:
        return self._program.transaction(row.position, row.envelope()).encode()


def hledger() -> Format:
    return Ledgers(Hledger())


def beancount() -> Format:
    return Ledgers(Beancount())


async def journal(database: Database, larp: str, format_: Format) -> AsyncIterator[bytes]:
    """The journal up to the head as it is now. Raises UnknownLarp before the first part, Damaged at any."""
    async with database.connection() as connection:
        head = await (await connection.execute(SQL["head"], {"slug": larp}, binary=True)).fetchone()
    if head is None:
        raise UnknownLarp(f"there is no LARP {larp!r}")
    number, position, hash_ = head
    yield format_.begin(Header(NDJSON_FORMAT, larp, position, hash_.hex()))
    after = 0
    while after < position:
        page = {"larp": number, "after": after, "before": position + 1, "limit": PAGE}
        async with database.connection() as connection:
            rows = await (await connection.execute(SQL["events"], page, binary=True)).fetchall()
        if not rows:
            return
        after = rows[-1][0]
        yield b"".join([format_.event(StoredRow(*row)) for row in rows])


async def statement(database: Database, larp: str, character: str) -> AsyncIterator[bytes]:
    """The movements of a purse as CSV, the newest first. Raises UnknownLarp and UnknownCharacter before that."""
    before: tuple[int, int] | None = None
    heading: list[Sequence[object]] = [StatementRow.__struct_fields__]
    while True:
        async with database.connection() as connection:
            rows = await queries.statement(connection, larp, character, before=before, limit=PAGE)
        lines = [[_plain(value) for value in msgspec.structs.astuple(row)] for row in rows]
        yield csv_lines([*heading, *lines]).encode()
        if len(rows) < PAGE:
            return
        heading, before = [], (rows[-1].position, rows[-1].line)


def _plain(value: object) -> object:
    return value.isoformat() if hasattr(value, "isoformat") else value


# ---- CSV ----

_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def csv_lines(rows: Iterable[Sequence[object]]) -> str:
    """RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe; numbers stay numbers."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([_defused(cell) for cell in row] for row in rows)
    return text.getvalue()


def _defused(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
