"""What one wants to know is what the postings say, as soon as the write is answered."""

from datetime import timedelta

import msgspec
import pytest

from ledger import purses
from ledger.book import ActRequest
from ledger.database import Database
from ledger.errors import UnknownCharacter, UnknownLarp, UnknownPosition, UnknownTable
from ledger.games.schocken.messages import OpenSchocken
from ledger.games.skuggkast.messages import OpenSkuggkast
from ledger.games.table import Sum
from ledger.messages import Actor
from ledger.writer import Writers
from projections import queries

ACTOR = Actor(role="organiser", token="tok_test")


@pytest.fixture
async def tavern(writers: Writers) -> Writers:
    """A LARP with three characters, one of them poor and with credit, and an open table."""
    await writers.found(purses.FoundLarp(larp="north", name="North", language="sv"), ACTOR)
    for command in (
        purses.DefineAsset(asset="krona", kind="token", name="Krona"),
        purses.AddCharacter(character="alva", name="Alva"),
        purses.AddCharacter(character="birk", name="Birk", credit_limit={"krona": 9}),
        purses.AddCharacter(character="embla", name="Embla"),
        purses.Grant(to="alva", asset="krona", amount=10),
        purses.Grant(to="birk", asset="krona", amount=2),
        purses.IssueNote(debtor="birk", creditor="alva", asset="krona", amount=4),
        OpenSkuggkast(table="t1", seats=("alva", "birk"), stake=Sum("krona", 3), credit=True, dice="service"),
    ):
        await writers.submit("north", command, ACTOR)
    return writers


async def test_a_purse_holds_tokens_and_notes_apart(tavern: Writers, database: Database) -> None:
    async with database.connection() as connection:
        alva, birk, embla = await queries.purses(connection, "north", None, 10)
    assert (alva.balances, alva.owed, alva.owes) == ({"krona": 7}, [queries.Owed("birk", "krona", 4)], [])
    assert birk.balances == {}
    assert birk.owes == [queries.Owes("krona", 1, table="t1"), queries.Owes("krona", 4, creditor="alva")]
    assert (embla.name, embla.balances, embla.owes, embla.owed, embla.position) == ("Embla", {}, [], [], 9)


async def test_a_statement_has_each_movement_with_the_balance_after(tavern: Writers, database: Database) -> None:
    async with database.connection() as connection:
        rows = await queries.statement(connection, "north", "birk", None, 10)
        assert [(r.position, r.account, r.change, r.balance) for r in rows] == [
            (9, "debtor/birk", -1, -5),
            (9, "purse/birk", -2, 0),
            (8, "debtor/birk", -4, -4),
            (7, "purse/birk", 2, 2),
        ]
        assert await queries.statement(connection, "north", "birk", (9, rows[1].line), 1) == [rows[2]]
        assert await queries.statement(connection, "north", "embla", None, 10) == []
        with pytest.raises(UnknownCharacter):
            await queries.statement(connection, "north", "nobody", None, 10)


async def test_what_is_hidden_is_shown_until_it_is_uncovered(tavern: Writers, database: Database) -> None:
    async def act(body: bytes) -> None:
        await tavern.submit("north", ActRequest("t1", body), ACTOR)

    async def active() -> str:
        async with database.connection() as connection:
            view = await queries.table(connection, "north", "t1")
        return "alva" if b'"turn":"alva"' in view else "birk" if b'"turn":"birk"' in view else ""

    while not await active():
        for seat in ("alva", "birk"):
            if not await active():
                await act(b'{"action":"roll_off","seat":"%b"}' % seat.encode())
    first = await active()
    other = "birk" if first == "alva" else "alva"
    await act(b'{"action":"roll","seat":"%b"}' % first.encode())
    async with database.connection() as connection:
        (cup,) = await queries.sealed(connection, "north", "t1", first)
        assert (cup.seat, cup.what) == (first, "cup")
        assert await queries.sealed(connection, "north", "t1", other) == []
        assert await queries.sealed(connection, "north", "t1", None) == [cup]
    await act(b'{"action":"claim","seat":"%b","symbol":"moon","number":1,"shadow":"neutral"}' % first.encode())
    await act(b'{"action":"challenge","seat":"%b"}' % other.encode())
    async with database.connection() as connection:
        assert await queries.sealed(connection, "north", "t1", None) == []


