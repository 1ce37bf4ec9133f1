"""A projection is built again from the journal while the service goes on, and is then what the journal says."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import psycopg
import pytest
from psycopg import sql

from ledger import purses
from ledger.book import Applied
from ledger.database import Connection, Database
from ledger.errors import ProjectionHalted, UnknownLarp
from ledger.writer import Writers
from projections import queries, rebuild, versions
from projections.audit import audit
from projections.pots import Pots
from projections.runner import PROJECTIONS, Kept
from tests.projections.support import ACTOR, play, template_with

TABLES = [(projection, table) for projection in PROJECTIONS for table in projection.tables]
Rows = Sequence[tuple[Any, ...]]


@pytest.fixture(scope="session")
def template(server: str) -> str:
    """A weekend in the north, and something in the south that is nobody's business."""

    async def begin(writers: Writers) -> None:
        await play(writers, "north")
        await play(writers, "south", ["ledger-debts"])

    return template_with(server, "skuggbok_template_weekend", begin)


@pytest.fixture
def weekend(writers: Writers) -> Writers:
    return writers


@pytest.fixture
async def connection(database: Database) -> AsyncIterator[Connection]:
    async with database.connection() as opened:
        yield opened


@pytest.fixture
def superuser(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url, autocommit=True) as opened:
        yield opened


def rows(superuser: psycopg.Connection, table: str) -> Rows:
    query = sql.SQL("SELECT t::text FROM skuggbok.{} t ORDER BY 1").format(sql.Identifier(table))
    return superuser.execute(query).fetchall()


def kept(superuser: psycopg.Connection) -> Mapping[str, Rows]:
    return {table: rows(superuser, table) for _, table in TABLES}


def left_behind(superuser: psycopg.Connection) -> Rows:
    """Temporary tables of any session."""
    return superuser.execute(
        "SELECT relname FROM pg_class WHERE relpersistence = 't' AND relkind = 'r' ORDER BY 1"
    ).fetchall()


async def findings(connection: Connection, larp: str = "north") -> list[tuple[str, int]]:
    result = await audit(connection, larp)
    return [(finding.check, finding.position) for check in result.checks for finding in check.findings]


@pytest.mark.parametrize(("projection", "table"), TABLES, ids=[table for _, table in TABLES])
async def test_wrong_rows_are_mended_and_right_ones_stay(
    projection: Kept, table: str, weekend: Writers, connection: Connection, superuser: psycopg.Connection
) -> None:
    """A row that is gone, and others that are wrong; what is right is not written again."""
    before = kept(superuser)
    name = sql.Identifier(table)
    places = sql.SQL("SELECT larp, ctid FROM skuggbok.{} WHERE larp = 1").format(name)
    untouched = set(superuser.execute(places).fetchall())
    superuser.execute(
        sql.SQL("DELETE FROM skuggbok.{0} WHERE ctid = (SELECT min(ctid) FROM skuggbok.{0} WHERE larp = 1)").format(
            name
        )
    )
    superuser.execute(
        sql.SQL(
            "UPDATE skuggbok.{0} SET position = position + 1000"
            " WHERE ctid = (SELECT max(ctid) FROM skuggbok.{0} WHERE larp = 1)"
        ).format(name)
    )
    assert projection.name in {check for check, _ in await findings(connection)}
    result = await rebuild.rebuild(connection, "north", [projection])
    assert result.rows >= 1
    assert kept(superuser) == before
    assert await findings(connection) == []
    assert left_behind(superuser) == []
    same = untouched & set(superuser.execute(places).fetchall())
    assert len(same) >= len(untouched) - 2, "rows that were right lie where they lay"


async def test_what_is_right_is_not_written_at_all(
    weekend: Writers, connection: Connection, superuser: psycopg.Connection
) -> None:
    seen: list[tuple[int, int]] = []
    head = (await queries.larp(connection, "north")).position
    result = await rebuild.rebuild(connection, "north", PROJECTIONS, lambda done, of: seen.append((done, of)))
    assert result == rebuild.Rebuilt(head, 0)
    assert seen[-1] == (head, head)


async def test_a_whole_projection_is_built_from_nothing(
    weekend: Writers, connection: Connection, superuser: psycopg.Connection
) -> None:
    before = kept(superuser)
    for _, table in TABLES:
        superuser.execute(sql.SQL("DELETE FROM skuggbok.{} WHERE larp = 1").format(sql.Identifier(table)))
    await rebuild.rebuild(connection, "north", PROJECTIONS)
    assert kept(superuser) == before


