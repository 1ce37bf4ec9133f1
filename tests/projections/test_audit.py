"""The audit is quiet on a healthy LARP and names what was tampered with, and where."""

from collections.abc import Iterator

import msgspec
import psycopg
import pytest

from ledger import purses, snapshot
from ledger.book import ActRequest
from ledger.database import Database
from ledger.errors import UnknownLarp
from ledger.games.skuggkast.messages import OpenSkuggkast, Rules
from ledger.games.table import Sum
from ledger.journal import Journals
from ledger.messages import Actor
from ledger.sending import Sent
from ledger.writer import Writers
from projections.audit import FINDINGS_MAX, NAMES, Audit, audit, larps
from projections.runner import PROJECTIONS
from tests.projections.support import template_with

ACTOR = Actor(role="organiser", token="tok_test")


async def play(writers: Writers) -> None:
    """Money, and a table at which a cup was lifted and another is still hidden."""
    await writers.found(purses.FoundLarp(larp="north", name="North"), ACTOR)
    for command in (
        purses.DefineAsset(asset="krona", kind="token", name="Krona"),
        purses.AddCharacter(character="alva", name="Alva", credit_limit={"krona": 20}),
        purses.AddCharacter(character="birk", name="Birk"),
        purses.Grant(to="alva", asset="krona", amount=10),
        purses.Grant(to="birk", asset="krona", amount=10),
        purses.IssueNote(debtor="alva", creditor="birk", asset="krona", amount=4),
        OpenSkuggkast(
            table="t1", seats=("alva", "birk"), stake=Sum("krona", 3), rules=Rules(starter="alva"), dice="service"
        ),
    ):
        await writers.submit("north", command, ACTOR)
    for body in (
        b'{"action":"roll","seat":"alva"}',
        b'{"action":"claim","seat":"alva","symbol":"moon","number":1,"shadow":"neutral"}',
        b'{"action":"challenge","seat":"birk"}',
        b'{"action":"roll","seat":"birk"}',
    ):
        await writers.submit("north", ActRequest("t1", body), ACTOR)


@pytest.fixture(scope="session")
def template(server: str) -> str:
    return template_with(server, "skuggbok_template_evening", play)


