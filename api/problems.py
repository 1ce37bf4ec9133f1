"""Everything that is not 2xx, as RFC 9457 problem+json: the one place where errors become HTTP.

`type` leads to a page of this service, `detail` says what would have been right, and a fault of ours says
nothing but the id under which the log knows it.
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.types import ExceptionHandlersMap, Send
from msgspec import UNSET, Struct, UnsetType

from api.errors import (
    InternalError,
    MethodNotAllowed,
    RateLimited,
    RequestTimeout,
    ServiceUnavailable,
    TooLarge,
    Unauthenticated,
    title,
)
from api.logging import request_id
from ledger.errors import Malformed, NotFound, ProjectionHalted, Refused, Unavailable

MEDIA_TYPE = "application/problem+json"
HALTED_RETRY_AFTER_S = 60

AnyRequest = Request[Any, Any, Any]
Headers = Iterable[tuple[bytes, bytes]]

_encode = msgspec.json.Encoder().encode

log = structlog.get_logger()


class Fault(Struct, frozen=True):
    """One thing that is wrong with a request. `pointer`: where in the body (RFC 6901), or /NAME of a parameter."""

    pointer: str
    detail: str


class Problem(Struct, frozen=True, kw_only=True):
    """Why a request was not carried out. `code` is for programs, `detail` for people."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: tuple[Fault, ...] | UnsetType = UNSET
    request_id: str | UnsetType = UNSET


def type_of(code: str) -> str:
    """Where the problem is explained."""
    return f"/problems/{code}"


def problem(refusal: Refused, **more: Any) -> Problem:
    kind = type(refusal)
    return Problem(
        type=type_of(kind.code), title=title(kind), status=kind.status, detail=refusal.detail, code=kind.code, **more
    )


def _answer(content: Problem, headers: Mapping[str, str] | None = None) -> Response[Problem]:
    return Response(content, status_code=content.status, media_type=MEDIA_TYPE, headers=headers)


def _faults(error: Refused) -> tuple[Fault, ...] | UnsetType:
    return (Fault(error.pointer, error.detail),) if isinstance(error, Malformed) else UNSET


async def send_alone(refusal: Refused, send: Send, headers: Headers = ()) -> None:
    """Answer with a problem from outside of the framework."""
    body = _encode(problem(refusal))
    named = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": refusal.status, "headers": named})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def alone(refusal: Refused) -> bytes:
    """The whole answer to what is not even a request, as the last on its connection."""
    body = _encode(problem(refusal, errors=_faults(refusal)))
    head = (
        f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}\r\n"
        f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


def on_refused(request: AnyRequest, error: Refused) -> Response[Problem]:
    if isinstance(error, Malformed):
        return _answer(problem(error, errors=_faults(error)))
    if isinstance(error, Unauthenticated):
        return _answer(problem(error), {"www-authenticate": "Bearer"})
    if isinstance(error, RateLimited):
        return _answer(problem(error), {**error.headers, "retry-after": str(error.retry_after_s)})
    if isinstance(error, RequestTimeout):
        return _answer(problem(error), {"connection": "close"})
    return _answer(problem(error))


def on_unavailable(request: AnyRequest, error: Unavailable) -> Response[Problem]:
    headers = {"retry-after": str(error.retry_after_s)}
    return _answer(problem(ServiceUnavailable(error.detail)), headers)


def on_halted(request: AnyRequest, error: ProjectionHalted) -> Response[Problem]:
    """It will be the same until somebody rebuilds the projection, so nobody need ask again soon."""
    log.error("projection_halted", projection=error.projection, position=error.position, exc_info=error)
    headers = {"retry-after": str(HALTED_RETRY_AFTER_S)}
    return _answer(problem(ServiceUnavailable(f"{error}; nothing was recorded")), headers)


def on_http(request: AnyRequest, error: HTTPException) -> Response[Problem]:
    """What the framework refuses. Its own words say more to its developers than to whoever asks."""
    if error.status_code == 404:
        return _answer(problem(NotFound(f"nothing is called {request.scope['path'][:200]} here: /schema has all")))
    if error.status_code == 405:
        allowed = ", ".join(sorted((error.headers or {}).get("allow", "").split(", ")))
        return _answer(
            problem(MethodNotAllowed(f"{request.method} is not possible here, {allowed} would be")), {"allow": allowed}
        )
    if error.status_code == 413:
        most = request.route_handler.resolve_request_max_body_size()
        return _answer(problem(TooLarge(f"the body may have {most} bytes at most")))
    if error.status_code < 500:
        return on_refused(request, Malformed("the request is not one that HTTP knows"))
    return on_fault(request, error)


def on_fault(request: AnyRequest, error: Exception) -> Response[Problem]:
    """The one place that takes any exception: whoever asked gets an answer, and the log gets to know where it was."""
    log.error("fault", exc_info=error)
    id_ = request_id(request.scope)
    return _answer(problem(InternalError("the service has a fault; its log says more under this id"), request_id=id_))


HANDLERS: ExceptionHandlersMap = {
    Refused: on_refused,
    Unavailable: on_unavailable,
    ProjectionHalted: on_halted,
    HTTPException: on_http,
    Exception: on_fault,
}
