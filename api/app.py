"""The application: routes, refusals and the log, put together."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cached_property, partial
from typing import Any

from litestar import Litestar
from litestar.datastructures import State
from litestar.enums import ScopeType
from litestar.types import LifeSpanReceive, LifeSpanScope, LifeSpanSend, Receive, Scope, Send

from api import (
    audit,
    bulk,
    checkpoints,
    conditions,
    debts,
    directory,
    docs,
    events,
    exports,
    health,
    larps,
    logging,
    money,
    problem_pages,
    purses,
    table_history,
    tables,
    token_routes,
    watching,
)
from api.cors import Cors
from api.edges import Edges
from api.limits import Limits
from api.metrics import Metrics
from api.problems import HANDLERS
from api.requests import ApiRequest, Services
from api.stopping import stop_event
from api.tokens import Askers
from api.webhooks import routes as webhooks
from ledger.database import Database
from ledger.settings import Settings
from ledger.writer import Writers
from projections.checkpoints import notary_of

BODY_BYTES_MAX = 1_000_000
"""The largest body that is read whole."""

Lifespan = Callable[[Litestar], AbstractAsyncContextManager[None]]

API = (
    *larps.ROUTES,
    *token_routes.ROUTES,
    *directory.ROUTES,
    *purses.ROUTES,
    *money.ROUTES,
    *debts.ROUTES,
    *tables.ROUTES,
    *table_history.ROUTES,
    *events.ROUTES,
    *audit.ROUTES,
    *bulk.ROUTES,
    *checkpoints.ROUTES,
    *exports.ROUTES,
    *webhooks.ROUTES,
    *health.ROUTES,
    *watching.ROUTES,
)


class Service(Litestar):
    """Litestar, with the log around everything, the answers to paths that do not exist among it."""

    edges: Edges

    @cached_property
    def _logged(self) -> Callable[[Any, Any, Any], Awaitable[None]]:
        conditioned = partial(conditions.conditioned, super().__call__)
        return partial(logging.served, partial(self.edges.answer, conditioned))

    async def __call__(
        self, scope: Scope | LifeSpanScope, receive: Receive | LifeSpanReceive, send: Send | LifeSpanSend
    ) -> None:
        if scope["type"] == ScopeType.HTTP:
            await self._logged(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def create_app(
    database: Database,
    writers: Writers,
    settings: Settings,
    *,
    lifespan: Sequence[Lifespan] = (),
    metrics: Metrics | None = None,
) -> Litestar:
    """The application over an open database. `lifespan`: what else begins and ends with it, in this order.

    `metrics`: those that `writers` tells of its work, if it does.
    """
    metrics = metrics or Metrics()
    limits, askers = Limits(settings.rate_limit), Askers(database)
    service = Service(
        [*API, *problem_pages.ROUTES, *docs.ROUTES],
        request_class=ApiRequest,
        exception_handlers=HANDLERS,
        lifespan=[stop_event, *lifespan],
        state=State(
            {
                "services": Services(database, writers, settings, notary_of(settings), limits, askers),
                "metrics": metrics,
            }
        ),
        request_max_body_size=BODY_BYTES_MAX,
        openapi_config=None,
        logging_config=None,
        debug=False,
    )
    service.edges = Edges(Cors(settings.cors_origins), metrics)
    watching.watch(metrics, service, service.edges)
    return service
