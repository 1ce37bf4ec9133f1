"""What was so after any event can be asked for ever, and answers as it did then."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from ledger import purses
from ledger.book import ActRequest
from ledger.database import Connection, Database
from ledger.errors import UnknownCharacter, UnknownLarp, UnknownPosition, UnknownTable
from ledger.games.skuggkast.messages import OpenSkuggkast, Rules
from ledger.games.table import Sum
from ledger.messages import Actor
from ledger.writer import Writers
from projections import as_of, queries

ACTOR = Actor(role="organiser", token="tok_test")


@pytest.fixture
async def connection(database: Database) -> AsyncIterator[Connection]:
    async with database.connection() as opened:
        yield opened


async def everything(connection: Connection) -> dict[str, Any]:
    """All that can be asked as of a position, as it is now."""
    return {
        "characters": await queries.characters(connection, "north", None, 100),
        "assets": await queries.assets(connection, "north", None, 100),
        "purses": await queries.purses(connection, "north", None, 100),
        "tables": await queries.tables(connection, "north", None, None, None, 100),
        "closed": await queries.tables(connection, "north", None, "closed", None, 100),
        "birk": await queries.statement(connection, "north", "birk", None, 100),
    }


async def everything_then(connection: Connection, position: int) -> dict[str, Any]:
    then = await as_of.at_position(connection, "north", position)
    return {
        "characters": await as_of.characters(connection, then, None, 100),
        "assets": await as_of.assets(connection, then, None, 100),
        "purses": await as_of.purses(connection, then, None, 100),
        "tables": await as_of.tables(connection, then, None, None, None, 100),
        "closed": await as_of.tables(connection, then, None, "closed", None, 100),
        "birk": await as_of.statement(connection, then, "birk", None, 100),
    }


@pytest.fixture
async def evening(writers: Writers, connection: Connection) -> dict[int, dict[str, Any]]:
    """What was shown after each command, by the position that it led to."""
    await writers.found(purses.FoundLarp(larp="north", name="North"), ACTOR)
    await writers.submit("north", purses.DefineAsset(asset="krona", kind="token", name="Krona"), ACTOR)
    birk = purses.AddCharacter(character="birk", name="Birk", credit_limit={"krona": 9})
    await writers.submit("north", birk, ACTOR)
    seen = {}
    for command in (
        purses.AddCharacter(character="alva", name="Alva"),
        purses.Grant(to="alva", asset="krona", amount=10),
        purses.Grant(to="birk", asset="krona", amount=20),
        purses.IssueNote(debtor="birk", creditor="alva", asset="krona", amount=4),
        purses.ChangeCharacter("birk", purses.CharacterChanges(name="Birk the Bold")),
        OpenSkuggkast(
            table="t1",
            seats=("alva", "birk"),
            stake=Sum("krona", 3),
            credit=True,
            dice="service",
            rules=Rules(starter="alva", target=1),
        ),
        ActRequest("t1", b'{"action":"roll","seat":"alva"}'),
        ActRequest("t1", b'{"action":"claim","seat":"alva","symbol":"moon","number":3,"shadow":"neutral"}'),
        purses.ChangeCharacter("birk", purses.CharacterChanges(credit_limit={"krona": 20})),
        ActRequest("t1", b'{"action":"challenge","seat":"birk"}'),
        purses.Settle(debtor="birk", creditor="alva", asset="krona", amount=1),
        purses.AddCharacter(character="embla", name="Embla"),
        purses.DefineAsset(asset="screw", kind="token", name="Screw"),
        OpenSkuggkast(table="t0", seats=("alva", "birk"), stake=Sum("krona", 1), credit=True, dice="service"),
    ):
        receipt = await writers.submit("north", command, ACTOR)
        seen[receipt.position] = await everything(connection)
    return seen


async def test_the_past_is_shown_as_it_was_then(evening: dict[int, dict[str, Any]], connection: Connection) -> None:
    assert len(evening) == 14
    for position, was in evening.items():
        assert await everything_then(connection, position) == was, f"as of {position}"


async def test_pages_of_the_past(evening: dict[int, dict[str, Any]], connection: Connection) -> None:
    head = max(evening)
    then = await as_of.at_position(connection, "north", head - 1)
    assert [row.character for row in await as_of.purses(connection, then, "alva", 1)] == ["birk"]
    assert [row.asset for row in await as_of.assets(connection, then, "krona", 9)] == ["lid", "schnapps", "screw"]
    assert [name for name, _ in await as_of.tables(connection, then, "skuggkast", None, None, 9)] == ["t1"]
    assert await as_of.tables(connection, then, "schocken", None, None, 9) == []
    rows = await as_of.statement(connection, then, "alva", None, 100)
    assert await as_of.statement(connection, then, "alva", (rows[0].position, rows[0].line), 1) == [rows[1]]
    beyond = (head + 5, 0)
    assert await as_of.statement(connection, then, "alva", beyond, 100) == rows, "a cursor does not lead beyond it"


async def test_a_phase_is_the_one_that_a_table_was_in(
    evening: dict[int, dict[str, Any]], connection: Connection
) -> None:
    """The pages go on until they are full, however many tables are in another phase now."""
    opened = next(position for position, was in evening.items() if was["tables"])
    then = await as_of.at_position(connection, "north", opened)
    assert [name for name, _ in await as_of.tables(connection, then, None, "turn", None, 1)] == ["t1"]
    assert await as_of.tables(connection, then, None, "claim", None, 1) == []


async def test_times_lead_to_the_last_event_until_then(
    evening: dict[int, dict[str, Any]], connection: Connection
) -> None:
    cursor = await connection.execute("SELECT recorded_at FROM skuggbok.event ORDER BY position")
    times = [row[0] for row in await cursor.fetchall()]
    for position, time in enumerate(times, start=1):
        last = len(times) - times[::-1].index(time)
        assert (await as_of.at_time(connection, "north", time)).position == last
        if position > 1 and times[position - 2] < time:
            before = await as_of.at_time(connection, "north", time - timedelta(microseconds=1))
            assert before.position == position - 1
    assert (await as_of.at_time(connection, "north", times[-1] + timedelta(days=9))).position == len(times)
    with pytest.raises(UnknownPosition, match="the journal of north begins at"):
        await as_of.at_time(connection, "north", times[0] - timedelta(microseconds=1))


async def test_what_was_not_there_then_is_said(evening: dict[int, dict[str, Any]], connection: Connection) -> None:
    head = max(evening)
    for position in (0, head + 1, 2**53):
        with pytest.raises(UnknownPosition, match=f"ends at position {head}"):
            await as_of.at_position(connection, "north", position)
    with pytest.raises(UnknownLarp):
        await as_of.at_position(connection, "south", 1)
    then = await as_of.at_position(connection, "north", 4)
    assert (await as_of.purse(connection, then, "alva")).balances == {}
    with pytest.raises(UnknownCharacter, match="no character 'embla' in this LARP at position 4"):
        await as_of.purse(connection, then, "embla")
    with pytest.raises(UnknownCharacter):
        await as_of.statement(connection, then, "embla", None, 9)
    with pytest.raises(UnknownTable, match="no table 't1' in this LARP at position 4"):
        await as_of.table(connection, then, "t1")


# ---- one index probe per balance, however long the journal ----

COUNT = 20_000


@pytest.fixture
def busy(evening: dict[int, dict[str, Any]], database_url: str) -> Iterator[psycopg.Connection]:
    """Alva's purse has been through thousands of movements since."""
    with psycopg.connect(database_url, autocommit=True) as superuser:
        superuser.execute(
            "INSERT INTO skuggbok.entry (larp, account, asset, position, line, change, balance)"
            " SELECT larp, account, 'krona', 1000000 + n, 0, 1, n"
            " FROM generate_series(1, %s) n, skuggbok.larp,"
            " (VALUES ('purse/alva'), ('mint'), ('purse/birk')) a (account)",
            (COUNT,),
        )
        superuser.execute("VACUUM ANALYZE")
        yield superuser


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


