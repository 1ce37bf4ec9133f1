"""Imports: a journal.ndjson becomes a LARP again, with the same hashes and the same projections, or nothing at all.

Every line is verified while it is read, by the same checks as the audit's. One transaction holds it all: half a LARP
is never seen, and an import that was interrupted is simply begun again.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec import Struct

from ledger import chain, snapshot
from ledger.book import READER, Applied, Book, OpenTable
from ledger.database import Connection
from ledger.errors import AlreadyExists, Damaged, SkuggbokError
from ledger.games.table import UncoversValues
from ledger.journal import SQL, Batch, Journal, Journals
from ledger.messages import Sealed, Secret
from ledger.recorded import Recorded
from ledger.verify import StoredEvent, Verifier
from projections import tree
from projections.exports import NDJSON_FORMAT, Header
from projections.in_flight import InFlight
from projections.tree import SQL as TREE

BATCH = 2_000
"""Events that are written in one statement, while the next are verified."""
BREATH = 50
"""Events after which the database connection has a turn."""

_header = msgspec.json.Decoder(Header)


class NotImported(SkuggbokError):
    """The file is no complete, undamaged export; the message says where. Nothing was imported."""


class Imported(Struct, frozen=True):
    """`hiding`: open tables that hide values which no export holds; they can be voided, and little else."""

    larp: str
    position: int
    hiding: tuple[str, ...]


async def import_journal(
    connection: Connection,
    journals: Journals,
    lines: Iterable[bytes],
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Imported:
    """Raises NotImported, and AlreadyExists for a LARP that is there."""
    reading = iter(lines)
    header = _read_header(next(reading, b""))
    verifier, hidden = Verifier(header.larp), _Hidden()
    async with connection.transaction():
        journal = await _empty_journal(connection, journals, header.larp)
        batch, secrets = list[Applied](), list[tuple[int, Secret]]()
        begin, previous = 0, chain.GENESIS
        async with InFlight[None]() as writing:
            for applied in _verified(verifier, reading):
                secrets += hidden.see(applied)
                batch.append(applied)
                if len(batch) == BATCH:
                    await writing.settle()
                    writing.begin(_append(connection, journal, Batch(begin, previous, batch, secrets)))
                    begin, previous = batch[-1].recorded.position, batch[-1].recorded.hash
                    batch, secrets = [], []
                    progress(begin, header.position)
                elif len(batch) % BREATH == 0:
                    await asyncio.sleep(0)
        if batch:
            await _append(connection, journal, Batch(begin, previous, batch, secrets))
        for finding in verifier.end(header.position, bytes.fromhex(header.hash)):
            raise NotImported(f"the file is not whole: {finding.detail}")
        await connection.execute(TREE["imported"], {"larp": journal.larp, "position": header.position})
        await tree.fill(connection, journal.larp, header.position)
        book = verifier.book  # kept, so that the first request does not fold the whole journal
        await journal.save_snapshot(connection, book.position, book.hash, snapshot.take(book))
    progress(header.position, header.position)
    return Imported(header.larp, header.position, hidden.at_open_tables(verifier.book))


def _read_header(line: bytes) -> Header:
    try:
        header = _header.decode(line)
        bytes.fromhex(header.hash)
    except (msgspec.MsgspecError, ValueError):
        raise NotImported("the first line is not that of a journal.ndjson of Skuggbok") from None
    if header.format != NDJSON_FORMAT or header.position < 1:
        raise NotImported(f"the file has format {header.format!r}, {NDJSON_FORMAT} can be read")
    return header


async def _empty_journal(connection: Connection, journals: Journals, larp: str) -> Journal:
    """A journal to fill. Nobody else can begin one of this name meanwhile."""
    await connection.execute(SQL["found"], {"slug": larp, "hash": chain.GENESIS})
    row = await (await connection.execute(SQL["head"], {"slug": larp})).fetchone()
    assert row is not None, "it was founded just now or before"
    number, position, _ = row
    if position:
        raise AlreadyExists(f"there is a LARP {larp!r} already, with {position} events; nothing was imported")
    return Journal(journals, larp, number)


async def _append(connection: Connection, journal: Journal, batch: Batch) -> None:
    if not await journal.append(connection, batch):
        raise NotImported("somebody else writes to this LARP; nothing was imported")


def _verified(verifier: Verifier, lines: Iterator[bytes]) -> Iterator[Applied]:
    """Events as they are folded. Raises NotImported at the first that is not as it must be."""
    for number, line in enumerate(lines, start=1):
        try:
            row, recorded = _stored(number, line)
        except Damaged as error:
            raise NotImported(f"line {number + 1}: {error}") from None
        findings, applied = verifier.see_read(row, recorded)
        for finding in findings:
            raise NotImported(f"position {finding.position}: {finding.detail} ({finding.check})")
        assert applied is not None, "what has no finding was folded"
        yield applied


def _stored(position: int, line: bytes) -> tuple[StoredEvent, Recorded]:
    """The line taken apart again into what is stored, and the event that it is. Raises Damaged."""
    before, after = b'{"position":%d,' % position, b',"hash":"'
    body, found, hash_ = line.rstrip(b"\r\n").rpartition(after)
    if not found or not body.startswith(before) or hash_[64:] != b'"}':
        raise Damaged(f"this is not the event at position {position}, between its position and its hash")
    try:
        digest = bytes.fromhex(hash_[:64].decode())
    except ValueError:
        raise Damaged("the hash is not one") from None
    stored = b"{" + body[len(before) :] + b"}"
    said = READER.read(position, stored, digest)
    columns = (said.type, said.table, said.event.character_concerned, said.at, said.recorded_at)
    return StoredEvent(position, stored, digest, *columns), said


class _Hidden:
    """What was sealed and not uncovered so far, by commitment."""

    def __init__(self) -> None:
        self._sealed: dict[str, tuple[int, str, Sealed]] = {}

    def see(self, applied: Applied) -> Iterable[tuple[int, Secret]]:
        """The secrets that this event uncovers, as they were sealed: those can be kept again."""
        event, recorded = applied.recorded.event, applied.recorded
        for sealed in getattr(event, "sealed", ()):
            self._sealed[sealed.commitment] = (recorded.position, str(recorded.table), sealed)
        if isinstance(event, UncoversValues):
            for shown in event.uncovered:
                position, table, sealed = self._sealed.pop(shown.commitment)
                yield position, Secret(shown.commitment, table, sealed.seat, sealed.what, shown.nonce, shown.value)

    def at_open_tables(self, book: Book) -> tuple[str, ...]:
        tables = {table for _, table, _ in self._sealed.values()}
        return tuple(sorted(table for table in tables if isinstance(book.tables.get(table), OpenTable)))
