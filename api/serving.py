"""Running the service: its database, its schema, the application under uvicorn, and an end that loses nothing."""

import asyncio
import gc
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import psycopg
import structlog
import uvicorn
from msgspec import Struct

from api import checkpoints, protocol, tokens, tracing
from api.app import create_app
from api.feed import live_feeds
from api.listening import hearing
from api.metrics import Metrics
from api.webhooks.delivery import delivering
from ledger.database import Database
from ledger.embedded import EmbeddedPostgres
from ledger.errors import SkuggbokError
from ledger.journal import Journals
from ledger.migrations import migrate
from ledger.settings import Settings
from ledger.writer import Writers
from projections import versions
from projections.runner import PROJECTIONS

log = structlog.get_logger()

GRACE_S = 10
"""How long running requests may go on after the signal to stop."""
GARBAGE = 10_000
"""How many objects more there may be before it is looked which of them are garbage: requests under way are many."""
BACKLOG = 2048
"""Connections that the system holds until they are accepted."""


class ServingError(SkuggbokError):
    """The service cannot start; the message says what would help."""


class Ready(Struct, frozen=True):
    """The service answers at `address`. `admin_token` was made just now and is shown this once."""

    address: str
    admin_token: str | None
    database: Database


@contextmanager
def database_of(settings: Settings, embedded: EmbeddedPostgres | None = None) -> Iterator[str]:
    """The URL of the database: the one that is set, or the embedded one, which runs as long as somebody uses it.

    Raises EmbeddedPostgresError, MigrationError and ServingError.
    """
    if settings.database_url is not None:
        yield _reachable(settings.database_url)
        return
    embedded = embedded or embedded_of(settings)
    try:
        yield embedded.start()
    finally:
        embedded.stop()


def embedded_of(settings: Settings) -> EmbeddedPostgres:
    """The embedded server of these settings, not started yet."""
    return EmbeddedPostgres(settings.data_dir, bin_dir=settings.pg_bin)


def _reachable(url: str) -> str:
    try:
        with psycopg.connect(url, connect_timeout=10):
            return url
    except psycopg.OperationalError as error:
        first_line = str(error).splitlines()[0]
        raise ServingError(f"SKUGGBOK_DATABASE_URL leads to no database that answers: {first_line}") from None


def run(
    settings: Settings, host: str, port: int, when_ready: Callable[[Ready], Awaitable[None]], *, stays: bool = True
) -> None:
    """Serve until SIGTERM or SIGINT. `port` 0: any free one. `when_ready` is called once requests are answered.

    `stays` False: the service ends when `when_ready` has.
    """
    listening, embedded = _listen(host, port), embedded_of(settings)
    with listening, _signals_ending(SystemExit(0)), database_of(settings, embedded) as url:
        migrate(url, tell=lambda line: log.info("migrating", step=line))
        with _signals_ending(None) as told, asyncio.Runner(loop_factory=_loop_factory()) as runner:
            database = Database(url, revive=None if settings.database_url else embedded.start)
            runner.run(_serve(settings, database, listening, when_ready, told, stays=stays))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where there is one (not on Windows, where psycopg wants the loop with selectors)."""
    if sys.platform == "win32":
        return asyncio.SelectorEventLoop
    import uvloop

    return uvloop.new_event_loop


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise ServingError(
            f"nothing can listen at {host}, port {port} ({error}): choose another --port or --host"
        ) from None
    return listening


@contextmanager
def _signals_ending(error: BaseException | None) -> Iterator[threading.Event]:
    """SIGTERM and SIGINT raise `error`, so that whatever was started is ended; None: they are uvicorn's business.

    uvicorn raises the signal again when it has ended; by default that would end us before the database is stopped.
    A signal that comes before uvicorn looks out for it sets the event.
    """

    def on_signal(number: int, frame: FrameType | None) -> None:
        if error is not None:
            raise error
        came.set()

    came = threading.Event()
    before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Server(uvicorn.Server):
    """uvicorn, and an event for the moment from which on requests are answered."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.answering = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.freeze()  # what is there by now stays: searching it for garbage again and again halts all requests
        gc.set_threshold(GARBAGE)
        self.answering.set()


async def _serve(
    settings: Settings,
    database_: Database,
    listening: socket.socket,
    when_ready: Callable[[Ready], Awaitable[None]],
    told_to_stop: threading.Event,
    *,
    stays: bool,
) -> None:
    async with database_ as database:
        traces = tracing.from_environment()
        metrics = Metrics(traces)
        protocol.allow_many_connections()
        writers = Writers(Journals(database, PROJECTIONS), metrics)
        async with database.connection() as connection:
            admin_token = await tokens.ensure_admin(connection, settings)
            await versions.notice(connection)
            for stale in await versions.stale(connection):
                log.error("projection_stale", larp=stale.larp, projection=stale.name, reason=str(stale))
        config = uvicorn.Config(
            create_app(
                database,
                writers,
                settings,
                lifespan=[hearing, live_feeds, delivering, checkpoints.keeping],
                metrics=metrics,
            ),
            http=protocol.Protocol,
            ws="none",
            timeout_keep_alive=protocol.KEEP_ALIVE_S,
            log_config=None,
            access_log=False,
            lifespan="on",
            server_header=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=GRACE_S,
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        answering = asyncio.create_task(server.answering.wait())
        await asyncio.wait({serving, answering}, return_when=asyncio.FIRST_COMPLETED)
        answering.cancel()
        try:
            if server.answering.is_set() and not serving.done():
                log.info("serving", address=address_of(listening))
                await _once_ready(server, serving, when_ready(Ready(address_of(listening), admin_token, database)))
                server.should_exit |= not stays or told_to_stop.is_set()
        finally:
            server.should_exit |= sys.exception() is not None
            await serving
            await writers.close()
            if traces is not None:
                await asyncio.to_thread(traces.close)
    log.info("stopped")


async def _once_ready(server: uvicorn.Server, serving: asyncio.Task[None], work: Awaitable[None]) -> None:
    """What is done as soon as requests are answered; who stops the service meanwhile does not care how it ends."""
    working = asyncio.ensure_future(work)
    await asyncio.wait({working, serving}, return_when=asyncio.FIRST_COMPLETED)
    working.cancel()
    with suppress(asyncio.CancelledError):
        try:
            await working
        except Exception:  # a request to a service that stops may fail in any way
            if not server.should_exit:
                raise


def address_of(listening: socket.socket) -> str:
    """The URL under which people reach it from this machine."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # only to say where we are
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def data_dir_or(settings: Settings, data: Path | None) -> Settings:
    """The settings, with `--data` in place of SKUGGBOK_DATA_DIR if it was given."""
    if data is None:
        return settings
    fields = {name: getattr(settings, name) for name in settings.__struct_fields__}
    return Settings(**fields | {"data_dir": data})
