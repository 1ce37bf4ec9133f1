"""Probes: whether the process runs, and whether it can answer."""

from typing import Literal

from litestar import route
from litestar.datastructures import CacheControlHeader
from msgspec import Struct

from api.operations import BASE, Operation
from api.requests import ApiRequest
from ledger.errors import Unavailable
from ledger.migrations import all_migrations
from projections import versions


class Health(Struct, frozen=True):
    """All is well: whatever is not is answered with 503."""

    status: Literal["ok"] = "ok"


def _probe(name: str) -> list[str]:
    """Below the base path as everything else, and at the root, where probes are looked for."""
    return [f"{BASE}/health/{name}", f"/health/{name}"]


_OPERATION = Operation(tag="Health", access=None)
_NOW = CacheControlHeader(no_store=True)
_SCHEMA = len(all_migrations())


@route(_probe("live"), http_method=["GET", "HEAD"], status_code=200, cache_control=_NOW, opt={"operation": _OPERATION})
async def check_live() -> Health:
    """Whether the process runs. The database is not asked."""
    return Health()


@route(_probe("ready"), http_method=["GET", "HEAD"], status_code=200, cache_control=_NOW, opt={"operation": _OPERATION})
async def check_ready(request: ApiRequest) -> Health:
    """Whether the database answers, has this version's schema, and has projections that are what the journals say."""
    async with request.services.database.connection() as connection:
        cursor = await connection.execute("SELECT max(number) FROM skuggbok.migration")
        row = await cursor.fetchone()
        if row != (_SCHEMA,):
            raise Unavailable(f"the database has schema {row[0] if row else None}, this version needs {_SCHEMA}", 10)
        if stale := await versions.stale(connection, limit=1):
            raise Unavailable(str(stale[0]), 10)
    return Health()


ROUTES = (check_live, check_ready)
