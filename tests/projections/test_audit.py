"""The audit is quiet on a healthy LARP and names what was tampered with, and where."""

from collections.abc import Iterator

import psycopg
import pytest

from ledger import purses
from ledger.book import ActRequest
from ledger.database import Database
from ledger.errors import UnknownLarp
from ledger.games.skuggkast.messages import OpenSkuggkast, Rules
from ledger.games.table import Sum
from ledger.messages import Actor
from ledger.writer import Writers
from projections.audit import Audit, audit

ACTOR = Actor(role="organiser", token="tok_test")


@pytest.fixture
async def evening(writers: Writers) -> None:
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


@pytest.fixture
def superuser(database_url: str) -> Iterator[psycopg.Connection]:
    """Whoever has the server's own account can change anything; triggers only stop honest mistakes."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        yield connection


async def checked(database: Database) -> Audit:
    async with database.connection() as connection:
        return await audit(connection, "north")


async def test_a_healthy_larp_has_no_findings(evening: None, database: Database) -> None:
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
        "UPDATE skuggbok.event SET body = convert_to(replace(convert_from(body, 'UTF8'), '\"amount\":10', '\"amount\":99'),"
        " 'UTF8') WHERE position = 5",
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
    "a head": ("UPDATE skuggbok.head SET hash = sha256('x')", {("chain", 13)}),
    "a balance": (
        "UPDATE skuggbok.balance SET balance = balance + 1 WHERE account = 'purse/birk' AND asset = 'krona'",
        {("balances", 8), ("sums", 13)},
    ),
    "an entry": ("DELETE FROM skuggbok.entry WHERE account = 'purse/birk' AND position = 6", {("entries", 6)}),
    "what was paid into a pot": ("UPDATE skuggbok.pot SET paid_in = 9 WHERE character = 'alva'", {("pots", 8)}),
    "a view": (
        "UPDATE skuggbok.game_table SET view = convert_to(replace(convert_from(view, 'UTF8'), 'alva', 'embla'), 'UTF8')",
        {("tables", 13)},
    ),
    "a credit limit": (
        "UPDATE skuggbok.character SET credit_limit = '{\"krona\":99}' WHERE character = 'alva'",
        {("directory", 3)},
    ),
    "a hidden value": ("UPDATE skuggbok.secret SET value = '{}' WHERE uncovered IS NULL", {("secrets", 13)}),
}


@pytest.mark.parametrize("what", TAMPERINGS)
async def test_tampering_is_found_by_name(
    what: str, evening: None, database: Database, superuser: psycopg.Connection
) -> None:
    statement, expected = TAMPERINGS[what]
    for part in statement.split(";"):
        superuser.execute(part.encode())
    result = await checked(database)
    assert not result.ok
    found = {(finding.check, finding.position) for check in result.checks for finding in check.findings}
    assert expected <= found, f"{what}: {found}"
