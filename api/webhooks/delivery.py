"""Delivering: of all processes exactly one works on a webhook at a time, event by event in order, until it fails.

One task of the process sleeps until something was recorded or an attempt is due, takes what nobody else has taken,
and has each webhook delivered in a task of its own. What is written down is how far each got; whatever breaks after
an event arrived and before that was written down leads to its being sent again.
"""

import asyncio
import os
import random
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress

import structlog
from litestar import Litestar

from api.metrics import Metrics
from api.requests import Services
from api.webhooks import message
from api.webhooks.attempts import ATTEMPT_S, Delivered, Failed, Sender, wait_s
from api.webhooks.queue import LEASE_S, Backlog, Leased, Queue, SwitchedOff, backlog
from ledger.database import Database
from ledger.errors import Unavailable
from ledger.listener import CHANGED, NEWS, WEBHOOKS, Listener

PAGE = 100
"""Events of one webhook in a row, before others that wait have their turn."""
AT_ONCE_MAX = 32
"""Webhooks that one process delivers at the same time."""
GRACE_S = 2.0
"""How long attempts that are under way may go on after the signal to stop."""
LOOK_AGAIN_S = 1.0
COUNT_EVERY_S = 5.0
_GATHER_S = 0.01
"""Of many events that are recorded at once, one look takes all."""

Chance = Callable[[], float]
"""A number from 0 to 1."""

log = structlog.get_logger()