@pytest.fixture
def superuser(database_url: str) -> Iterator[psycopg.Connection]:
    """Whoever has the server's own account can change anything; triggers only stop honest mistakes."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        yield connection


async def checked(database: Database) -> Audit:
    async with database.connection() as connection:
        return await audit(connection, "north")


async def found(database: Database) -> set[tuple[str, int]]:
    result = await checked(database)
    assert result.ok == all(check.ok for check in result.checks)
    assert all(check.ok == (not check.findings) for check in result.checks)
    return {(finding.check, finding.position) for check in result.checks for finding in check.findings}


async def test_a_healthy_larp_has_no_findings(database: Database) -> None:
    result = await checked(database)
    assert [check for check in result.checks if not check.ok] == []
    assert result.ok
    assert result.position == 13


async def test_a_larp_that_is_not_there_is_refused(database: Database) -> None:
    async with database.connection() as connection:
        with pytest.raises(UnknownLarp):
            await audit(connection, "nowhere")


TAMPERINGS = {
    "an amount in a body": (
        "UPDATE skuggbok.event SET body = convert_to(replace(convert_from(body, 'UTF8'),"
        " '\"amount\":10', '\"amount\":99'), 'UTF8') WHERE position = 5",
        {("chain", 5), ("entries", 5)},
    ),
    "a column beside the body": (
        "UPDATE skuggbok.event SET type = 'purse.collected' WHERE position = 5",
        {("envelope", 5)},
    ),
    "an event that is gone": ("DELETE FROM skuggbok.event WHERE position = 5", {("chain", 6), ("fold", 6)}),
    "a tail that is cut": ("DELETE FROM skuggbok.event WHERE position >= 12", {("chain", 13)}),
    "two events that change places": (
        "UPDATE skuggbok.event SET position = 11 - position + 1000000 WHERE position IN (5, 6);"
        " UPDATE skuggbok.event SET position = position - 1000000 WHERE position > 1000000",
        {("chain", 5), ("chain", 6)},
    ),
    "a tail that is cut, and a head that is set back": (
        "DELETE FROM skuggbok.event WHERE position >= 12;"
        " UPDATE skuggbok.head SET position = 11, hash = (SELECT hash FROM skuggbok.event WHERE position = 11)",
        {("tables", 13), ("secrets", 13), ("secrets", 9)},
    ),
    "the first event": ("DELETE FROM skuggbok.event WHERE position = 1", {("chain", 2), ("fold", 2)}),
    "all events": ("DELETE FROM skuggbok.event", {("chain", 13), ("tables", 13), ("balances", 8)}),
    "an event that is put in": (
        "INSERT INTO skuggbok.event SELECT larp, 14, recorded_at, at, type, table_, character_, hash, body"
        " FROM skuggbok.event WHERE position = 13",
        {("chain", 14), ("chain", 13)},
    ),
    "an event that is put in between": (
        "UPDATE skuggbok.event SET position = position + 1000 WHERE position >= 6;"
        " UPDATE skuggbok.event SET position = position - 999 WHERE position >= 1000;"
        " INSERT INTO skuggbok.event SELECT larp, 6, recorded_at, at, type, table_, character_, hash, body"
        " FROM skuggbok.event WHERE position = 5",
        {("chain", 6), ("chain", 7), ("entries", 6)},
    ),
    "a body that is no event": (
        "UPDATE skuggbok.event SET body = 'x' WHERE position = 5",
        {("chain", 5), ("envelope", 5)},
    ),
    "a type that nobody knows": (
        "UPDATE skuggbok.event SET body = convert_to(replace(convert_from(body, 'UTF8'), 'purse.granted',"
        " 'purse.stolen'), 'UTF8') WHERE position = 5",
        {("chain", 5), ("envelope", 5)},
    ),
    "a hash": ("UPDATE skuggbok.event SET hash = sha256('x') WHERE position = 5", {("chain", 5), ("chain", 6)}),
    "a time": (
        "UPDATE skuggbok.event SET recorded_at = recorded_at - interval '1 day' WHERE position = 5",
        {("envelope", 5)},
    ),
    "whose doing it was": ("UPDATE skuggbok.event SET character_ = 'birk' WHERE position = 3", {("envelope", 3)}),
    "a head": ("UPDATE skuggbok.head SET hash = sha256('x')", {("chain", 13)}),
    "a head that is moved": ("UPDATE skuggbok.head SET position = 99", {("chain", 99)}),
    "a head that is set to nothing": ("UPDATE skuggbok.head SET position = 0", {("chain", 0)}),
    "a head that is gone": ("DELETE FROM skuggbok.head", {("chain", 0)}),
    "a balance": (
        "UPDATE skuggbok.balance SET balance = balance + 1 WHERE account = 'purse/birk' AND asset = 'krona'",
        {("balances", 8), ("sums", 13)},
    ),
    "an entry": ("DELETE FROM skuggbok.entry WHERE account = 'purse/birk' AND position = 6", {("entries", 6)}),
    "what was paid into a pot": ("UPDATE skuggbok.pot SET paid_in = 9 WHERE character = 'alva'", {("pots", 8)}),
    "a view": (
        "UPDATE skuggbok.game_table"
        " SET view = convert_to(replace(convert_from(view, 'UTF8'), 'alva', 'embla'), 'UTF8')",
        {("tables", 13)},
    ),
    "a credit limit": (
        "UPDATE skuggbok.character SET credit_limit = '{\"krona\":99}' WHERE character = 'alva'",
        {("directory", 3)},
    ),
    "a round": ("DELETE FROM skuggbok.round", {("rounds", 12)}),
    "a result": ("UPDATE skuggbok.result SET how = 'burnt', closed = 9, winner = 'alva'", {("results", 8)}),
    "a die": ("UPDATE skuggbok.die SET seen = seen + 1 WHERE die = 'number'", {("dice", 12)}),
    "a lid that never was": (
        "INSERT INTO skuggbok.lid SELECT larp, 't1', '1', 'seat/t1/alva', 1, 8 FROM skuggbok.larp",
        {("lids", 8)},
    ),
    "a balance that is gone": (
        "DELETE FROM skuggbok.balance WHERE account = 'purse/birk' AND asset = 'krona'",
        {("balances", 8), ("sums", 13)},
    ),
    "a balance of nobody": (
        "INSERT INTO skuggbok.balance VALUES (1, 'purse/embla', 'krona', 5, 8)",
        {("balances", 8), ("sums", 13)},
    ),
    "an entry that is put in": (
        "INSERT INTO skuggbok.entry VALUES (1, 'purse/birk', 'krona', 9, 0, 5, 12)",
        {("entries", 9)},
    ),
    "a character": ("DELETE FROM skuggbok.character WHERE character = 'birk'", {("directory", 4)}),
    "an asset": ("UPDATE skuggbok.asset SET kind = 'promise' WHERE asset = 'krona'", {("directory", 2)}),
    "a reversal": ("INSERT INTO skuggbok.reversal VALUES (1, 5, 6)", {("reversals", 6)}),
    "a movement of lids": (
        "INSERT INTO skuggbok.lid_move VALUES (1, 't1', 9, 0, '1', 1, 'middle/t1', 'seat/t1/alva', 1)",
        {("lids", 9)},
    ),
    "a hidden value": ("UPDATE skuggbok.secret SET value = '{}' WHERE uncovered IS NULL", {("secrets", 13)}),
    "a hidden value that is no JSON": (
        "UPDATE skuggbok.secret SET value = '\\xff' WHERE position = 13",
        {("secrets", 13)},
    ),
    "a nonce": ("UPDATE skuggbok.secret SET nonce = reverse(nonce) WHERE position = 13", {("secrets", 13)}),
    "a nonce that is none": ("UPDATE skuggbok.secret SET nonce = 'none' WHERE position = 9", {("secrets", 9)}),
    "a hidden value that is gone": ("DELETE FROM skuggbok.secret WHERE position = 13", {("secrets", 13)}),
    "an uncovered value that is gone": ("DELETE FROM skuggbok.secret WHERE position = 9", {("secrets", 9)}),
    "a hidden value that is put in": (
        "INSERT INTO skuggbok.secret SELECT larp, table_, 'none', seat, what, nonce, value, 12, NULL"
        " FROM skuggbok.secret WHERE position = 13",
        {("secrets", 12)},
    ),
    "a hidden value that is marked as uncovered": (
        "UPDATE skuggbok.secret SET uncovered = 13 WHERE position = 13",
        {("secrets", 13)},
    ),
    "an uncovered value that is marked as hidden": (
        "UPDATE skuggbok.secret SET uncovered = NULL WHERE position = 9",
        {("secrets", 9)},
    ),
    "whose hidden value it is": ("UPDATE skuggbok.secret SET seat = 'alva' WHERE position = 13", {("secrets", 13)}),
    "what is hidden": ("UPDATE skuggbok.secret SET what = 'hand' WHERE position = 13", {("secrets", 13)}),
    "when it was hidden": ("UPDATE skuggbok.secret SET position = 12 WHERE position = 13", {("secrets", 13)}),
    "at which table": (
        "UPDATE skuggbok.secret SET table_ = 't2' WHERE position = 13",
        {("secrets", 13)},
    ),
    "two hidden values that change places": (
        "UPDATE skuggbok.secret s SET value = o.value, nonce = o.nonce FROM skuggbok.secret o"
        " WHERE s.commitment <> o.commitment",
        {("secrets", 9), ("secrets", 13)},
    ),
}


@pytest.mark.parametrize("what", TAMPERINGS)
async def test_tampering_is_found_by_name(what: str, database: Database, superuser: psycopg.Connection) -> None:
    statement, expected = TAMPERINGS[what]
    for part in statement.split(";"):
        superuser.execute(part.encode())
    findings = await found(database)
    assert expected <= findings, f"{what}: {findings}"


async def test_no_finding_shows_what_is_hidden(database: Database, superuser: psycopg.Connection) -> None:
    superuser.execute("UPDATE skuggbok.secret SET value = '{\"canary\":1}', nonce = 'canary', uncovered = 13")
    superuser.execute("UPDATE skuggbok.event SET hash = sha256('x'), table_ = 'elsewhere' WHERE position >= 9")
    result = await checked(database)
    assert len([finding for check in result.checks for finding in check.findings]) >= 5
    assert b"canary" not in msgspec.json.encode(result)


async def test_findings_are_named_up_to_a_hundred_of_each_check(
    writers: Writers, database: Database, superuser: psycopg.Connection
) -> None:
    """A journal that is wholly damaged must not fill the memory."""
    for _ in range(120):
        await writers.submit("north", purses.Grant(to="alva", asset="krona", amount=1), ACTOR)
    superuser.execute("UPDATE skuggbok.event SET hash = sha256(hash), type = 'x'")
    result = await checked(database)
    named = {check.name: len(check.findings) for check in result.checks}
    assert (named["chain"], named["envelope"]) == (FINDINGS_MAX, FINDINGS_MAX)


async def test_what_could_not_be_derived_again_is_not_called_well(
    database: Database, superuser: psycopg.Connection
) -> None:
    superuser.execute("DELETE FROM skuggbok.event WHERE position = 5")
    findings = await found(database)
    assert {(projection.name, 5) for projection in PROJECTIONS} <= findings


async def test_who_has_a_token_is_no_business_of_the_journal(database: Database, superuser: psycopg.Connection) -> None:
    superuser.execute(
        "INSERT INTO skuggbok.token (id, hash, larp, role, label, created_at)"
        " VALUES ('tok_new', sha256('x'), 1, 'banker', 'new', now())"
    )
    assert await found(database) == set()


# ---- receipts ----

BANKER = Actor(role="banker", token="tok_bank")


@pytest.fixture
async def keyed(writers: Writers) -> None:
    """Three commands with keys, at positions 14, 15 and 16, the last by somebody else; and one without."""
    grant = purses.Grant(to="alva", asset="krona", amount=1)
    for number, actor in enumerate((BANKER, BANKER, ACTOR)):
        await writers.send("north", Sent(request=grant, actor=actor, key=f"k{number}", said=b"x"))
    await writers.submit("north", purses.Grant(to="birk", asset="krona", amount=1), BANKER)


RECEIPTS = {
    "as they were": ("SELECT 1", set()),
    "one that is gone leaves no trace": ("DELETE FROM skuggbok.receipt WHERE first_position = 15", set()),
    "somebody else's event": (
        "UPDATE skuggbok.receipt SET first_position = 13, last_position = 13 WHERE first_position = 14",
        {("receipts", 13)},
    ),
    "more than was recorded": (
        "UPDATE skuggbok.receipt SET last_position = 99 WHERE first_position = 16",
        {("receipts", 17)},
    ),
    "what does not exist": (
        "UPDATE skuggbok.receipt SET first_position = 98, last_position = 99 WHERE first_position = 16",
        {("receipts", 98)},
    ),
    "the end is not there": (
        "UPDATE skuggbok.receipt SET last_position = 18, token = 'tok_bank' WHERE first_position = 16",
        {("receipts", 16)},
    ),
    "two with one event": (
        "UPDATE skuggbok.receipt SET last_position = 15 WHERE first_position = 14",
        {("receipts", 15)},
    ),
    "another token": ("UPDATE skuggbok.receipt SET token = 'tok_x' WHERE first_position = 15", {("receipts", 15)}),
    "before the journal": (
        "UPDATE skuggbok.receipt SET first_position = 0, last_position = 0 WHERE first_position = 16",
        {("receipts", 0)},
    ),
    "an event that is gone": ("DELETE FROM skuggbok.event WHERE position = 15", {("receipts", 15), ("chain", 16)}),
    "the last event, and the head set back": (
        "DELETE FROM skuggbok.event WHERE position >= 16;"
        " UPDATE skuggbok.head SET position = 15, hash = (SELECT hash FROM skuggbok.event WHERE position = 15)",
        {("receipts", 16)},
    ),
}


@pytest.mark.parametrize("what", RECEIPTS)
async def test_receipts_name_what_their_token_recorded(
    what: str, keyed: None, database: Database, superuser: psycopg.Connection
) -> None:
    statement, expected = RECEIPTS[what]
    for part in statement.split(";"):
        superuser.execute(part.encode())
    findings = await found(database)
    assert {finding for finding in findings if finding[0] == "receipts"} == {
        finding for finding in expected if finding[0] == "receipts"
    }
    assert expected <= findings


# ---- snapshots ----


@pytest.fixture
async def kept(journals: Journals, database: Database, writers: Writers) -> None:
    """A snapshot as of position 13, and an event after it."""
    journal = await journals.open("north")
    async with database.connection() as connection:
        book = await journal.load(connection)
        await journal.save_snapshot(connection, book.position, book.hash, snapshot.take(book))
    await writers.submit("north", purses.Grant(to="birk", asset="krona", amount=1), ACTOR)


def changed(what: str, to: str) -> str:
    return (
        f"UPDATE skuggbok.snapshot SET book = convert_to(replace(convert_from(book, 'UTF8'), '{what}', '{to}'), 'UTF8')"
    )


SNAPSHOTS = {
    "as it was": ("SELECT 1", set()),
    "of another version, which nobody reads": ("UPDATE skuggbok.snapshot SET shape = 'old', book = 'x'", set()),
    "a balance": (changed('"krona",7', '"krona",70'), {("snapshot", 13)}),
    "a limit": (changed('"krona":20', '"krona":200'), {("snapshot", 13)}),
    "what is no snapshot": ("UPDATE skuggbok.snapshot SET book = 'x'", {("snapshot", 13)}),
    "what holds no Book": ("UPDATE skuggbok.snapshot SET book = '[1]'", {("snapshot", 13)}),
    "a hash": ("UPDATE skuggbok.snapshot SET hash = sha256('x')", {("snapshot", 13)}),
    "an older position": ("UPDATE skuggbok.snapshot SET position = 12", {("snapshot", 12)}),
    "a position that there is not": ("UPDATE skuggbok.snapshot SET position = 99", {("snapshot", 99)}),
}


@pytest.mark.parametrize("what", SNAPSHOTS)
async def test_a_snapshot_is_what_the_journal_folds_to(
    what: str, kept: None, database: Database, superuser: psycopg.Connection
) -> None:
    statement, expected = SNAPSHOTS[what]
    superuser.execute(statement.encode())
    assert await found(database) == expected


async def test_the_order_in_which_a_snapshot_lists_things_tells_nothing(
    kept: None, database: Database, superuser: psycopg.Connection
) -> None:
    (content,) = superuser.execute("SELECT book FROM skuggbok.snapshot").fetchone() or (b"",)
    book = msgspec.json.decode(content)
    book["balances"].reverse()
    book["characters"] = dict(reversed(book["characters"].items()))
    superuser.execute("UPDATE skuggbok.snapshot SET book = %s", (msgspec.json.encode(book),))
    assert await found(database) == set()


async def test_a_larp_whose_beginning_is_gone_is_listed_all_the_same(
    database: Database, superuser: psycopg.Connection
) -> None:
    """Whoever verifies everything must not pass over what was cut off at its root."""
    for tampering in ("DELETE FROM skuggbok.event WHERE position = 1", "DELETE FROM skuggbok.head"):
        superuser.execute(tampering.encode())
        async with database.connection() as connection:
            assert await larps(connection) == ["north"]
            assert await larps(connection, "south") == []
        assert await found(database) != set()


def test_each_check_has_a_name_of_its_own() -> None:
    assert len(set(NAMES)) == len(NAMES)
