"""How a route is declared: its path, who may use it, and what the documentation says of it, in one place."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from litestar import Request, delete, patch, post, route
from litestar.handlers import HTTPRouteHandler
from litestar.types import AnyCallable
from msgspec import Struct

from api.access import Access, Check, admit
from api.requests import ApiRequest
from api.responses import JsonResponse
from ledger.errors import IdempotencyMismatch, Malformed, Refused, StalePosition
from ledger.messages import Role

BASE = "/api/v1"

Tag = Literal[
    "LARPs",
    "Tokens",
    "Characters and assets",
    "Purses",
    "Money",
    "Notes",
    "Tables",
    "Journal",
    "Batches",
    "Webhooks",
    "Health",
]
Decorator = Callable[[AnyCallable], HTTPRouteHandler]


class Operation(Struct, frozen=True, kw_only=True):
    """What is documented of a route. `answer` and `body` stand in where the handler's own annotations say less.

    `query`: a Struct of the query parameters; without one, any parameter is refused.
    `refuses`: what comes of state and rules, beside what every route may answer. `access` None: open to anybody.
    """

    tag: Tag
    access: Access | None
    answer: Any = None
    body: Any = None
    query: type[Struct] | None = None
    refuses: tuple[type[Refused], ...] = ()
    media_type: str = "application/json"
    body_media_type: str = "application/json"
    is_conditional: bool = False
    """Whether it takes Idempotency-Key and If-Match."""


def reads(
    path: str,
    *,
    tag: Tag,
    roles: tuple[Role, ...],
    restricted: Mapping[Role, Check] | None = None,
    answer: Any = None,
    query: type[Struct] | None = None,
    refuses: tuple[type[Refused], ...] = (),
    media_type: str = "application/json",
) -> Decorator:
    """A GET, and the HEAD that goes with it. `media_type`: of what is answered, where that is not JSON."""
    operation = Operation(
        tag=tag,
        access=Access(roles, restricted or {}),
        answer=answer,
        query=query,
        refuses=refuses,
        media_type=media_type,
    )
    return route(
        BASE + path,
        http_method=["GET", "HEAD"],
        status_code=200,
        before_request=_admission(operation, has_body=False),
        opt={"operation": operation},
    )


def writes(
    path: str,
    *,
    tag: Tag,
    roles: tuple[Role, ...],
    restricted: Mapping[Role, Check] | None = None,
    answer: Any = None,
    body: Any = None,
    refuses: tuple[type[Refused], ...] = (),
    method: Literal["POST", "PATCH"] = "POST",
    is_conditional: bool = True,
) -> Decorator:
    """A POST or PATCH with a JSON body, answered with 201. `is_conditional`: it is a command for a journal."""
    operation = Operation(
        tag=tag,
        access=Access(roles, restricted or {}),
        answer=answer,
        body=body,
        refuses=(*refuses, StalePosition, IdempotencyMismatch) if is_conditional else refuses,
        is_conditional=is_conditional,
    )
    return (post if method == "POST" else patch)(
        BASE + path,
        status_code=201,
        response_class=JsonResponse,
        before_request=_admission(operation, has_body=True),
        opt={"operation": operation},
    )


def streams_in(
    path: str, *, tag: Tag, roles: tuple[Role, ...], query: type[Struct], body: Any, answer: Any, media_type: str
) -> Decorator:
    """A POST whose body has no bound and is read while it is answered, with 200."""
    operation = Operation(
        tag=tag,
        access=Access(roles),
        answer=answer,
        body=body,
        query=query,
        media_type=media_type,
        body_media_type=media_type,
    )
    return post(
        BASE + path,
        status_code=200,
        request_max_body_size=None,
        before_request=_admission(operation, has_body=False),
        opt={"operation": operation},
    )


def operation_of(handler: HTTPRouteHandler) -> Operation:
    """What was declared of a route."""
    operation = handler.opt["operation"]
    assert isinstance(operation, Operation), "every route of the API is declared here"
    return operation


def removes(path: str, *, tag: Tag, roles: tuple[Role, ...], refuses: tuple[type[Refused], ...] = ()) -> Decorator:
    """A DELETE, answered with 204."""
    operation = Operation(tag=tag, access=Access(roles), refuses=refuses)
    return delete(
        BASE + path,
        status_code=204,
        before_request=_admission(operation, has_body=False),
        opt={"operation": operation},
    )


def _admission(operation: Operation, *, has_body: bool) -> Callable[[Request[Any, Any, Any]], Awaitable[None]]:
    """What runs before the handler. It is no guard, because for guards the handler is copied at each request."""

    async def admission(request: Request[Any, Any, Any]) -> None:
        assert isinstance(request, ApiRequest), "the application's request class"
        if operation.access is not None:
            await admit(request, operation.access)
        if operation.query is None and request.scope["query_string"]:
            raise Malformed("there are no query parameters here")
        if has_body:
            await request.require_json()

    return admission
