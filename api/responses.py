"""Answers in JSON, the short way.

The framework's own response looks after cookies, background tasks, text and other formats at each answer. None of
them is ever set here, and looking took a fifth of what reading a purse costs beside its query.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from litestar import Request, Response
from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

T = TypeVar("T")

_TYPE = (b"content-type", b"application/json")
_encode = msgspec.json.Encoder().encode


class JsonResponse(Response[T]):
    """An answer with a body that is JSON: a Struct, or bytes that are JSON already."""

    def __init__(
        self, content: T, *, status_code: int | None = None, headers: Mapping[str, str] | None = None, **_: Any
    ) -> None:
        self.content = content
        self.status_code = status_code
        self.headers = dict(headers or {})

    def to_asgi_response(
        self,
        app: Any,
        request: Request[Any, Any, Any],
        *,
        headers: dict[str, str] | None = None,
        status_code: int | None = None,
        **_: Any,
    ) -> ASGIResponse:
        body = self.content if isinstance(self.content, bytes) else _encode(self.content)
        named = {**(headers or {}), **self.headers}
        return _Whole(
            self.status_code or status_code or 200,
            [
                _TYPE,
                (b"content-length", b"%d" % len(body)),
                *((name.encode(), value.encode()) for name, value in named.items()),
            ],
            body,
        )


class _Whole(ASGIResponse):
    """What is sent."""

    def __init__(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        self.status_code = status
        self.body = body
        self._start: Any = {"type": "http.response.start", "status": status, "headers": headers}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(self._start)
        await send({"type": "http.response.body", "body": self.body, "more_body": False})
