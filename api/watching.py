"""GET /metrics: what Prometheus reads.

It is open to this machine itself, where a scraper needs no token; from anywhere else it takes an admin's. A proxy
on this machine says for whom it asks, which counts as anywhere else.
"""

from functools import partial

from litestar import Litestar, Response, route

from api.access import Access, admit
from api.edges import Edges
from api.errors import Unauthenticated
from api.feed import Feeds
from api.metrics import CONTENT_TYPE, MEDIA_TYPE, Metrics
from api.operations import BASE, Operation
from api.requests import ApiRequest, Services
from ledger.database import Database
from ledger.errors import Forbidden, Unavailable
from projections import versions

_LOOPBACK = ("127.", "::1", "::ffff:127.")
_FORWARDED = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-real-ip"})
_STALE_MAX = 100


def watch(metrics: Metrics, app: Litestar, edges: Edges) -> None:
    """Let `metrics` show how the parts of `app` are at any time."""
    services: Services = app.state.services

    def listeners() -> float:
        feeds: Feeds | None = app.state.get("feeds")
        return 0 if feeds is None else feeds.open_streams

    metrics.watch("skuggbok_commands_waiting", "Commands that wait to be decided.", lambda: services.writers.waiting)
    metrics.watch("skuggbok_feed_listeners", "Open streams of events.", listeners)
    metrics.watch("skuggbok_requests_running", "Requests being answered, streams left out.", lambda: edges.running)
    for name, what in (
        ("pool_size", "Connections to the database."),
        ("pool_available", "Connections to the database that nobody uses."),
        ("pool_max", "Connections to the database that there may be."),
        ("requests_waiting", "Requests that wait for a connection to the database."),
    ):
        metrics.watch(f"skuggbok_database_{name}", what, partial(_figure, services.database, name))


def _figure(database: Database, name: str) -> int:
    return database.statistics().get(name, 0)


@route(
    [f"{BASE}/metrics", "/metrics"],
    http_method=["GET", "HEAD"],
    status_code=200,
    opt={
        "operation": Operation(
            tag="Health", access=None, answer=str, media_type=MEDIA_TYPE, refuses=(Unauthenticated, Forbidden)
        )
    },
)
async def get_metrics(request: ApiRequest) -> Response[bytes]:
    """Measures of this process, as Prometheus reads them.

    Open to whoever asks from the machine itself, and to an admin's token.
    """
    if not _is_from_here(request):
        await admit(request, Access(("admin",)))
    metrics: Metrics = request.app.state.metrics
    up, stale = await _projections(request)
    metrics.watch("skuggbok_database_up", "Whether the database answered just now.", lambda: up)
    # Projections are written with the events, so they never lag; one that halted or is of another version is stale.
    metrics.watch("skuggbok_projections_stale", "Projections that have to be built again.", lambda: stale)
    return Response(metrics.text(), media_type=CONTENT_TYPE)


async def _projections(request: ApiRequest) -> tuple[int, int]:
    """Whether the database answers, and how many projections are stale."""
    try:
        async with request.services.database.connection() as connection:
            return 1, len(await versions.stale(connection, limit=_STALE_MAX))
    except Unavailable:
        return 0, 0


def _is_from_here(request: ApiRequest) -> bool:
    client = request.scope["client"]
    is_direct = not any(name in _FORWARDED for name, _ in request.scope["headers"])
    return client is not None and client[0].startswith(_LOOPBACK) and is_direct


ROUTES = (get_metrics,)