async def test_a_larp_that_is_not_there_is_refused(weekend: Writers, connection: Connection) -> None:
    with pytest.raises(UnknownLarp):
        await rebuild.rebuild(connection, "nowhere", PROJECTIONS)


# ---- readers and writers ----


async def waits_for_a_lock(superuser: psycopg.Connection, count: int = 1) -> None:
    """Until so many sessions of this database wait for somebody."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    while superuser.execute(query).fetchone() != (count,):  # noqa: ASYNC110  # the database has no event to wait for
        await asyncio.sleep(0)


async def test_an_append_that_waits_for_the_change_works_on_the_new_rows(
    weekend: Writers, connection: Connection, superuser: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alva's row is missing. A change of her name comes in the middle of the rebuild, and must not miss the new one."""
    superuser.execute("DELETE FROM skuggbok.character WHERE larp = 1 AND character = 'alva'")
    change = purses.ChangeCharacter("alva", purses.CharacterChanges(name="Alva the Late"))
    exchange, waiting = rebuild._Rebuild._exchange, []

    async def meet(self: rebuild._Rebuild, table: str) -> None:
        if table == "character":
            waiting.append(asyncio.create_task(weekend.submit("north", change, ACTOR)))
            await waits_for_a_lock(superuser)
        await exchange(self, table)
        if table == "character":
            # Whoever reads waits for nobody, and sees nothing of it yet.
            query = "SELECT FROM skuggbok.character WHERE larp = 1 AND character = 'alva'"
            assert superuser.execute(query).fetchall() == []
            assert not waiting[0].done()

    monkeypatch.setattr(rebuild._Rebuild, "_exchange", meet)
    await rebuild.rebuild(connection, "north", PROJECTIONS)
    await waiting[0]
    names = {row.character: row.name for row in await queries.characters(connection, "north", None, 99)}
    assert names["alva"] == "Alva the Late"
    assert await findings(connection) == []


async def test_what_is_recorded_between_comparing_and_changing_places_is_not_lost(
    weekend: Writers, connection: Connection, superuser: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One append to a wrong row, and one to a row that was right, before the lock."""
    superuser.execute("UPDATE skuggbok.pot SET paid_in = 999 WHERE larp = 1")
    superuser.execute("DELETE FROM skuggbok.balance WHERE larp = 1 AND account = 'purse/alva'")
    lock = rebuild._Rebuild._lock

    async def late(self: rebuild._Rebuild) -> None:
        for character in ("alva", "birk"):
            await weekend.submit("north", purses.Grant(to=character, asset="krona", amount=3), ACTOR)
        await lock(self)

    monkeypatch.setattr(rebuild._Rebuild, "_lock", late)
    result = await rebuild.rebuild(connection, "north", PROJECTIONS)
    assert result.position == (await queries.larp(connection, "north")).position
    assert await findings(connection) == []


async def test_a_table_that_is_held_by_somebody_is_waited_for(
    weekend: Writers, connection: Connection, superuser: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is asked for again and again, so that writers never queue up behind it for long."""
    monkeypatch.setattr(rebuild, "LOCK_TIMEOUT", "20ms")
    superuser.execute("DELETE FROM skuggbok.pot WHERE larp = 1")
    monkeypatch.setattr(rebuild, "ATTEMPTS", 2)
    with superuser.transaction():
        superuser.execute("LOCK TABLE skuggbok.pot IN ROW EXCLUSIVE MODE")
        with pytest.raises(rebuild.Busy):
            await rebuild.rebuild(connection, "north", PROJECTIONS)
    assert rows(superuser, "pot") == []
    assert left_behind(superuser) == []
    await rebuild.rebuild(connection, "north", PROJECTIONS)
    assert await findings(connection) == []


# ---- halting ----


class Stumbling(Pots):
    """A projection that trips over one event."""

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]:
        if any(applied.recorded.position == 7 for applied in batch):
            raise ValueError("what alva's cup shows")
        return super().parameters(batch)


async def test_a_projection_that_cannot_apply_an_event_halts_and_says_where(
    weekend: Writers, connection: Connection, superuser: psycopg.Connection
) -> None:
    before = kept(superuser)
    superuser.execute("UPDATE skuggbok.pot SET paid_in = 999 WHERE larp = 1")
    wrong = rows(superuser, "pot")
    with pytest.raises(ProjectionHalted, match="projection pots cannot apply the event at position 7: ValueError"):
        await rebuild.rebuild(connection, "north", [Stumbling()])
    assert rows(superuser, "pot") == wrong, "what is kept stays as it was"
    assert left_behind(superuser) == []
    (stale,) = await versions.stale(connection)
    assert (stale.larp, stale.name, stale.position, stale.reason) == ("north", "pots", 7, "ValueError")
    await rebuild.rebuild(connection, "north", [Pots()])
    assert await versions.stale(connection) == []
    assert kept(superuser) == before


