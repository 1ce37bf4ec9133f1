"""Webhooks of a LARP `north`, delivered by workers of this process to a receiver on loopback."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import psycopg
import pytest

from api.webhooks import store
from api.webhooks.attempts import Sender
from api.webhooks.delivery import Deliveries
from api.webhooks.model import MadeWebhook, NewWebhook, Webhook
from api.webhooks.store import Keeper
from ledger.database import Database
from ledger.errors import Unavailable
from ledger.listener import Listener
from ledger.writer import Writers
from tests.ledger.test_writer import founded
from tests.webhooks.receiver import DEADLINE_S, Receiver, receiving


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


class Hooks:
    """What a test does with webhooks. `key`: the database's own."""

    def __init__(self, database: Database, writers: Writers, key: bytes) -> None:
        self.database = database
        self.writers = writers
        self.keeper = Keeper(key, private=True)

    async def create(self, new: NewWebhook) -> MadeWebhook:
        async with self.database.connection() as connection:
            made, _ = await self.keeper.create(connection, "north", new, None)
        return made

    async def get(self, id_: str) -> Webhook:
        async with self.database.connection() as connection:
            return await store.one(connection, "north", id_)

    async def until(self, id_: str, state: Callable[[Webhook], bool]) -> Webhook:
        """Wait until it is so."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                with suppress(Unavailable):  # where a test breaks all connections, ours too
                    webhook = await self.get(id_)
                    if state(webhook):
                        return webhook
                await asyncio.sleep(0.01)

    async def pass_time(self, seconds: float, *, leases: bool = False) -> None:
        """Everything that is due or ends at some time does so by so much earlier."""
        await pass_time(self.database.url, seconds, leases=leases)

    @asynccontextmanager
    async def delivering(self, *, chance: float = 0.0) -> AsyncIterator[Deliveries]:
        """A worker as a process has it, with connections of its own."""
        async with (
            Database(self.database.url, connections_max=4) as database,
            Listener(database.url) as listener,
            Sender(private=True) as sender,
            Deliveries(
                database, listener, sender, self.writers.secret_key, asyncio.Event(), chance=lambda: chance
            ) as deliveries,
        ):
            yield deliveries


async def pass_time(url: str, seconds: float, *, leases: bool = False) -> None:
    """`leases`: also for whoever delivers at the moment, as if it had stalled or died."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        passed = {"passed": timedelta(seconds=seconds)}
        await connection.execute("UPDATE skuggbok.webhook SET due_at = due_at - %(passed)s", passed)
        await connection.execute("UPDATE skuggbok.webhook_secret SET until = until - %(passed)s", passed)
        if leases:
            await connection.execute("UPDATE skuggbok.webhook SET leased_until = leased_until - %(passed)s", passed)
        await connection.execute("SELECT pg_notify('skuggbok_webhooks', 'changed')")


@pytest.fixture
async def hooks(database: Database, writers: Writers) -> Hooks:
    """The journal of `north` ends at position 6."""
    await founded(writers)
    return Hooks(database, writers, await writers.secret_key())
