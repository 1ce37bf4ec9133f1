"""The edges of the application: how much is answered at once, how slowly a request may come, who may read answers.

What stands here applies to every request alike and costs it next to nothing; what HTTP itself takes is in
`api.protocol`.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from litestar.types import ASGIApp, HTTPScope, Message, Receive, Send

from api.cors import Cors
from api.errors import RequestTimeout, ServiceUnavailable
from api.metrics import Metrics
from api.problems import send_alone

REQUESTS_MAX = 2_000
"""Requests that are answered at once; the next is told 503. Open streams of events do not count."""
PROBES = frozenset({"/health/live", "/health/ready", "/metrics"})
"""What is answered even then: somebody must be able to see what is going on."""
BODY_PATIENCE_S = 20.0
BODY_BYTES_PER_S_MIN = 500
"""A body may keep us waiting so long in all, and longer by what it brings at this pace. Only our waiting counts."""
LINES_PATIENCE_S = 60.0
"""Between two parts of a body of lines, whose sender may wait for results before it goes on."""
_LINES = b"application/x-ndjson"


class Edges:
    """The edges of one application."""

    def __init__(self, cors: Cors, metrics: Metrics) -> None:
        self._cors = cors
        self._metrics = metrics
        self.running = 0

    async def answer(self, app: ASGIApp, scope: HTTPScope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if preflight := self._cors.preflight(scope):
            await send({"type": "http.response.start", "status": 204, "headers": preflight})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        request = _Request(self, scope, send)
        if self.running >= REQUESTS_MAX and scope["path"] not in PROBES:
            refusal = ServiceUnavailable(f"{REQUESTS_MAX} requests are being answered already: send it again")
            await send_alone(refusal, request.send, [(b"retry-after", b"1")])
        else:
            await self._answer(app, scope, receive, request)

    async def _answer(self, app: ASGIApp, scope: HTTPScope, receive: Receive, request: "_Request") -> None:
        begun = time.perf_counter()
        self.running += 1
        try:
            await app(scope, _patiently(scope, receive), request.send)
        finally:
            self.running -= not request.is_stream
            seconds = time.perf_counter() - begun
            self._metrics.answered(scope, request.status, seconds, is_stream=request.is_stream)

    def headers(self, scope: HTTPScope) -> list[tuple[bytes, bytes]]:
        """What every answer says."""
        allowance = scope["state"].get("allowance")
        limits = allowance.standing.headers if allowance is not None and allowance.standing is not None else []
        return [*limits, *self._cors.headers(scope["headers"])]

    def stream_begun(self) -> None:
        self.running -= 1


class _Request:
    """What is known of the answer to one request once it has begun."""

    def __init__(self, edges: Edges, scope: HTTPScope, send: Send) -> None:
        self._edges = edges
        self._scope = scope
        self._send = send
        self.status = 0
        self.is_stream = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message["headers"])
            if self._scope["method"] == "GET" and _is_event_stream(headers):
                self.is_stream = True
                self._edges.stream_begun()
            if more := self._edges.headers(self._scope):
                message["headers"] = [*headers, *more]
        await self._send(message)


def _is_event_stream(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in headers)


def _patiently(scope: HTTPScope, receive: Receive) -> Callable[[], Awaitable[Any]]:
    """`receive`, but a body must come at some pace. It raises RequestTimeout."""
    of_lines = any(name == b"content-type" and value.startswith(_LINES) for name, value in scope["headers"])
    left_s = LINES_PATIENCE_S if of_lines else BODY_PATIENCE_S
    state = scope["state"]

    async def receiving() -> Any:
        nonlocal left_s
        if state.get("is_whole"):  # it is here; what is waited for after it is the end of the connection
            return await receive()
        begun = time.perf_counter()
        try:
            async with asyncio.timeout(left_s):
                message: Any = await receive()
        except TimeoutError:
            raise RequestTimeout("the body came too slowly: the connection is better, or the body smaller") from None
        state["is_whole"] = not message.get("more_body")
        if not of_lines:
            left_s += len(message.get("body", b"")) / BODY_BYTES_PER_S_MIN - (time.perf_counter() - begun)
        return message

    return receiving
