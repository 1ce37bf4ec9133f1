"""The end of the process: streams that never end by themselves hear of it at the signal, not after it.

A server waits for open requests before it ends the application, so a stream that waits for the application's end
would keep both waiting for ever.
"""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

from litestar import Litestar


@asynccontextmanager
async def stop_event(app: Litestar) -> AsyncIterator[None]:
    """`app.state.stopping` is an Event that is set once SIGTERM or SIGINT comes, and at the latest when the app ends.

    The server's own handlers are called after it. Outside of the main thread there are no signals.
    """
    stopping = asyncio.Event()
    app.state.stopping = stopping
    loop, before = asyncio.get_running_loop(), dict[int, Any]()

    def on_signal(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stopping.set)
        handler = before[number]
        if callable(handler):
            handler(number, frame)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            before[number] = signal.signal(number, on_signal)
    try:
        yield
    finally:
        stopping.set()
        for restored, handler in before.items():
            signal.signal(restored, handler)
