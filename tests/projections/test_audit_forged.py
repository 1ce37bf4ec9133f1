"""Somebody who can change everything writes events of their own, with the right hashes, and moves the head.

The chain cannot show that, only a checkpoint can; but what such events say breaks the rules of the ledger.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from ledger import purses
from ledger.book import READER, Book, OpenTable
from ledger.database import Database
from ledger.games.skuggkast.messages import ClaimJudged, Rolled
from ledger.games.table import TableClosed, TableVoided
from ledger.journal import Journals
from ledger.messages import Draft, Posting, Sealed, Uncovered
from ledger.recorded import record
from ledger.sealing import commitment
from ledger.writer import Writers
from projections.audit import audit
from tests.projections.support import ACTOR, play, template_with

LATE = datetime(2999, 1, 1, tzinfo=UTC)


@pytest.fixture
def superuser(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        yield connection


@pytest.fixture(scope="session")
def template(server: str) -> str:
    """An evening that goes on: open tables of Skuggkast and Schocken."""

    async def begin(writers: Writers) -> None:
        await play(writers, "north", ["schocken-void", "skuggkast-void"], void=False)

    return template_with(server, "skuggbok_template_tables", begin)


@pytest.fixture
async def book(journals: Journals, database: Database) -> Book:
    async with database.connection() as connection:
        return await (await journals.open("north")).load(connection)


def forge(superuser: psycopg.Connection, book: Book, draft: Draft, recorded_at: datetime = LATE) -> int:
    """Record an event as the service would, deciding nothing. Its position."""
    forged = record(
        draft,
        larp=book.larp,
        position=book.position + 1,
        previous=book.hash,
        id="forged",
        at=recorded_at,
        recorded_at=recorded_at,
        actor=ACTOR,
    )
    superuser.execute(
        "INSERT INTO skuggbok.event VALUES (1, %s, %s, %s, %s, %s, %s, %s, %s)",
        (
            forged.position,
            forged.recorded_at,
            forged.at,
            forged.type,
            forged.table,
            forged.event.character_concerned,
            forged.hash,
            forged.body,
        ),
    )
    superuser.execute("UPDATE skuggbok.head SET position = %s, hash = %s", (forged.position, forged.hash))
    book.position, book.hash = forged.position, forged.hash
    return forged.position


async def found(database: Database) -> set[tuple[str, int]]:
    async with database.connection() as connection:
        result = await audit(connection, "north")
    return {(finding.check, finding.position) for check in result.checks for finding in check.findings}


def table_of(book: Book, game: str) -> Any:
    return next(t.state for _, t in book.tables.items() if isinstance(t, OpenTable) and t.game == game)


async def test_the_evening_itself_is_well(book: Book, database: Database) -> None:
    assert await found(database) == set()


async def test_more_than_there_is(book: Book, database: Database, superuser: psycopg.Connection) -> None:
    character, _ = next(iter(book.characters.items()))
    theft = Posting(f"purse/{character}", "burnt", "krona", 10**9)
    position = forge(superuser, book, Draft(purses.Transferred(memo=None), (theft,)))
    assert {("no_account_below_zero", position), ("entries", position)} <= await found(database)


async def test_a_table_that_is_closed_on_its_pot(book: Book, database: Database, superuser: psycopg.Connection) -> None:
    table = table_of(book, "skuggkast")
    assert table.pot, "there is something in it"
    closed = TableClosed(how="won", winner=table.seats[0])
    position = forge(superuser, book, Draft(closed, table=table.table))
    assert ("closed_tables_empty", position) in await found(database)


async def test_a_lid_that_vanishes(book: Book, database: Database, superuser: psycopg.Connection) -> None:
    """Nobody's purse is touched, so the sums still add up to nothing."""
    table = table_of(book, "schocken")
    account = next(account for account, held in table.held.items() if held.get("lid"))
    query = "SELECT body FROM skuggbok.event WHERE table_ = %s AND type = 'schocken.thrown' ORDER BY position DESC"
    (body,) = superuser.execute(query, (table.table,)).fetchone() or (b"",)
    thrown = READER.read(book.position + 1, body, b"").event
    position = forge(superuser, book, Draft(thrown, (Posting(account, "mint", "lid", 1),), table.table))
    assert ("lids_complete", position) in await found(database)


async def test_dice_that_were_not_under_the_cup(book: Book, database: Database, superuser: psycopg.Connection) -> None:
    """Another value under the commitment of a cup, and one that nobody ever committed to."""
    table = table_of(book, "skuggkast")
    seat = table.seats[0]
    nonce = bytes(32)
    sealed = Sealed(commitment=commitment(nonce, "star"), seat=seat, what="cup")
    forge(superuser, book, Draft(Rolled(seat=seat, sealed=(sealed,)), table=table.table))
    for shown in (
        Uncovered(commitment=sealed.commitment, nonce=nonce.hex(), value="moon"),
        Uncovered(commitment=sealed.commitment, nonce="no hex digits", value="star"),
        Uncovered(commitment=commitment(nonce, "moon"), nonce=nonce.hex(), value="moon"),
    ):
        judged = ClaimJudged(
            uncovered=(shown,),
            seat=seat,
            challenger=None,
            dice=None,
            verdict="lie",
            misses_turn=False,
            falls_out=False,
            burnt=0,
        )
        position = forge(superuser, book, Draft(judged, table=table.table))
        assert ("commitments", position) in await found(database)


async def test_time_that_runs_backwards(book: Book, database: Database, superuser: psycopg.Connection) -> None:
    assert book.recorded_at is not None
    earlier = book.recorded_at - timedelta(seconds=1)
    granted = Draft(purses.Granted(memo=None), (Posting("mint", "purse/alva", "krona", 1),))
    position = forge(superuser, book, granted, earlier)
    assert ("envelope", position) in await found(database)


async def test_what_happens_at_a_table_that_there_is_not(
    book: Book, database: Database, superuser: psycopg.Connection
) -> None:
    position = forge(superuser, book, Draft(TableVoided(reason="x"), table="nowhere"))
    assert ("fold", position) in await found(database)


async def test_what_no_projection_can_take(book: Book, database: Database, superuser: psycopg.Connection) -> None:
    """An asset that is defined twice folds, but a directory has it once."""
    defined = purses.AssetDefined(asset="krona", kind="token", name="Twice")
    position = forge(superuser, book, Draft(defined))
    findings = await found(database)
    assert ("directory", position) in findings
    assert ("entries", position) in findings, "what comes after is not known to be well"