@pytest.mark.parametrize("forced", ["force_custom_plan", "force_generic_plan"])
def test_a_balance_as_of_a_position_is_one_index_probe(busy: psycopg.Connection, forced: str) -> None:
    """In the middle of the journal, where both ends are far away."""
    asked = {"larp": 1, "position": 1_000_000 + COUNT // 2, "after": "", "only": None, "limit": 100}
    busy.execute(f"SET plan_cache_mode = {forced}".encode())
    query = as_of.SQL["purses"]
    for name, type_ in (
        ("larp", "int"),
        ("position", "bigint"),
        ("after", "text"),
        ("only", "text"),
        ("limit", "bigint"),
    ):
        number = list(asked).index(name) + 1
        query = query.replace(f"%({name})s", f"${number}::{type_}" if name != "limit" else f"${number}")
    busy.execute(f"PREPARE past (int, bigint, text, text, bigint) AS {query}".encode())
    try:
        (row,) = busy.execute(
            "EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE past (1, %s, '', NULL, 100)".replace("%s", str(asked["position"]))
        ).fetchall()
        found = busy.execute(f"EXECUTE past (1, {asked['position']}, '', NULL, 100)".encode()).fetchall()
    finally:
        busy.execute("DEALLOCATE past")
    assert dict((name, held) for name, _, _, held, _ in found)["alva"]["krona"] == COUNT // 2
    (pairs,) = busy.execute(
        "SELECT count(*) FROM skuggbok.balance WHERE account LIKE 'purse/%' OR asset LIKE 'iou/%'"
    ).fetchone() or (0,)
    probes = [node for node in nodes(row[0][0]["Plan"]) if node.get("Relation Name") == "entry"]
    assert probes, "the entries are read"
    assert {node["Node Type"] for node in probes} <= {"Index Scan", "Index Only Scan"}
    for node in probes:
        assert node["Actual Rows"] <= 1, "one row a probe"
        assert node.get("Rows Removed by Filter", 0) == 0
        assert node["Actual Loops"] <= pairs, "one probe a balance"
