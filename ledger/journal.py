"""The journals in PostgreSQL: appending by compare-and-swap, and reading. The only SQL of this package.

Source: design/DESIGN.md, decisions 1, 3, 4 and 10.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

import msgspec
import psycopg
from msgspec import Struct
from psycopg.pq import TransactionStatus
from psycopg.rows import class_row

from ledger import chain, snapshot, sql
from ledger.append import Appender, Part
from ledger.arrays import Byteas, Instants, Int8s, Texts, columns
from ledger.book import READER, Applied, Book, OpenTable, table_history
from ledger.database import Connection, Database
from ledger.errors import Damaged, ProjectionHalted, UnknownLarp
from ledger.games.table import UncoversValues
from ledger.messages import Secret
from ledger.recorded import Recorded

SQL = sql.load("ledger.sql", "journal.sql")
CHUNK = 500
"""Rows that are read at a time from a long tail."""


class Projection(Protocol):
    """What is written beside the events, in the same statement: common table expressions over `head`, and arrays."""

    @property
    def name(self) -> str: ...

    @property
    def tables(self) -> tuple[str, ...]:
        """Its own tables in the schema skuggbok."""
        ...

    @property
    def of_tables(self) -> bool:
        """Whether it is made of what happens at game tables alone: a batch of nothing but money passes it by."""
        ...

    @property
    def statement(self) -> str: ...

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]: ...


class Once(Struct, frozen=True):
    """An idempotency key: whose it is, and keyed hashes of the key and of what was said with it."""

    token: str
    key_hash: bytes
    said_hash: bytes


class Kept(Struct, frozen=True):
    """What came of a command that was sent with a key: the events from `first` to `last`.

    `ends`: of commands that were carried out together, the last position of each.
    """

    once: Once
    first: int
    last: int
    ends: tuple[int, ...] = ()


class Batch(Struct, frozen=True):
    """What one append writes: the Book's head before it, and everything that follows from there.

    `secrets`: each with the position of the event that sealed it.
    """

    expected: int
    expected_hash: bytes
    applied: Sequence[Applied]
    secrets: Sequence[tuple[int, Secret]] = ()
    receipts: Sequence[Kept] = ()


class KeyUsed(Exception):
    """An idempotency key of a batch was used before. Nothing of the batch was written."""


def may_be_recorded(error: Exception) -> bool:
    """Whether an append that failed so may be committed all the same: the server did not say that it refused it."""
    return isinstance(error, psycopg.OperationalError) or (isinstance(error, psycopg.Error) and error.sqlstate is None)


class Journal:
    """The journal of one LARP. `larp` is its number in the database."""

    def __init__(self, journals: "Journals", slug: str, larp: int) -> None:
        self._journals = journals
        self.slug = slug
        self.larp = larp
        self.kept_at = 0
        """The position of the snapshot that the last `load` began from, 0 if there was none."""

    @property
    def _key(self) -> dict[str, Any]:
        return {"larp": self.larp}

    async def append(self, connection: Connection, batch: Batch) -> bool:
        """Write the batch, durably, or nothing: False if the head is not where the batch expects it.

        Raises KeyUsed, and ProjectionHalted if a projection cannot apply it.
        """
        values = _values(batch) | self._key | {"notice": self.slug}
        at_tables = any(applied.game is not None for applied in batch.applied)
        concerned = (each for each in self._journals.projections if at_tables or not each.of_tables)
        projected = (Part(each.statement, each.parameters(batch.applied)) for each in concerned)
        try:
            return await self._journals.appender.run(connection, [*_own_parts(batch), *projected], values)
        except psycopg.IntegrityError as error:
            if error.diag.constraint_name == "receipt_pkey":
                raise KeyUsed from error
            await self._note_halt(connection, batch, error)
            raise

    async def _note_halt(self, connection: Connection, batch: Batch, error: psycopg.IntegrityError) -> None:
        """Raises ProjectionHalted if it is a projection that cannot apply the batch, and lets all processes know."""
        halted = [each for each in self._journals.projections if error.diag.table_name in each.tables]
        if not halted:
            return
        position, reason = batch.applied[0].recorded.position, error.diag.message_primary or type(error).__name__
        if connection.info.transaction_status == TransactionStatus.IDLE:  # else the transaction takes no more
            values = {"name": halted[0].name, "position": position, "reason": reason}
            await connection.execute(SQL["halted"], self._key | values)
        raise ProjectionHalted(halted[0].name, position, reason) from error

    async def is_head(self, connection: Connection, position: int) -> bool:
        cursor = await connection.execute(SQL["head"], {"slug": self.slug})
        row = await cursor.fetchone()
        return row is not None and row[1] == position

    @asynccontextmanager
    async def locked(self, connection: Connection) -> AsyncIterator[None]:
        """A transaction in which nobody else appends: whoever lost a race takes its turn for certain."""
        async with connection.transaction():
            await connection.execute(SQL["head_locked"], self._key)
            yield

    async def load(self, connection: Connection) -> Book:
        """The Book as of the head: the newest snapshot and the tail. Raises Damaged."""
        async with _unchanging(connection):
            book = await self._from_snapshot(connection) or Book(self.slug)
            self.kept_at = book.position
            async for _ in self.catch_up(connection, book):
                pass
        return book

    async def _from_snapshot(self, connection: Connection) -> Book | None:
        cursor = await connection.execute(SQL["snapshot"], self._key | {"shape": snapshot.shape()}, binary=True)
        row = await cursor.fetchone()
        if row is None:
            return None
        try:
            book = snapshot.restore(self.slug, row[0])
        except msgspec.MsgspecError:
            return None  # it is disposable: the journal is folded instead
        tables = [name for name, table in book.tables.items() if isinstance(table, OpenTable)]
        book.keep(await self._secrets(connection, "secrets_of_tables", tables=tables))
        return book

    async def catch_up(self, connection: Connection, book: Book) -> AsyncIterator[Applied]:
        """Apply what the journal has and the Book has not, checking the chain. Raises Damaged."""
        after = book.position
        async with connection.cursor(binary=True) as cursor:
            async for position, body, hash_ in cursor.stream(SQL["tail"], self._key | {"after": after}, size=CHUNK):
                if chain.link(self.slug, position, book.hash, body) != hash_:
                    raise Damaged(f"position {position} of {self.slug} does not follow the event before it")
                yield book.apply(READER.read(position, body, hash_))
        book.keep(await self._secrets(connection, "secrets", after=after))

    async def _secrets(self, connection: Connection, query: str, **parameters: object) -> Iterable[Secret]:
        async with connection.cursor(row_factory=class_row(_StoredSecret), binary=True) as cursor:
            await cursor.execute(SQL[query], self._key | parameters)
            return [stored.secret() for stored in await cursor.fetchall()]

    async def events_at(self, connection: Connection, positions: Sequence[int]) -> Mapping[int, Recorded]:
        """The events at those of the positions that the journal has."""
        events = await self._read(connection, "events_at", {"positions": list(positions)})
        return {event.position: event for event in events}

    async def receipts(self, connection: Connection, asked: Sequence[Once]) -> Mapping[tuple[str, bytes], Kept]:
        """What came of those of the keys that were used before, by token and key."""
        parameters = {
            "tokens": Texts(once.token for once in asked),
            "keys": Byteas(once.key_hash for once in asked),
        }
        cursor = await connection.execute(SQL["receipts"], self._key | parameters, binary=True)
        return {
            (token, key): Kept(Once(token, key, said), first, last, tuple(map(int, ends.split(","))) if ends else ())
            for token, key, said, first, last, ends in await cursor.fetchall()
        }

    async def again(self, connection: Connection, first: int, last: int) -> tuple[Applied, ...]:
        """Events that were recorded before, each with its table as it was then."""
        span = {"first": first, "last": last}
        events = await self._read(connection, "range", span)
        tables = {event.table for event in events}
        table = tables.pop() if len(tables) == 1 else None
        if table is None:  # no table's, or those of commands that were carried out together: nobody asks for a view
            return tuple(Applied(event, (), None, None) for event in events)
        history = await self._read(connection, "of_table", {"table": table, "last": last})
        return tuple(applied for applied in table_history(history) if applied.recorded.position >= first)

    async def _read(self, connection: Connection, query: str, parameters: dict[str, Any]) -> list[Recorded]:
        cursor = await connection.execute(SQL[query], self._key | parameters, binary=True)
        return [READER.read(position, body, hash_) for position, body, hash_ in await cursor.fetchall()]

    async def save_snapshot(self, connection: Connection, position: int, hash_: bytes, book: bytes) -> None:
        values = {"position": position, "hash": hash_, "shape": snapshot.shape(), "book": book}
        await connection.execute(SQL["save_snapshot"], self._key | values)


class Journals:
    """All journals of a database, and the projections that are written with each of their events."""

    def __init__(self, database: Database, projections: Sequence[Projection] = ()) -> None:
        self.database = database
        self.projections = projections
        self._secret_key: bytes | None = None
        self.appender = Appender()

    async def found(self, slug: str) -> None:
        """An empty journal, unless there is one. It is a LARP's from its first event on."""
        async with self.database.connection() as connection:
            await connection.execute(SQL["found"], {"slug": slug, "hash": chain.GENESIS})

    async def secret_key(self) -> bytes:
        """The database's own 32 bytes, for keyed hashes."""
        if self._secret_key is None:
            async with self.database.connection() as connection:
                row = await (await connection.execute(SQL["secret_key"])).fetchone()
            assert row is not None, "a migration makes it"
            self._secret_key = bytes(row[0])
        return self._secret_key

    async def open(self, slug: str) -> Journal:
        """Raises UnknownLarp."""
        async with self.database.connection() as connection:
            cursor = await connection.execute(SQL["head"], {"slug": slug})
            row = await cursor.fetchone()
        if row is None:
            raise UnknownLarp(f"there is no LARP {slug!r}")
        return Journal(self, slug, row[0])


