"""The live feed: the journal as server-sent events, each exactly once and in order, from any position on.

Each process reads what is new of a LARP once, whoever listens there, and keeps the last events at hand; who lags
behind those reads the journal for itself. Source: WHATWG HTML, 9.2 (server-sent events).
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager

import msgspec
from litestar import Litestar
from msgspec import Struct

from ledger import money
from ledger.database import Database
from ledger.errors import Unavailable
from ledger.listener import NEWS, REVOKED, Listener
from ledger.messages import Posting
from projections import queries
from projections.queries import EventFilter

HEARTBEAT_S = 15.0
"""A comment is sent whenever nothing else was for so long, so that proxies and clients know that it lives."""
PAGE = 500
KEPT = 2_000
"""Events that each LARP with listeners keeps at hand."""
RETRY_MS = 2_000
"""How long a client waits before it connects again."""
LOOK_AGAIN_S = 1.0


class _Shown(Struct, frozen=True):
    """What the filters look at."""

    type: str
    table: str | None
    recorded_at: str
    data: msgspec.Raw
    postings: tuple[Posting, ...]


class _Concerned(Struct, frozen=True):
    seat: str | None = None
    character: str | None = None


class Item(Struct, frozen=True):
    """One event as it is sent, and what filters ask of it."""

    position: int
    sent: bytes
    type: str
    table: str | None
    character: str | None
    accounts: frozenset[str]

    def matches(self, filter: EventFilter) -> bool:
        """The same as projections.queries.events, but for times: a feed has no `since` and `until`."""
        return (
            (filter.type is None or self.type == filter.type)
            and (filter.table is None or self.table == filter.table)
            and (filter.account is None or filter.account in self.accounts)
            and (filter.character is None or self._concerns(filter.character))
        )

    def _concerns(self, character: str) -> bool:
        accounts = {money.purse(character), money.debtor(character)}
        return self.character == character or bool(accounts & self.accounts)


_shown = msgspec.json.Decoder(_Shown)
_concerned = msgspec.json.Decoder(_Concerned)


def item(position: int, event: bytes) -> Item:
    """An event as the journal shows it, for sending."""
    shown = _shown.decode(event)
    concerned = _concerned.decode(shown.data)
    accounts = frozenset(account for posting in shown.postings for account in (posting.from_, posting.to))
    return Item(
        position, framed(position, event), shown.type, shown.table, concerned.seat or concerned.character, accounts
    )


def framed(position: int, event: bytes) -> bytes:
    """JSON of ours is one line, so it is one `data` field. The name of all events is the default, `message`."""
    return b"id: %d\ndata: %b\n\n" % (position, event)


class _Subscription:
    """One open stream: what wakes it, and whether its token must be looked up again."""

    def __init__(self) -> None:
        self.wake = asyncio.Event()
        self.doubted = False

    def doubt(self) -> None:
        self.doubted = True
        self.wake.set()


class _LarpFeed:
    """What is new in one LARP, read once for all who listen. `start` < positions of `recent` <= `end`."""

    def __init__(self, larp: str, database: Database, end: int) -> None:
        self.larp = larp
        self._database = database
        self.end = end
        self.recent: deque[Item] = deque(maxlen=KEPT)
        self.subscriptions: set[_Subscription] = set()
        self.look = asyncio.Event()

    @property
    def start(self) -> int:
        return self.end - len(self.recent)

    def after(self, position: int) -> Sequence[Item]:
        """What is at hand after a position that is not before `start`."""
        return [self.recent[at] for at in range(position - self.start, len(self.recent))]

    async def run(self) -> None:
        """Read whenever there may be something new, until cancelled."""
        while True:
            await self.look.wait()
            self.look.clear()
            try:
                await self._read()
            except Unavailable:
                await asyncio.sleep(LOOK_AGAIN_S)
                self.look.set()

    async def _read(self) -> None:
        while True:
            async with self._database.connection() as connection:
                rows = await queries.events(connection, self.larp, EventFilter(after=self.end), PAGE)
            for position, event in rows:
                self.recent.append(item(position, event))
                self.end = position
            if rows:
                for subscription in self.subscriptions:
                    subscription.wake.set()
            if len(rows) < PAGE:
                return


class Feeds:
    """The feeds of all LARPs of this process. Use it with `async with`; at the end of the block all streams end."""

    def __init__(self, database: Database, listener: Listener, stopping: asyncio.Event) -> None:
        self._database = database
        self._listener = listener
        self._stopping = stopping
        self._feeds: dict[str, tuple[_LarpFeed, asyncio.Task[None], ExitStack]] = {}
        self._subscriptions: set[_Subscription] = set()
        self._ending: asyncio.Task[None] | None = None

    @property
    def open_streams(self) -> int:
        return len(self._subscriptions)

    async def __aenter__(self) -> "Feeds":
        self._ending = asyncio.get_running_loop().create_task(self._end_all())
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._ending is not None, "entered"
        self._stopping.set()
        await self._ending

    async def _end_all(self) -> None:
        await self._stopping.wait()
        for subscription in self._subscriptions:
            subscription.wake.set()

    async def stream(
        self, larp: str, filter: EventFilter, token: str, is_valid: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[bytes]:
        """All events after `filter.after` that match, as they come. It ends when the process stops, or the token is
        no longer valid; `is_valid` asks the database."""
        subscription = _Subscription()
        feed = await self._joined(larp, subscription)
        try:
            with self._listener.calling(REVOKED, token, subscription.doubt):
                yield b"retry: %d\n\n" % RETRY_MS
                async for chunk in self._events(feed, subscription, filter, is_valid):
                    yield chunk
        finally:
            self._left(feed, subscription)

    async def _events(
        self, feed: _LarpFeed, subscription: _Subscription, filter: EventFilter, is_valid: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[bytes]:
        position = filter.after
        while not self._stopping.is_set():
            subscription.wake.clear()
            if subscription.doubted:
                subscription.doubted = False
                if not await self._still(is_valid):
                    return
            if position < feed.start:
                chunks, position = await self._older(feed, filter, position)
                if chunks:
                    yield b"".join(chunks)
                continue
            items = feed.after(position)
            if items:
                position = items[-1].position
                if sent := b"".join(each.sent for each in items if each.matches(filter)):
                    yield sent
                continue
            try:
                await asyncio.wait_for(subscription.wake.wait(), HEARTBEAT_S)
            except TimeoutError:
                subscription.doubted = True  # tokens also end by themselves
                yield b": still here\n\n"

    async def _still(self, is_valid: Callable[[], Awaitable[bool]]) -> bool:
        """While the database is away nobody can tell, and there is nothing new to show either."""
        try:
            return await is_valid()
        except Unavailable:
            return True

    async def _older(self, feed: _LarpFeed, filter: EventFilter, position: int) -> tuple[Sequence[bytes], int]:
        """A page from the journal, up to where the events at hand begin, and how far it went."""
        upto = feed.start
        wanted = msgspec.structs.replace(filter, after=position, before=upto + 1)
        try:
            async with self._database.connection() as connection:
                rows = await queries.events(connection, feed.larp, wanted, PAGE)
        except Unavailable:
            await asyncio.sleep(LOOK_AGAIN_S)
            return [], position
        return [framed(at, event) for at, event in rows], rows[-1][0] if len(rows) == PAGE else upto

    async def _joined(self, larp: str, subscription: _Subscription) -> _LarpFeed:
        if larp not in self._feeds:
            async with self._database.connection() as connection:
                head = (await queries.larp(connection, larp)).position
            if larp not in self._feeds:  # somebody else may have begun meanwhile
                feed, stack = _LarpFeed(larp, self._database, head), ExitStack()
                stack.enter_context(self._listener.calling(NEWS, larp, feed.look.set))
                feed.look.set()
                self._feeds[larp] = (feed, asyncio.get_running_loop().create_task(feed.run()), stack)
        feed = self._feeds[larp][0]
        feed.subscriptions.add(subscription)
        self._subscriptions.add(subscription)
        return feed

    def _left(self, feed: _LarpFeed, subscription: _Subscription) -> None:
        """The last to leave turns out the light."""
        self._subscriptions.discard(subscription)
        feed.subscriptions.discard(subscription)
        if not feed.subscriptions and feed.larp in self._feeds and self._feeds[feed.larp][0] is feed:
            _, task, stack = self._feeds.pop(feed.larp)
            task.cancel()
            stack.close()


@asynccontextmanager
async def live_feeds(app: Litestar) -> AsyncIterator[None]:
    """`app.state.feeds`, as long as the application lives. They hear by `app.state.listener`, which lives longer."""
    database: Database = app.state.services.database
    async with Feeds(database, app.state.listener, app.state.stopping) as feeds:
        app.state.feeds = feeds
        yield