async def test_events_are_found_by_what_they_say(tavern: Writers, database: Database) -> None:
    async with database.connection() as connection:

        async def found(**filters: object) -> list[int]:
            rows = await queries.events(connection, "north", queries.EventFilter(**filters), 100)
            return [position for position, _ in rows]

        assert await found() == list(range(1, 10))
        assert await found(after=3, before=6) == [4, 5]
        assert await found(type="purse.granted") == [6, 7]
        assert await found(table="t1") == [9]
        assert await found(table="t1", type="purse.granted") == []
        assert await found(account="purse/alva") == [6, 8, 9]
        assert await found(character="birk") == [4, 7, 8, 9]
        assert await found(character="birk", table="t1") == [9]
        assert await found(character="birk", account="purse/alva") == [8, 9], "filters apply together"
        assert await found(character="embla", account="purse/alva") == []
        rows = await queries.events(connection, "north", queries.EventFilter(character="birk"), 2)
        assert [position for position, _ in rows] == [4, 7]


async def test_no_page_skips_an_event_with_many_movements(tavern: Writers, database: Database) -> None:
    """An event may move the same asset of one account many times; a page counts events, not movements."""
    seats = ("alva", "birk", "embla")
    for number in range(5):
        for name in (f"x{number}{at}" for at in range(5)):
            await tavern.submit("north", purses.AddCharacter(character=name, name=name), ACTOR)
        table = f"s{number}"
        await tavern.submit(
            "north", OpenSchocken(table=table, seats=(*seats, *(f"x{number}{at}" for at in range(5)))), ACTOR
        )
        rolls = 0
        while rolls < 400:
            async with database.connection() as connection:
                view = msgspec.json.decode(await queries.table(connection, "north", table))
            if view["phase"] == "closed":
                break
            seat = view["waiting_for"][0]
            sides = [1, 1, 1] if seat != "alva" else [2, 2, 1]
            action = {"action": "throw", "seat": seat, "dice": sides}
            me = next(each for each in view["seats"] if each["character"] == seat)
            if me["throws"]:
                action = {"action": "stand", "seat": seat}
            await tavern.submit("north", ActRequest(table, msgspec.json.encode(action)), ACTOR)
            rolls += 1
    async with database.connection() as connection:
        every = await queries.events(connection, "north", queries.EventFilter(character="alva"), 1000)
        paged = [0]
        while True:
            filter_ = queries.EventFilter(character="alva", after=paged[-1])
            page = await queries.events(connection, "north", filter_, 2)
            if not page:
                break
            paged += [position for position, _ in page]
    assert paged[1:] == [position for position, _ in every]


async def test_events_are_found_by_when_they_were_recorded(tavern: Writers, database: Database) -> None:
    """`since` is included, `until` is not; the search needs a probe for each halving, not an index on time."""
    async with database.connection() as connection:
        cursor = await connection.execute("SELECT recorded_at FROM skuggbok.event ORDER BY position")
        times = [row[0] for row in await cursor.fetchall()]
        for at, time in enumerate(times, start=1):
            since = await queries.events(connection, "north", queries.EventFilter(since=time), 100)
            assert [position for position, _ in since] == list(range(at, 10))
            until = await queries.events(connection, "north", queries.EventFilter(until=time), 100)
            assert [position for position, _ in until] == list(range(1, at))
        late = queries.EventFilter(since=times[-1] + timedelta(seconds=1))
        assert await queries.events(connection, "north", late, 100) == []


async def test_what_is_not_there_is_said(tavern: Writers, database: Database) -> None:
    async with database.connection() as connection:
        with pytest.raises(UnknownLarp):
            await queries.purses(connection, "south", None, 1)
        with pytest.raises(UnknownCharacter):
            await queries.purse(connection, "north", "nobody")
        with pytest.raises(UnknownTable):
            await queries.table(connection, "north", "nowhere")
        with pytest.raises(UnknownTable):
            await queries.sealed(connection, "north", "nowhere", None)
        with pytest.raises(UnknownPosition):
            await queries.event(connection, "north", 10)


async def test_lists_and_counts(tavern: Writers, database: Database) -> None:
    async with database.connection() as connection:
        assert await queries.larps(connection, None, None, 5) == [
            queries.LarpRow("north", "North", "sv", position=9, characters=3, assets=4, tables=1)
        ]
        names = [row.asset for row in await queries.assets(connection, "north")]
        assert names == ["drink", "krona", "lid", "schnapps"]
        (birk,) = await queries.characters(connection, "north", "alva", 1)
        assert (birk.character, birk.credit_limit) == ("birk", {"krona": 9})
        assert [name for name, _ in await queries.tables(connection, "north", "skuggkast", None, None, 5)] == ["t1"]
        assert await queries.tables(connection, "north", None, "closed", None, 5) == []
