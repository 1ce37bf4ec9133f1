"""HTTP on the wire: uvicorn's protocol, with an end to patience.

uvicorn waits for ever for the head of a request, takes headers of any size, and holds on to whoever does not read.
Whoever is cut off here gets a problem where there is still somebody to read it. What comes after the head (the
body's pace, how much is answered at once) is the application's: `api.edges`.
"""

import asyncio
from contextlib import suppress
from typing import Any

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.errors import HeadersTooLarge, RequestTimeout
from api.problems import alone
from ledger.errors import Malformed, Refused

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]  # asked for before it is used

HEAD_BYTES_MAX = 32_768
"""Of the request line and all headers."""
HEAD_PATIENCE_S = 20.0
"""From the first byte of a request, or the connection, to the end of its headers."""
READING_PATIENCE_S = 60.0
"""How long whoever asked may take nothing of an answer that waits for it."""
KEEP_ALIVE_S = 75
"""How long a connection is kept that nobody asks on: longer than proxies do, or they would meet closed ones."""

log = structlog.get_logger()


def allow_many_connections() -> None:
    """Each connection is an open file, of which many systems allow a process a thousand unless it asks for more."""
    if resource is not None:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):  # where the system names a limit that it does not allow
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Protocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._in_head = False
        self._in_body = False
        self._head_bytes = 0
        self._bodiless_bytes = 0
        self._is_too_long = False
        self._head: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    # ---- from the first byte to the end of the headers ----

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        self._bodiless_bytes += len(data)
        super().data_received(data)
        if self._in_body and self._bodiless_bytes > HEAD_BYTES_MAX:  # trailers or lengths of chunks without end
            self._refuse(_too_long())
        if self._head is None and self._is_answered:
            self._expect_head()  # also while the rest of a body comes that was refused already
        if self._in_head:  # the parser keeps a header until it is complete, however long it gets
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                self._refuse(_too_long())

    def on_message_begin(self) -> None:
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEAD_BYTES_MAX:
            self._is_too_long = True
            raise _TooMuch  # which the parser hands on as an error of its own
        _cancel(self._head)
        self._head = None
        self._in_head = False
        super().on_headers_complete()
        self._in_body, self._bodiless_bytes = True, 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:  # nobody asks for what stands behind a body
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._bodiless_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body = False
        self.scope["state"]["is_whole"] = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_head and self._head is None:  # the next request had begun already
            self._expect_head()

    @property
    def _is_answered(self) -> bool:
        """No answer is under way."""
        return self.cycle is None or self.cycle.response_complete

    def _expect_head(self) -> None:
        self._head = self.loop.call_later(HEAD_PATIENCE_S, self._head_too_slow)

    def _head_too_slow(self) -> None:
        self._head = None
        if self._in_head:
            self._refuse(RequestTimeout("the headers came too slowly"))
        else:  # there is no request that could be answered
            self.transport.close()

    # ---- what is refused before there is a request ----

    def send_400_response(self, msg: str) -> None:
        """In place of uvicorn's own words, for whatever is no HTTP."""
        self._refuse(_too_long() if self._is_too_long else Malformed("this is not HTTP/1.1"))

    def _refuse(self, refusal: Refused) -> None:
        """Say why, unless it would get into another answer, and close the connection."""
        if self.transport.is_closing():
            return
        log.info("connection_refused", code=refusal.code)
        if self._is_answered and not self._in_body:
            self.transport.write(alone(refusal))
        self.transport.close()

    # ---- whoever does not read ----

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self.loop.call_later(READING_PATIENCE_S, self._not_read)

    def resume_writing(self) -> None:
        _cancel(self._reading)
        super().resume_writing()

    def _not_read(self) -> None:
        """Whatever was being read for it, such as an export, ends with the connection."""
        log.info("connection_stalled")
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._head)
        _cancel(self._reading)
        super().connection_lost(exc)


class _TooMuch(Exception):
    """The head of a request is too long."""


def _too_long() -> HeadersTooLarge:
    return HeadersTooLarge(f"the request line and headers may have {HEAD_BYTES_MAX} bytes at most")


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