class Deliveries:
    """Use it with `async with`, in each process that serves. `key`: gives the database's own key.

    `backlog`: of all webhooks of the database, some seconds old at most.
    """

    def __init__(
        self,
        database: Database,
        listener: Listener,
        sender: Sender,
        key: Callable[[], Awaitable[bytes]],
        stopping: asyncio.Event,
        *,
        chance: Chance = random.random,
    ) -> None:
        self._database = database
        self._listener = listener
        self._sender = sender
        self._key = key
        self._stopping = stopping
        self._chance = chance
        self._queue = Queue(f"{os.getpid()}-{secrets.token_hex(8)}")
        self._wake = asyncio.Event()
        self._changed = True
        self._heard: dict[str, ExitStack] = {}
        self._under_way: set[asyncio.Task[None]] = set()
        self._held: list[Leased] = []
        self._count_at = 0.0
        self.backlog = Backlog(0, 0)
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Deliveries":
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._run()), loop.create_task(self._wake_to_stop())]
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._stopping.set()
        await asyncio.gather(*self._tasks)

    async def _wake_to_stop(self) -> None:
        await self._stopping.wait()
        self._wake.set()

    # ---- taking what is due ----

    async def _run(self) -> None:
        with self._listener.calling(WEBHOOKS, CHANGED, self._on_change):
            while not self._stopping.is_set():
                self._wake.clear()
                try:
                    sleep_s = await self._look()
                except Unavailable:
                    sleep_s, self._changed = LOOK_AGAIN_S, True
                except Exception as error:  # a fault of ours, whatever it is, must not end all webhooks for good
                    log.error("webhooks_fault", exc_info=error)
                    sleep_s, self._changed = LOOK_AGAIN_S, True
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), sleep_s)
                    await asyncio.sleep(_GATHER_S)
        await self._end()

    def _on_change(self) -> None:
        self._changed = True
        self._wake.set()

    async def _look(self) -> float | None:
        """Begin with whatever is due, and return for how long to sleep unless something happens."""
        async with self._database.connection() as connection:
            if self._changed:
                self._changed = False
                self._hear_of(await self._queue.larps(connection))
            while self._held:  # the database was away when they were to be released
                await self._queue.release(connection, self._held[-1])
                self._held.pop()
            if time.monotonic() >= self._count_at:
                self.backlog, self._count_at = await backlog(connection), time.monotonic() + COUNT_EVERY_S
            free = AT_ONCE_MAX - len(self._under_way)
            if free == 0:
                return None
            for leased in await self._queue.claim(connection, free):
                self._begin(leased)
            return await self._queue.next_due_s(connection)

    def _hear_of(self, larps: set[str]) -> None:
        """From now on be woken by what is recorded in these LARPs and in no others."""
        for larp in self._heard.keys() - larps:
            self._heard.pop(larp).close()
        for larp in larps - self._heard.keys():
            self._heard[larp] = ExitStack()
            self._heard[larp].enter_context(self._listener.calling(NEWS, larp, self._wake.set))

    def _begin(self, leased: Leased) -> None:
        task = asyncio.get_running_loop().create_task(self._deliver(leased))
        self._under_way.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Whatever a task raises is a fault of ours; its webhook is free again when the lease is over."""
        self._under_way.discard(task)
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("webhook_fault", exc_info=error)

    async def _end(self) -> None:
        """Let attempts finish that are about to, and leave the rest to others at once."""
        for stack in self._heard.values():
            stack.close()
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=GRACE_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        with suppress(Unavailable):  # the leases end by themselves
            async with self._database.connection() as connection:
                await self._queue.release_all(connection)

    # ---- delivering one ----

    async def _deliver(self, leased: Leased) -> None:
        """A page of events, or up to the first that does not arrive."""
        try:
            await self._page(leased)
            async with self._database.connection() as connection:
                await self._queue.release(connection, leased)
        except Unavailable:
            self._held.append(leased)

    async def _page(self, leased: Leased) -> None:
        ours_until = time.monotonic() + LEASE_S
        key = await self._key()
        signing = [message.secret_of(key, leased.id, bytes(salt)) for salt in leased.salts]
        source, attempts = message.source(leased.founding_id), leased.attempts
        async with self._database.connection() as connection:
            page = await self._queue.page(connection, leased, PAGE)
        for position, event in page.events:
            if self._stopping.is_set() or time.monotonic() + ATTEMPT_S > ours_until:
                return
            begun = time.monotonic()
            sent = message.message(leased.slug, source, position, event)
            if not await self._sent(leased, position, sent, signing, attempts):
                return
            ours_until, attempts = begun + LEASE_S, 0
        async with self._database.connection() as connection:
            await self._queue.passed(connection, leased, page.upto)

    async def _sent(
        self, leased: Leased, position: int, sent: message.Message, signing: Sequence[bytes], attempts: int
    ) -> bool:
        """One attempt, written down. Whether to go on."""
        outcome = await self._sender.attempt(leased.url, sent, signing)
        match outcome:
            case Delivered(status_code):
                async with self._database.connection() as connection:
                    return await self._queue.delivered(connection, leased, position, status_code)
            case Failed():
                await self._failed(leased, position, outcome, attempts + 1)
                return False

    async def _failed(self, leased: Leased, position: int, outcome: Failed, attempts: int) -> None:
        wait = wait_s(attempts, self._chance(), outcome.retry_after_s)
        switched_off: SwitchedOff | None = "gone" if outcome.gone else None if wait is not None else "exhausted"
        async with self._database.connection() as connection:
            counts = await self._queue.failed(
                connection,
                leased,
                position,
                status_code=outcome.status_code,
                reason=outcome.reason,
                wait_s=wait or 0.0,
                switched_off=switched_off,
            )
        if counts:
            # The URL may hold what is secret: it is not logged, and neither is anything that was answered.
            log.warning(
                "webhook_failed",
                larp=leased.slug,
                webhook=leased.id,
                position=position,
                attempts=attempts,
                reason=outcome.reason,
                switched_off=switched_off,
            )


@asynccontextmanager
async def delivering(app: Litestar) -> AsyncIterator[None]:
    """Deliver as long as the application lives. It listens with `app.state.listener`, which lives longer."""
    services: Services = app.state.services
    metrics: Metrics = app.state.metrics
    async with Sender(private=services.settings.webhooks_private == "allow") as sender:
        key = services.writers.secret_key
        async with Deliveries(services.database, app.state.listener, sender, key, app.state.stopping) as made:
            metrics.watch(
                "skuggbok_webhook_backlog", "Events to be delivered to webhooks.", lambda: made.backlog.events
            )
            metrics.watch("skuggbok_webhooks_failing", "Webhooks that failed last.", lambda: made.backlog.failing)
            yield
