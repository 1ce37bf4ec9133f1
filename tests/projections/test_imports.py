"""An exported journal becomes the same LARP again, or nothing at all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ledger import purses
from ledger.book import ActRequest, Void, VoidTable
from ledger.database import Database
from ledger.errors import AlreadyExists, HiddenValueLost, UnknownLarp
from ledger.journal import Journals
from ledger.writer import Writers
from projections import imports, tree
from projections.audit import audit
from projections.checkpoints import Notary
from projections.exports import Ndjson, journal
from projections.imports import NotImported, import_journal
from tests.ledger.test_writer import ACTOR, founded, rows
from tests.support.journals import SCENARIOS, exported, played

Lines = list[bytes]


async def brought(journals: Journals, lines: Lines) -> imports.Imported:
    async with journals.database.connection() as connection:
        return await import_journal(connection, journals, lines)


async def export(database: Database, larp: str = "test") -> bytes:
    return b"".join([part async for part in journal(database, larp, Ndjson())])


def lines_of(text: str) -> Lines:
    return text.encode().splitlines(keepends=True)


@pytest.fixture(params=["ledger-reversals", "skuggkast-credit", "schocken-twice", "takespillet-sok"])
def lines(request: pytest.FixtureRequest) -> Lines:
    return lines_of(exported(played(SCENARIOS[request.param]).journal, Ndjson()))


async def test_it_is_the_same_larp_again(lines: Lines, journals: Journals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "BATCH", 7)
    done = await brought(journals, lines)
    assert (done.larp, done.position) == ("test", len(lines) - 1)
    assert await export(journals.database) == b"".join(lines), "the same bytes, the same hashes"
    async with journals.database.connection() as connection:
        result = await audit(connection, "test")
    assert [check for check in result.checks if not check.ok] == []
    shown = b"".join(lines).count(b'"nonce":')
    kept = await rows(journals.database.url, "SELECT count(*), count(uncovered) FROM skuggbok.secret")
    assert kept == [(shown, shown)], "what was uncovered is kept again"


async def test_a_larp_that_is_there_is_left_alone(
    lines: Lines, journals: Journals, writers: Writers, database_url: str
) -> None:
    await founded(writers, "test")
    before = await rows(database_url, "SELECT * FROM skuggbok.event ORDER BY position")
    with pytest.raises(AlreadyExists, match="with 6 events"):
        await brought(journals, lines)
    assert await rows(database_url, "SELECT * FROM skuggbok.event ORDER BY position") == before


DAMAGES: dict[str, Callable[[Lines], Lines]] = {
    "no first line": lambda lines: lines[1:],
    "nothing": lambda lines: [],
    "another format": lambda lines: [lines[0].replace(b"v1", b"v9"), *lines[1:]],
    "another LARP": lambda lines: [lines[0].replace(b'"test"', b'"best"'), *lines[1:]],
    "no end": lambda lines: lines[:-1],
    "half a line": lambda lines: [*lines[:-1], lines[-1][:50]],
    "more than the first line says": lambda lines: [*lines, lines[-1]],
    "a line that is gone": lambda lines: [*lines[:4], *lines[5:]],
    "an amount": lambda lines: [line.replace(b'"amount":', b'"amount":1') for line in lines],
    "a hash": lambda lines: [*lines[:3], lines[3][:-10] + b'00000000"}\n', *lines[4:]],
    "text": lambda lines: [*lines[:3], b"text\n", *lines[4:]],
}


@pytest.mark.parametrize("what", DAMAGES)
async def test_what_is_damaged_leaves_nothing_behind(
    what: str, journals: Journals, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 3)
    lines = lines_of(exported(played(SCENARIOS["ledger-debts"]).journal, Ndjson()))
    with pytest.raises(NotImported):
        await brought(journals, DAMAGES[what](lines))
    for table in ("event", "balance", "entry", "larp", "tree", "character"):
        assert await rows(database_url, f"SELECT count(*) FROM skuggbok.{table}") == [(0,)], table
    with pytest.raises(UnknownLarp):
        await export(journals.database)


async def test_a_table_that_hides_something_is_named_and_can_be_voided(journals: Journals, writers: Writers) -> None:
    """A cup that nobody lifted is in no export: the table's owner gets the stakes back, and nobody sees the cup."""
    larp = played(SCENARIOS["skuggkast-plain"])
    hidden = next(a for a in larp.applied if getattr(a.recorded.event, "sealed", ()))
    until = larp.journal[: hidden.recorded.position]
    done = await brought(journals, lines_of(exported(until, Ndjson())))
    table = hidden.recorded.table
    assert table is not None
    assert done.hiding == (table,)
    state = larp.applied[hidden.recorded.position - 1].table
    assert state is not None
    first, second = state.seats[0], state.seats[1]
    claim = f'{{"action":"claim","seat":"{first}","symbol":"star","number":1,"shadow":"neutral"}}'
    await writers.submit("test", ActRequest(table, claim.encode()), ACTOR)
    before = await export(journals.database)
    with pytest.raises(HiddenValueLost, match="void the table"):
        await writers.submit("test", ActRequest(table, f'{{"action":"challenge","seat":"{second}"}}'.encode()), ACTOR)
    assert await export(journals.database) == before
    await writers.submit("test", Void(table, VoidTable(reason="the cups were lost")), ACTOR)
    async with journals.database.connection() as connection:
        assert (await audit(connection, "test")).ok


async def test_checkpoints_that_were_signed_before_hold_for_what_was_imported(
    journals: Journals, tmp_path: Path
) -> None:
    """The subtrees are kept with the import, and the root is the one of the events."""
    lines = lines_of(exported(played(SCENARIOS["takespillet-sok"]).journal, Ndjson()))
    await brought(journals, lines)
    async with journals.database.connection() as connection:
        issued = await Notary(tmp_path, key_in_database=False).issue(connection, "test")
        assert await tree.root(connection, 1, len(lines) - 1) == issued.checkpoint.root


async def test_what_goes_on_after_an_import(journals: Journals, writers: Writers) -> None:
    lines = lines_of(exported(played(SCENARIOS["ledger-debts"]).journal, Ndjson()))
    await brought(journals, lines)
    receipt = await writers.submit("test", purses.DefineAsset(asset="new", kind="token", name="New"), ACTOR)
    assert receipt.position == len(lines)
