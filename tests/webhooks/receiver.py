"""A receiver of webhooks: a real HTTP server on loopback, which answers as a test wants and keeps what came."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import msgspec
import uvicorn
from msgspec import Struct

Json = Any
DEADLINE_S = 30


class Received(Struct, frozen=True):
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def event(self) -> Json:
        return msgspec.json.decode(self.body)

    @property
    def position(self) -> int:
        return int(self.event["sequence"])


class Answer(Struct, frozen=True):
    """`until`: answer only then. `endless`: the body never ends; `stuck`: it never begins, after the headers."""

    status: int = 204
    headers: Mapping[str, str] = {}
    until: asyncio.Event | None = None
    endless: bool = False
    stuck: bool = False


class Receiver:
    """`answer` says what is answered to a request; by default everything arrives."""

    def __init__(self) -> None:
        self.url = ""
        self.received: list[Received] = []
        self.answer: Callable[[Received], Answer] = lambda received: Answer()
        self.at_once = 0
        self.at_once_most = 0
        self._news = asyncio.Condition()

    @property
    def positions(self) -> list[int]:
        return [received.position for received in self.received]

    async def until(self, count: int) -> list[Received]:
        """Wait until so many requests have come."""
        async with asyncio.timeout(DEADLINE_S), self._news:
            await self._news.wait_for(lambda: len(self.received) >= count)
        return self.received

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.at_once += 1
        self.at_once_most = max(self.at_once_most, self.at_once)
        try:
            body = b""
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                body += message.get("body", b"")
                if not message.get("more_body"):
                    break
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            received = Received(scope["path"], headers, body)
            async with self._news:
                self.received.append(received)
                self._news.notify_all()
            await self._answer(self.answer(received), receive, send)
        finally:
            self.at_once -= 1

    async def _answer(self, answer: Answer, receive: Any, send: Any) -> None:
        gone = asyncio.ensure_future(_gone(receive))
        try:
            if answer.until is not None:
                waiting = asyncio.ensure_future(answer.until.wait())
                await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                if gone.done():
                    return
            headers = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            while answer.endless and not gone.done():
                await send({"type": "http.response.body", "body": b"canary-of-the-answer " * 500, "more_body": True})
                await asyncio.sleep(0)
            if answer.stuck:
                await send({"type": "http.response.body", "body": b"", "more_body": True})
                await gone
            await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """A receiver at a free port."""
    receiver = Receiver()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        receiver.url = f"http://127.0.0.1:{listening.getsockname()[1]}/hook"
        config = uvicorn.Config(
            receiver, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        server.capture_signals = nullcontext  # type: ignore[method-assign]  # they are pytest's
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            while not server.started:  # noqa: ASYNC110  # uvicorn has no event for it
                await asyncio.sleep(0.001)
            yield receiver
        finally:
            server.should_exit = True
            await serving
