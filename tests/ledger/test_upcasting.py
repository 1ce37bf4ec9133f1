"""An event of an old version is read as one of the newest; its bytes and its hash stay what they were."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec
import pytest

from ledger import chain
from ledger.book import EVENTS, READER, Applied, Book
from ledger.database import Database
from ledger.errors import Damaged
from ledger.games.skuggkast.messages import ClaimMade
from ledger.journal import Batch, Journals
from ledger.messages import Event
from ledger.recorded import Reader, Upcaster
from projections import as_of, rebuild
from projections.audit import audit
from projections.runner import PROJECTIONS
from tests.golden.files import FOLDER, Line, folded, journal, last_views, names, views

NAMES = [name for name in names() if name.startswith("skuggkast")]


class ClaimMade2(ClaimMade, frozen=True, kw_only=True):
    """A later version says how loud the claim was."""

    TYPE: ClassVar[str] = "skuggkast.claim_made.v2"
    loudness: int


class ClaimMade3(ClaimMade2, frozen=True, kw_only=True):
    """And a still later one whether it was overheard."""

    TYPE: ClassVar[str] = "skuggkast.claim_made.v3"
    overheard: bool


def to_2(old: ClaimMade) -> Event:
    return ClaimMade2(seat=old.seat, claimed=old.claimed, show=old.show, loudness=9 if old.show else 1)


def to_3(old: ClaimMade2) -> Event:
    return ClaimMade3(**msgspec.structs.asdict(old), overheard=old.loudness > 5)


UPCASTERS = (Upcaster(ClaimMade, to_2), Upcaster(ClaimMade2, to_3))
NEWEST = (*(event for event in EVENTS if event is not ClaimMade), ClaimMade3)


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Reader:
    """The service after two changes of an event, whose first version it never records again."""
    reader = Reader(NEWEST, UPCASTERS)
    for name in ("_decoders", "_upcasters"):
        monkeypatch.setattr(READER, name, getattr(reader, name))
    return reader


def claims(applied: Sequence[Applied]) -> Sequence[Event]:
    return [each.recorded.event for each in applied if isinstance(each.recorded.event, ClaimMade)]


@pytest.mark.parametrize("name", NAMES)
def test_journals_of_the_first_version_hash_and_fold(name: str, newer: Reader) -> None:
    lines = journal(FOLDER / f"{name}.ndjson")
    book, applied = folded(lines)
    previous = chain.GENESIS
    for line, each in zip(lines, applied, strict=True):
        previous = chain.link(book.larp, line.position, previous, line.body)
        assert (each.recorded.body, each.recorded.hash) == (line.body, previous)
    assert {type(event) for event in claims(applied)} == {ClaimMade3}
    shown = {table: msgspec.json.decode(view) for table, view in last_views(applied).items()}
    for table, view in views(name).items():
        assert {key: shown[table][key] for key in view} == view


def test_every_version_is_read_as_the_newest() -> None:
    reader = Reader(NEWEST, UPCASTERS)
    line = next(line for line in journal(FOLDER / f"{NAMES[0]}.ndjson") if b'"skuggkast.claim_made"' in line.body)
    first = reader.read(line.position, line.body, line.hash)
    assert (first.type, first.version) == ("skuggkast.claim_made", 1), "what is stored is of the first version"
    assert isinstance(first.event, ClaimMade3)
    assert (first.event.loudness, first.event.overheard) == ((9, True) if first.event.show else (1, False))
    second = as_version(line, 2, b',"loudness":7}')
    assert reader.read(second.position, second.body, b"").event == msgspec.structs.replace(
        first.event, loudness=7, overheard=True
    )
    third = as_version(line, 3, b',"loudness":7,"overheard":false}')
    assert reader.read(third.position, third.body, b"").event == msgspec.structs.replace(
        first.event, loudness=7, overheard=False
    )


def as_version(line: Line, version: int, more: bytes) -> Line:
    body = line.body.replace(b'"version":1', b'"version":%d' % version)
    data, postings = body.rsplit(b'},"postings"', 1)
    return Line(line.position, data + more + b',"postings"' + postings, b"")


def test_a_version_that_nobody_knows_is_no_event() -> None:
    line = next(line for line in journal(FOLDER / f"{NAMES[0]}.ndjson") if b'"skuggkast.claim_made"' in line.body)
    with pytest.raises(
        Damaged, match=f"position {line.position}: events of type skuggkast.claim_made.v2 are not known"
    ):
        READER.read(line.position, as_version(line, 2, b"}").body, b"")


async def test_a_database_of_the_first_version_goes_on(journals: Journals, database: Database, newer: Reader) -> None:
    """Recorded before the change, and then loaded, audited, rebuilt and looked at as of then."""
    lines = journal(FOLDER / f"{NAMES[0]}.ndjson")
    book, applied = folded(lines)
    await journals.found(book.larp)
    opened = await journals.open(book.larp)
    async with database.connection() as connection:
        assert await opened.append(connection, Batch(0, chain.GENESIS, applied))
        loaded: Book = await opened.load(connection)
        assert (loaded.position, loaded.hash) == (book.position, book.hash)
        result = await audit(connection, book.larp)
        assert {check.name for check in result.checks if not check.ok} == {"secrets"}, "no file holds what is hidden"
        assert (await rebuild.rebuild(connection, book.larp, PROJECTIONS)).rows == 0
        last = next(each for each in reversed(applied) if isinstance(each.recorded.event, ClaimMade))
        then = await as_of.at_position(connection, book.larp, last.recorded.position)
        table = last.recorded.table or ""
        assert await as_of.table(connection, then, table) == msgspec.json.encode(last.view())