class _StoredSecret(Struct, frozen=True):
    commitment: str
    table: str
    seat: str | None
    what: str
    nonce: str
    value: bytes

    def secret(self) -> Secret:
        value = msgspec.json.decode(self.value)
        return Secret(self.commitment, self.table, self.seat, self.what, self.nonce, value)


@asynccontextmanager
async def _unchanging(connection: Connection) -> AsyncIterator[None]:
    """A transaction that sees one state of the database: a Book and its secrets are of the same moment."""
    async with connection.transaction():
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


def _values(batch: Batch) -> dict[str, Any]:
    """What every append has: where the head was and will be, and the events."""
    events = [applied.recorded for applied in batch.applied]
    return {
        "expected": batch.expected,
        "expected_hash": batch.expected_hash,
        "position": events[-1].position,
        "hash": events[-1].hash,
        **columns(
            [
                (e.position, e.recorded_at, e.at, e.type, e.table, e.event.character_concerned, e.hash, e.body)
                for e in events
            ],
            event_position=Int8s,
            event_recorded_at=Instants,
            event_at=Instants,
            event_type=Texts,
            event_table=Texts,
            event_character=Texts,
            event_hash=Byteas,
            event_body=Byteas,
        ),
    }


def _own_parts(batch: Batch) -> Iterable[Part]:
    """What is hidden, what is uncovered, and receipts."""
    uncovered = {
        shown.commitment: (applied.recorded.table, applied.recorded.position)
        for applied in batch.applied
        if isinstance(applied.recorded.event, UncoversValues)
        for shown in applied.recorded.event.uncovered
    }
    if batch.secrets:
        # What is sealed and uncovered within one batch is inserted as uncovered: the statement sees each row once.
        yield _hidden([(at, secret, uncovered.pop(secret.commitment, (None, 0))[1]) for at, secret in batch.secrets])
    if uncovered:
        rows = [(table, commitment, position) for commitment, (table, position) in uncovered.items()]
        yield Part(
            SQL["append_uncovered"],
            columns(rows, uncovered_table=Texts, uncovered_commitment=Texts, uncovered_position=Int8s),
        )
    if batch.receipts:
        yield _receipts(batch.receipts)


def _hidden(secrets: Sequence[tuple[int, Secret, int]]) -> Part:
    """Secrets between the positions that sealed and that uncovered them, 0 for none."""
    return Part(
        SQL["append_secret"],
        columns(
            [
                (s.table, s.commitment, s.seat, s.what, s.nonce, msgspec.json.encode(s.value), sealed, uncovered)
                for sealed, s, uncovered in secrets
            ],
            secret_table=Texts,
            secret_commitment=Texts,
            secret_seat=Texts,
            secret_what=Texts,
            secret_nonce=Texts,
            secret_value=Byteas,
            secret_position=Int8s,
            secret_uncovered=Int8s,
        ),
    )


def _receipts(receipts: Sequence[Kept]) -> Part:
    return Part(
        SQL["append_receipt"],
        columns(
            [
                (r.once.token, r.once.key_hash, r.once.said_hash, r.first, r.last, ",".join(map(str, r.ends)) or None)
                for r in receipts
            ],
            receipt_token=Texts,
            receipt_key=Byteas,
            receipt_said=Byteas,
            receipt_first=Int8s,
            receipt_last=Int8s,
            receipt_ends=Texts,
        ),
    )
