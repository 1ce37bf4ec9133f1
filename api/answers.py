"""What goes out: receipts of what was recorded, and lists in pages.

Events and views go out as the bytes they were recorded as: nothing is decoded only to be encoded again.
"""

import base64
from collections.abc import Callable, Sequence
from typing import Annotated, Generic, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

import msgspec
from litestar import Response
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from api import conditions
from api.requests import ApiRequest
from api.responses import JsonResponse
from ledger import pending
from ledger.book import Request
from ledger.errors import Malformed

T = TypeVar("T")

LIMIT_MAX = 1000

_encoder = msgspec.json.Encoder()

EventJson = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/Event"})]
TableJson = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/Table"})]


class Receipt(Struct, frozen=True):
    """What was recorded, durably. `position`: of the last event."""

    position: int
    events: Annotated[tuple[EventJson, ...], Meta(min_length=1)]


class TableReceipt(Receipt, frozen=True):
    """What was recorded at a table, and the table after it, as everybody may see it."""

    table: TableJson


async def record(request: ApiRequest, command: Request) -> Receipt:
    """Carry a command out in the LARP of whoever asks. Raises a Refused or Unavailable."""
    return receipt(await _submit(request, command))


async def record_at_table(request: ApiRequest, command: Request) -> TableReceipt:
    """The same for a command whose events are a table's."""
    recorded = await _submit(request, command)
    view = recorded.applied[-1].view()
    assert view is not None, "each of its events belongs to the table"
    return TableReceipt(recorded.position, _events(recorded), Raw(_encoder.encode(view)))


def receipt(recorded: pending.Receipt) -> Receipt:
    return Receipt(recorded.position, _events(recorded))


async def _submit(request: ApiRequest, command: Request) -> pending.Receipt:
    recorded = await request.services.writers.send(request.slug_of_larp, await conditions.sent(request, command))
    conditions.mark(request, replayed=recorded.replayed)
    return recorded


def _events(recorded: pending.Receipt) -> tuple[Raw, ...]:
    return tuple(Raw(applied.recorded.to_json()) for applied in recorded.applied)


def given(value: T | UnsetType) -> T | None:
    """A query parameter, None if it was left out."""
    return None if isinstance(value, UnsetType) else value


# ---- lists ----

Limit = Annotated[int, Meta(ge=1, le=LIMIT_MAX, description="how many items a page has at most")]
Cursor = Annotated[str, Meta(max_length=200, description="where the page begins: from the `Link` of the page before")]


class Items(Struct, Generic[T], frozen=True):
    """One page. The header `Link` with rel="next" leads to the next; on the last page there is none."""

    items: Sequence[T]


class EventList(Struct, frozen=True):
    """One page of events."""

    items: Sequence[EventJson]


class TableList(Struct, frozen=True):
    """One page of tables."""

    items: Sequence[TableJson]


class Page(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The query of every list. A cursor names the last item seen, so that it stays right while items are added."""

    limit: Limit = 100
    cursor: Cursor | UnsetType = UNSET

    @property
    def after(self) -> str | None:
        """The key of the last item seen. Raises Malformed for what is no cursor of ours."""
        if isinstance(self.cursor, UnsetType):
            return None
        try:
            key = base64.b64decode(self.cursor + "=" * (-len(self.cursor) % 4), altchars=b"-_", validate=True).decode()
        except ValueError:
            raise _no_cursor() from None
        if not key.isascii() or not key.isprintable():
            raise _no_cursor()
        return key

    @property
    def fetched(self) -> int:
        """One more than is shown: it tells whether there is a next page."""
        return self.limit + 1


def _no_cursor() -> Malformed:
    return Malformed("query parameters: cursor is none of this service: follow the Link of a page", "/cursor")


def listed(
    request: ApiRequest, rows: Sequence[T], limit: int, key: Callable[[T], str], *, parameter: str = "cursor"
) -> Response[Items[T]]:
    """A page of `rows`, of which there is one more than `limit` if another page follows.

    `key`: what names a row in the query parameter `parameter`; a cursor is wrapped so that nobody builds on it.
    """
    items, headers = rows[:limit], {}
    if len(rows) > limit:
        name = key(items[-1])
        next_ = base64.urlsafe_b64encode(name.encode()).decode().rstrip("=") if parameter == "cursor" else name
        headers["link"] = f'<{_with(request, parameter, next_)}>; rel="next"'
    return JsonResponse(Items(items), headers=headers)


def _with(request: ApiRequest, parameter: str, value: str) -> str:
    """The address of this request with one query parameter set, relative to the server."""
    others = [(k, v) for k, v in parse_qsl(request.scope["query_string"].decode("ascii")) if k != parameter]
    return f"{quote(request.scope['path'])}?{urlencode([*others, (parameter, value)])}"


# ---- JSON that is there already ----


def json_response(content: bytes, headers: dict[str, str] | None = None) -> Response[bytes]:
    return JsonResponse(content, headers=headers)
