"""The live feed: every event exactly once, in order, whatever breaks."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from api import feed
from api.feed import Feeds
from ledger import purses
from ledger.book import ActRequest
from ledger.database import Database
from ledger.games.skuggkast.messages import OpenSkuggkast, Rules
from ledger.games.table import Sum
from ledger.journal import Journals
from ledger.listener import Listener
from ledger.writer import Writers
from projections.queries import EventFilter
from projections.runner import PROJECTIONS
from tests.ledger.test_writer import ACTOR, founded, transfer


@pytest.fixture
def template(server: str) -> str:
    """An empty, migrated database: no world is needed here."""
    from ledger.migrations import migrate

    name = "skuggbok_template_feed"
    with psycopg.connect(server, autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone() is None:
            connection.execute(f"CREATE DATABASE {name}")
            migrate(psycopg.conninfo.make_conninfo(server, dbname=name))
    return name


@pytest.fixture
async def feeds(database: Database) -> AsyncIterator[Feeds]:
    stopping = asyncio.Event()
    async with Listener(database.url) as listener, Feeds(database, listener, stopping) as made:
        yield made


async def always() -> bool:
    return True


@asynccontextmanager
async def listening(
    feeds: Feeds, valid: Callable[[], Any] = always, token: str = "tok_test", **filters: Any
) -> AsyncIterator[AsyncIterator[tuple[int, dict[str, Any]]]]:
    """The events of one stream, with their positions."""
    chunks = feeds.stream("north", EventFilter(**filters), token, valid)

    async def events() -> AsyncIterator[tuple[int, dict[str, Any]]]:
        async for chunk in chunks:
            for frame in chunk.decode().split("\n\n"):
                if frame.startswith("id: "):
                    id_, data = frame.split("\n", 1)
                    event = json.loads(data.removeprefix("data: "))
                    assert event["position"] == int(id_.removeprefix("id: "))
                    yield event["position"], event

    try:
        yield events()
    finally:
        await chunks.aclose()  # type: ignore[attr-defined]  # it is a generator


async def positions(events: AsyncIterator[tuple[int, Any]], upto: int) -> list[int]:
    found: list[int] = []
    while not found or found[-1] < upto:
        found.append((await asyncio.wait_for(anext(events), 30))[0])
    return found


async def test_what_was_and_what_comes_without_a_gap_or_repeat(writers: Writers, feeds: Feeds) -> None:
    await founded(writers)
    async with listening(feeds) as events:
        assert await positions(events, 6) == [1, 2, 3, 4, 5, 6]
        sending = asyncio.gather(*(writers.submit("north", transfer(), ACTOR) for _ in range(40)))
        assert await positions(events, 46) == list(range(7, 47))
        await sending
    async with listening(feeds, after=44) as events:
        assert await positions(events, 46) == [45, 46]


async def test_who_lags_behind_reads_the_journal(
    writers: Writers, feeds: Feeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow listener loses nothing when the events at hand have moved on."""
    monkeypatch.setattr(feed, "KEPT", 5)
    monkeypatch.setattr(feed, "PAGE", 7)
    await founded(writers)
    async with listening(feeds) as slow, listening(feeds) as fast:
        assert await positions(slow, 1) == [1]
        for _ in range(30):
            await writers.submit("north", transfer(), ACTOR)
        assert await positions(fast, 36) == list(range(1, 37))
        assert await positions(slow, 36) == list(range(2, 37))


async def test_filters_let_the_same_through_as_the_list(writers: Writers, feeds: Feeds) -> None:
    await founded(writers, characters=3)
    opening = OpenSkuggkast(table="t1", seats=("c0", "c1"), stake=Sum("krona", 3), rules=Rules(starter="c0"))
    claim = b'{"action":"claim","seat":"c0","symbol":"moon","number":1,"shadow":"neutral"}'
    filters = [
        {"type": "purse.transferred"},
        {"table": "t1"},
        {"character": "c0"},
        {"account": "pot/t1"},
        {"character": "c2"},
    ]
    async with listening(feeds) as everything:
        await positions(everything, 8)  # the feed lives: what comes now is kept at hand
        streams = [listening(feeds, **filter_) for filter_ in filters]
        opened = [await stream.__aenter__() for stream in streams]
        first = [asyncio.ensure_future(anext(events)) for events in opened]
        await writers.submit("north", opening, ACTOR)
        await writers.submit("north", ActRequest("t1", claim), ACTOR)
        await writers.submit("north", transfer(1, "c0", "c2"), ACTOR)
        await writers.submit("north", transfer(1, "c1", "c2"), ACTOR)
        expected = [[11, 12], [9, 10], [4, 5, 9, 10, 11], [9], [7, 8, 11, 12]]
        expected[2] = [3, 4, 9, 10, 11]
        for (start, events), want in zip(zip(first, opened, strict=True), expected, strict=True):
            found = [(await start)[0]]
            found += await positions(events, want[-1]) if found[-1] < want[-1] else []
            assert found == want
        for stream in streams:
            await stream.__aexit__(None, None, None)


async def test_a_lost_connection_is_not_noticed(writers: Writers, feeds: Feeds, server: str, database_url: str) -> None:
    """After each reconnection everybody looks: a notice that nobody heard is no gap."""
    await founded(writers)
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
    async with listening(feeds) as events:
        assert await positions(events, 6) == [1, 2, 3, 4, 5, 6]
        async with await psycopg.AsyncConnection.connect(server, autocommit=True) as killer:
            for at in range(7, 17):
                await killer.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = %s AND pid <> pg_backend_pid()",
                    (name,),
                )
                await writers.submit("north", transfer(), ACTOR)
                assert await positions(events, at) == [at]


async def test_a_revoked_token_ends_its_stream_at_once(writers: Writers, feeds: Feeds, database: Database) -> None:
    await founded(writers)
    valid = True

    async def is_valid() -> bool:
        return valid

    async with listening(feeds, is_valid, "tok_gone") as events, listening(feeds) as others:
        await positions(events, 6)
        await positions(others, 6)
        valid = False
        async with database.connection() as connection:
            await connection.execute("SELECT pg_notify('skuggbok_revoked', 'tok_gone')")
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(anext(events), 10)
        await writers.submit("north", transfer(), ACTOR)
        assert await positions(others, 7) == [7]
    assert feeds.open_streams == 0


async def test_a_quiet_stream_has_a_heartbeat(writers: Writers, feeds: Feeds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "HEARTBEAT_S", 0.01)
    await founded(writers)
    chunks = feeds.stream("north", EventFilter(after=6), "tok_test", always)
    assert await anext(chunks) == b"retry: 2000\n\n"
    assert await anext(chunks) == b": still here\n\n"
    await chunks.aclose()  # type: ignore[attr-defined]  # it is a generator


async def test_another_process_hears_it_too(feeds: Feeds, writers: Writers, database_url: str) -> None:
    await founded(writers)
    async with Database(database_url) as other_database, listening(feeds, after=6) as events:
        there = Writers(Journals(other_database, PROJECTIONS))
        waiting = asyncio.ensure_future(anext(events))
        await there.submit("north", purses.Grant(to="c0", asset="krona", amount=1), ACTOR)
        position, event = await asyncio.wait_for(waiting, 10)
        assert (position, event["type"]) == (7, "purse.granted")
        await there.close()
