"""The application under a real server, with a stream that never ends and an answer that takes its time.

usage: python -m tests.api.streaming_service DATABASE_URL       (prints its port, then serves until a signal)
"""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import uvicorn
from litestar import Litestar, Request, get
from litestar.response import Stream

from api import logging
from api.app import create_app
from ledger.database import Database
from ledger.journal import Journals
from ledger.settings import Settings
from ledger.writer import Writers
from projections.runner import PROJECTIONS

SLOW_S = 1.5
GRACE_S = 10


@get("/stream")
async def stream(request: Request[Any, Any, Any]) -> Stream:
    """An event at once, and then nothing until the end."""

    async def lines() -> AsyncIterator[bytes]:
        yield b"begun\n"
        await request.app.state.stopping.wait()
        yield b"ended\n"

    return Stream(lines(), media_type="text/plain")


@get("/slow")
async def slow() -> dict[str, bool]:
    await asyncio.sleep(SLOW_S)
    return {"done": True}


async def main(url: str) -> None:
    logging.configure("info")
    async with Database(url) as database:
        writers = Writers(Journals(database, PROJECTIONS))
        app: Litestar = create_app(database, writers, Settings())
        app.register(stream)
        app.register(slow)
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            print(listening.getsockname()[1], flush=True)
            config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=GRACE_S)
            await uvicorn.Server(config).serve(sockets=[listening])
        await writers.close()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):  # the server raises the signal again when it has ended
        asyncio.run(main(sys.argv[1]))