async def test_the_database_may_be_what_refuses_an_event(
    weekend: Writers, connection: Connection, superuser: psycopg.Connection
) -> None:
    """The reason names the rule, and shows no row."""
    superuser.execute("ALTER TABLE skuggbok.pot ADD CONSTRAINT pot_is_small CHECK (paid_in < 2) NOT VALID")
    with pytest.raises(
        ProjectionHalted, match=r'projection pots cannot .* position [0-9]+: .*"pot_is_small"$'
    ) as halted:
        await rebuild.rebuild(connection, "north", PROJECTIONS)
    assert [stale.position for stale in await versions.stale(connection)] == [halted.value.position]


async def test_a_journal_that_is_damaged_halts_all_projections(
    weekend: Writers, connection: Connection, superuser: psycopg.Connection
) -> None:
    before = kept(superuser)
    superuser.execute("SET session_replication_role = replica")
    superuser.execute("UPDATE skuggbok.event SET body = replace(body::text, '7b', '7c')::bytea WHERE position = 9")
    with pytest.raises(ProjectionHalted, match="position 9: its hash does not follow"):
        await rebuild.rebuild(connection, "north", PROJECTIONS)
    assert {stale.name for stale in await versions.stale(connection)} == {each.name for each in PROJECTIONS}
    assert kept(superuser) == before


async def test_a_projection_that_halts_an_append_is_named_until_it_is_rebuilt(
    weekend: Writers, connection: Connection, superuser: psycopg.Connection
) -> None:
    """Somebody has put an asset there by hand: the event that defines it cannot be applied, so it is not recorded."""
    superuser.execute("INSERT INTO skuggbok.asset VALUES (1, 'feather', 'token', 'Feather', 1)")
    head = (await queries.larp(connection, "north")).position
    define = purses.DefineAsset(asset="feather", kind="token", name="Feather")
    for _ in range(2):
        with pytest.raises(ProjectionHalted, match=f"directory cannot apply the event at position {head + 1}"):
            await weekend.submit("north", define, ACTOR)
    assert (await queries.larp(connection, "north")).position == head
    (stale,) = await versions.stale(connection)
    assert (stale.larp, stale.name, stale.position) == ("north", "directory", head + 1)
    await rebuild.rebuild(connection, "north", [each for each in PROJECTIONS if each.name == "directory"])
    assert await versions.stale(connection) == []
    assert (await weekend.submit("north", define, ACTOR)).position == head + 1


# ---- versions ----


class Newer(Pots):
    version = 2


async def test_a_version_that_changed_is_noticed_and_mended(weekend: Writers, connection: Connection) -> None:
    await versions.notice(connection)
    for larp in ("north", "south"):
        await rebuild.rebuild(connection, larp, PROJECTIONS)
    assert await versions.stale(connection) == [], "all of them are of the versions that are written"
    await versions.notice(connection)
    assert await versions.stale(connection) == [], "the same versions again"
    newer = [Newer() if each.name == "pots" else each for each in PROJECTIONS]
    await asyncio.gather(*(versions.notice(connection, newer) for _ in range(3)))
    found = await versions.stale(connection)
    assert [(stale.larp, stale.name, stale.position) for stale in found] == [
        ("north", "pots", None),
        ("south", "pots", None),
    ]
    assert "`skuggbok rebuild pots` mends it" in str(found[0])
    await rebuild.rebuild(connection, "north", [Newer()])
    assert [stale.larp for stale in await versions.stale(connection)] == ["south"]
    await rebuild.rebuild(connection, "south", [Newer()])
    assert await versions.stale(connection) == []


async def test_a_projection_that_is_new_is_stale_where_there_is_a_journal_already(
    weekend: Writers, connection: Connection
) -> None:
    await versions.notice(connection)
    known = {"directory", "balances", "entries", "pots", "tables"}
    assert {stale.name for stale in await versions.stale(connection)} == {each.name for each in PROJECTIONS} - known


async def test_a_larp_that_begins_later_has_nothing_stale(weekend: Writers, connection: Connection) -> None:
    await versions.notice(connection)
    await weekend.found(purses.FoundLarp(larp="west", name="West"), ACTOR)
    await versions.notice(connection)
    assert "west" not in {stale.larp for stale in await versions.stale(connection)}
