"""Hearing of new events: one connection of the process listens, and calls whoever wants to know of a LARP.

A notice is only a wake-up; the truth is the position in the journal. When the connection breaks nobody can tell
what was missed, so after each reconnection, and every few seconds in any case, everybody is told to look.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psycopg
import structlog

log = structlog.get_logger()

NEWS = "skuggbok"
"""An append notifies it with the LARP's slug."""
REVOKED = "skuggbok_revoked"
"""A revocation notifies it with the token's id."""
WEBHOOKS = "skuggbok_webhooks"
"""A change of any webhook notifies it with `CHANGED`."""
CHANGED = "changed"
LOOK_EVERY_S = 5.0
RECONNECT_MAX_S = 5.0

Callback = Callable[[], None]


class Listener:
    """Use it with `async with`; it survives any loss of its connection. Callbacks must not block or raise."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._callbacks: dict[tuple[str, str], set[Callback]] = {}
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Listener":
        self._task = asyncio.get_running_loop().create_task(self._listen())
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._task is not None, "entered"
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    @contextmanager
    def calling(self, channel: str, payload: str, callback: Callback) -> Iterator[None]:
        """Call back whenever there may be news of `payload`, from now until the end of the block."""
        of_payload = self._callbacks.setdefault((channel, payload), set())
        of_payload.add(callback)
        try:
            yield
        finally:
            of_payload.discard(callback)
            if not of_payload and self._callbacks.get((channel, payload)) is of_payload:
                del self._callbacks[channel, payload]

    def _call(self, channel: str, payload: str) -> None:
        for callback in tuple(self._callbacks.get((channel, payload), ())):
            callback()

    def _call_all(self) -> None:
        for channel, payload in tuple(self._callbacks):
            self._call(channel, payload)

    async def _listen(self) -> None:
        pause = 0.1
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
                    await connection.execute(f"LISTEN {NEWS}; LISTEN {REVOKED}; LISTEN {WEBHOOKS}")
                    pause = 0.1
                    while True:
                        self._call_all()
                        async for notice in connection.notifies(timeout=LOOK_EVERY_S):
                            self._call(notice.channel, notice.payload)
            except (psycopg.OperationalError, OSError) as error:
                log.warning("listener_lost", error=type(error).__name__)
            self._call_all()
            await asyncio.sleep(pause)
            pause = min(2 * pause, RECONNECT_MAX_S)
