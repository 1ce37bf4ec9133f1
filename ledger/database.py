"""The connections of one process: a pool whose sessions work in the service's role."""

import asyncio
from collections.abc import Callable, Mapping
from functools import cached_property
from types import TracebackType
from typing import Any

import msgspec
import psycopg
import structlog
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ledger import arrays
from ledger.errors import SkuggbokError, Unavailable
from ledger.migrations import SERVICE_ROLE


class Connection(psycopg.AsyncConnection[Any]):
    """A session in the service's role."""

    @cached_property
    def numbered(self) -> psycopg.AsyncRawCursor[Any]:
        """A cursor that is kept, for statements with numbered placeholders that are sent again and again: making one,
        and all that it learns of the types of parameters, costs as much as writing a small batch."""
        return psycopg.AsyncRawCursor(self)


log = structlog.get_logger()

CONNECTIONS_MIN = 2
CONNECTIONS_MAX = 10
CONNECT_TIMEOUT_S = 5.0
"""How long a request waits for a connection before it is told 503."""
RETRY_AFTER_S = 2


class Database:
    """Open with `async with`. Sessions are in autocommit: each statement is a transaction of its own.

    `revive` is called, in a thread, whenever the database is away: it starts an embedded one that has died.
    """

    def __init__(
        self, url: str, *, connections_max: int = CONNECTIONS_MAX, revive: Callable[[], object] | None = None
    ) -> None:
        self.url = url
        self._revive = revive
        self._checking: asyncio.Task[None] | None = None
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            url,
            connection_class=Connection,
            min_size=min(CONNECTIONS_MIN, connections_max),
            max_size=connections_max,
            timeout=CONNECT_TIMEOUT_S,
            open=False,
            configure=_configure,
            kwargs={"autocommit": True, "prepare_threshold": 0, "application_name": "skuggbok"},
            name="skuggbok",
        )

    async def __aenter__(self) -> "Database":
        await self._pool.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._checking is not None:
            self._checking.cancel()
        await self._pool.close()

    def connection(self) -> "Lease":
        """A connection for the length of an `async with`.

        Raises Unavailable while the database is away; what was under way then may or may not have happened.
        """
        return Lease(self._pool, self._away)

    def _away(self, error: Exception) -> Unavailable:
        log.warning("database_away", error=type(error).__name__)
        self._check()
        return Unavailable("the database is away at the moment", RETRY_AFTER_S)

    def statistics(self) -> Mapping[str, int]:
        """The pool's own figures: `pool_size`, `pool_available`, `requests_waiting` and others."""
        return self._pool.get_stats()

    def _check(self) -> None:
        """Throw dead connections out, so that the first request after an outage does not meet one."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.get_running_loop().create_task(self._mend())

    async def _mend(self) -> None:
        if self._revive is not None:
            try:
                await asyncio.to_thread(self._revive)
            except SkuggbokError as error:
                log.error("database_not_started", error=type(error).__name__)
        await self._pool.check()


class Lease:
    """A connection while it is used. Not a generator: every request has one or several of these."""

    __slots__ = ("_away", "_connection", "_pool")

    def __init__(self, pool: AsyncConnectionPool[Connection], away: Callable[[Exception], Unavailable]) -> None:
        self._pool = pool
        self._away = away
        self._connection: Connection | None = None

    async def __aenter__(self) -> Connection:
        try:
            self._connection = await self._pool.getconn()
        except _LOST as error:
            raise self._away(error) from error
        return self._connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._connection is not None, "entered"
        try:
            await self._pool.putconn(self._connection)  # which rolls back whatever was left open
        except _LOST as lost:
            raise self._away(lost) from lost
        if isinstance(error, _LOST):
            raise self._away(error) from error


_LOST = (psycopg.OperationalError, PoolTimeout)


async def _configure(connection: Connection) -> None:
    # A server's own time zone must not show in answers, nor move a time out of the range that Python knows.
    await connection.execute("SET TIME ZONE 'UTC'")
    await connection.execute(f"SET ROLE {SERVICE_ROLE}")
    set_json_loads(msgspec.json.decode, connection)
    arrays.register(connection)
