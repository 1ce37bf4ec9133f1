"""The journal only grows: by privilege, by trigger, and by compare-and-swap; and a start does not read all of it."""

import asyncio
from datetime import UTC, datetime

import psycopg
import pytest

from ledger import arrays, chain, purses, snapshot, writer
from ledger.append import composed
from ledger.database import Database
from ledger.errors import Damaged
from ledger.journal import Batch, Journals
from ledger.messages import Actor
from ledger.writer import Writers
from projections.runner import PROJECTIONS
from tests.ledger.test_writer import ACTOR, founded, rows, transfer


async def test_the_service_may_not_change_or_delete_an_event(writers: Writers, database: Database) -> None:
    """Append-only is a privilege (message-db: privileges/table.sql)."""
    await founded(writers)
    async with database.connection() as connection:
        for statement in (
            "UPDATE skuggbok.event SET body = body",
            "DELETE FROM skuggbok.event",
            "TRUNCATE skuggbok.event",
            "DELETE FROM skuggbok.head",
            "UPDATE skuggbok.secret SET value = ''",
            "DROP TABLE skuggbok.event",
            "ALTER TABLE skuggbok.event DISABLE TRIGGER ALL",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await connection.execute(statement.encode())


async def test_not_even_the_owner_changes_an_event_by_mistake(writers: Writers, database_url: str) -> None:
    await founded(writers)
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        for statement in (
            "UPDATE skuggbok.event SET body = body",
            "DELETE FROM skuggbok.event",
            "TRUNCATE skuggbok.event CASCADE",
        ):
            with pytest.raises(psycopg.IntegrityError, match="append-only"):
                await connection.execute(statement.encode())


async def test_the_chain_is_over_the_stored_bytes(writers: Writers, database_url: str) -> None:
    await founded(writers)
    previous = chain.GENESIS
    stored = await rows(database_url, "SELECT position, body, hash FROM skuggbok.event ORDER BY position")
    for position, body, hash_ in stored:
        assert isinstance(position, int)
        assert isinstance(body, bytes)
        previous = chain.link("north", position, previous, body)
        assert previous == hash_
    assert await rows(database_url, "SELECT position, hash FROM skuggbok.head") == [(len(stored), previous)]


async def test_an_append_that_expects_another_head_writes_nothing(
    writers: Writers, journals: Journals, database_url: str
) -> None:
    await founded(writers)
    journal = await journals.open("north")
    receipt = await writers.submit("north", transfer(), ACTOR)
    before = await rows(database_url, "SELECT * FROM skuggbok.entry ORDER BY position, line")
    async with journals.database.connection() as connection:
        assert not await journal.append(connection, Batch(6, chain.GENESIS, receipt.applied, []))
        assert not await journal.append(connection, Batch(5, receipt.applied[0].recorded.hash, receipt.applied, []))
    assert await rows(database_url, "SELECT * FROM skuggbok.entry ORDER BY position, line") == before
    assert await rows(database_url, "SELECT position FROM skuggbok.head") == [(7,)]


async def test_a_book_is_loaded_from_a_snapshot_and_the_tail(
    journals: Journals, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "SNAPSHOT_EVERY", 5)
    first = Writers(journals)
    await founded(first)
    for _ in range(20):
        await first.submit("north", transfer(), ACTOR)
    await first.close()
    ((kept,),) = await rows(database_url, "SELECT position FROM skuggbok.snapshot")
    assert isinstance(kept, int)
    assert kept >= 20
    journal = await journals.open("north")
    async with journals.database.connection() as connection:
        book = await journal.load(connection)
    assert (book.position, book.balance("purse/c0", "krona")) == (26, 80)
    assert snapshot.take(book) == snapshot.take(snapshot.restore("north", snapshot.take(book)))


async def test_a_long_tail_is_folded_once(
    journals: Journals, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever had to fold a long journal keeps the Book after the first batch."""
    first = Writers(journals)
    await founded(first)
    await first.close()
    assert await rows(database_url, "SELECT * FROM skuggbok.snapshot") == []
    monkeypatch.setattr(writer, "SNAPSHOT_EVERY", 5)
    second = Writers(journals)
    await second.submit("north", transfer(), ACTOR)
    await second.close()
    assert await rows(database_url, "SELECT position FROM skuggbok.snapshot") == [(7,)]


async def test_a_snapshot_of_another_shape_or_journal_is_not_read(
    journals: Journals, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Disposable: a start without it only takes longer."""
    monkeypatch.setattr(writer, "SNAPSHOT_EVERY", 5)
    first = Writers(journals)
    await founded(first)
    await first.close()
    journal = await journals.open("north")
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        for damage in ("shape = 'old'", "hash = sha256('x')", "book = 'no snapshot'"):
            await owner.execute(f"UPDATE skuggbok.snapshot SET {damage}".encode())
            async with journals.database.connection() as connection:
                book = await journal.load(connection)
            assert (book.position, book.balance("purse/c0", "krona")) == (6, 100)


async def test_a_journal_that_does_not_follow_is_not_worked_on(
    writers: Writers, journals: Journals, database_url: str
) -> None:
    await founded(writers)
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute("SET session_replication_role = replica")
        await owner.execute("UPDATE skuggbok.event SET body = convert_to('{}', 'UTF8') WHERE position = 3")
    journal = await journals.open("north")
    async with journals.database.connection() as connection:
        with pytest.raises(Damaged, match="position 3"):
            await journal.load(connection)


async def test_larps_do_not_see_each_other(writers: Writers, database_url: str) -> None:
    """Two LARPs use the same names; each has its own positions, money and hashes."""
    await founded(writers, "north")
    await founded(writers, "south", krona=7)
    await writers.submit("south", transfer(3), ACTOR)
    found = await rows(
        database_url,
        "SELECT slug, account, balance FROM skuggbok.balance JOIN skuggbok.larp USING (larp)"
        " WHERE account = 'purse/c0' ORDER BY slug",
    )
    assert found == [("north", "purse/c0", 100), ("south", "purse/c0", 4)]
    assert await rows(database_url, "SELECT count(DISTINCT hash) FROM skuggbok.event") == [(13,)]


def test_one_statement_writes_a_batch() -> None:
    """However many projections there are, an append is one statement; each parameter has its number."""
    statement, names = composed([projection.statement for projection in PROJECTIONS])
    text = statement.decode()
    assert text.count("UPDATE skuggbok.head") == 1
    assert ";" not in text
    assert "%(" not in text
    assert len(names) == len(set(names))
    assert f"${len(names)}" in text


def test_the_arrays_are_postgresqls_own(database_url: str) -> None:
    """What goes in as an array comes out of unnest as it was."""

    async def there_and_back() -> list[tuple[object, ...]]:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            arrays.register(connection)
            cursor = await connection.execute(
                "SELECT * FROM unnest(%b, %b, %b, %b)",
                (
                    arrays.Int8s([1, -(2**53), 2**62]),
                    arrays.Texts(["a", None, "å"]),
                    arrays.Byteas([b"", b"\0", b"x" * 300]),
                    arrays.Instants(
                        [
                            datetime(1, 1, 2, tzinfo=UTC),
                            datetime(2026, 1, 1, 1, 2, 3, 4, tzinfo=UTC),
                            datetime(9999, 12, 31, tzinfo=UTC),
                        ]
                    ),
                ),
            )
            empty = await connection.execute("SELECT * FROM unnest(%b, %b)", (arrays.Int8s(), arrays.Texts()))
            assert await empty.fetchall() == []
            return await cursor.fetchall()

    assert asyncio.run(there_and_back()) == [
        (1, "a", b"", datetime(1, 1, 2, tzinfo=UTC)),
        (-(2**53), None, b"\0", datetime(2026, 1, 1, 1, 2, 3, 4, tzinfo=UTC)),
        (2**62, "å", b"x" * 300, datetime(9999, 12, 31, tzinfo=UTC)),
    ]


async def test_who_acted_is_recorded(writers: Writers, database_url: str) -> None:
    await founded(writers)
    actor = Actor(role="player", token="tok_1", character="c0")
    receipt = await writers.submit("north", transfer(), actor)
    body = receipt.applied[0].recorded.body
    assert b'"actor":{"role":"player","token":"tok_1","character":"c0"}' in body
    assert purses.Transferred.TYPE == "purse.transferred.v1"
