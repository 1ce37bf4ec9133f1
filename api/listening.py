"""The one connection by which this process hears what any process has recorded, for whatever waits for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from litestar import Litestar

from api.requests import Services
from ledger.listener import Listener


@asynccontextmanager
async def hearing(app: Litestar) -> AsyncIterator[None]:
    """`app.state.listener`, as long as the application lives."""
    services: Services = app.state.services
    async with Listener(services.database.url) as listener:
        app.state.listener = listener
        yield
