"""The journal, event by event, as it was recorded."""

from datetime import UTC, datetime
from typing import Annotated, Any

from litestar import Response
from litestar.response import Stream
from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from msgspec.structs import replace

from api import tokens
from api.answers import EventJson, EventList, Items, Limit, given, json_response, listed
from api.feed import Feeds
from api.operations import reads
from api.requests import ApiRequest
from ledger.errors import Malformed, UnknownPosition
from ledger.messages import Instant, Role, Slug, in_utc
from projections import queries
from projections.marks import marked
from projections.queries import POSITION_MAX, EventFilter

_READERS: tuple[Role, ...] = ("organiser", "tool")
_POSITION_DIGITS_MAX = len(str(POSITION_MAX))
# No event is older; before it there is no room to reckon with times.
_EARLIEST = datetime(2, 1, 1, tzinfo=UTC)

After = Annotated[int, Meta(ge=0, le=POSITION_MAX)]
Before = Annotated[int, Meta(ge=1, le=POSITION_MAX)]


class EventPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which events: all filters apply at once. `since` and `until` go by the time of recording.

    `after` and `before` are positions and not included. `type` is without its version, such as `purse.granted`.
    `character`: whose purse or debts were moved, or who acted. `account`: an address such as `pot/eagle`.
    """

    limit: Limit = 100
    after: After = 0
    before: Before | UnsetType = UNSET
    type: Annotated[str, Meta(pattern=r"^[a-z_.]+(?!\n)$", max_length=100)] | UnsetType = UNSET
    table: Slug | UnsetType = UNSET
    character: Slug | UnsetType = UNSET
    account: Annotated[str, Meta(pattern=r"^[a-z0-9_/-]+(?!\n)$", max_length=150)] | UnsetType = UNSET
    since: Instant | UnsetType = UNSET
    until: Instant | UnsetType = UNSET

    def filter(self) -> EventFilter:
        """Raises Malformed."""
        return EventFilter(
            after=self.after,
            before=given(self.before) or POSITION_MAX,
            type=given(self.type),
            table=given(self.table),
            character=given(self.character),
            account=given(self.account),
            since=_instant(self.since),
            until=_instant(self.until),
        )


def _instant(time: datetime | UnsetType) -> datetime | None:
    utc = in_utc(given(time))
    return max(utc, _EARLIEST) if utc else None


@reads("/larps/{larp:str}/events", tag="Journal", roles=_READERS, query=EventPage, answer=EventList)
async def list_events(request: ApiRequest) -> Response[Any]:
    """List the events of the journal in order.

    Each is the text that was recorded and hashed, between `position` and `hash`. What is known beside it stands
    behind: `reversed_by` and `voided_by`, the position of its correction, and `late` where it was recorded more than
    five minutes after it happened. The next page begins `after` the last position of this one, so
    whoever has read the last page asks for the same address again to get what is new.

    With `Accept: text/event-stream` it is the live feed: all events after `after` (or the header `Last-Event-ID`,
    which wins) that match, as they were recorded, and then those to come. `id` is the position, `data` the event.
    """
    page = request.query_as(EventPage)
    if _wants_stream(request):
        return _stream(request, page)
    async with request.services.database.connection() as connection:
        found = await queries.events(connection, request.slug_of_larp, page.filter(), page.limit + 1)
        rows = await marked(connection, request.slug_of_larp, found)
    more = listed(request, rows, page.limit, lambda row: str(row[0]), parameter="after")
    return Response(Items([Raw(event) for _, event in more.content.items]), headers=more.headers)


def _wants_stream(request: ApiRequest) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


def _stream(request: ApiRequest, page: EventPage) -> Response[Any]:
    """Raises Malformed for what a feed that never ends cannot take."""
    bounds = (page.before, page.since, page.until)
    if page.limit != EventPage().limit or any(not isinstance(bound, UnsetType) for bound in bounds):
        raise Malformed("query parameters: a feed takes after, type, table, character and account")
    last = request.headers.get("last-event-id")
    if last is not None and not (last.isascii() and last.isdecimal() and len(last) <= _POSITION_DIGITS_MAX):
        raise Malformed("Last-Event-ID must be the `id` of an event, which is its position")
    filter_ = page.filter() if last is None else replace(page.filter(), after=int(last))
    headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
    if request.method == "HEAD":
        return Response(None, media_type="text/event-stream", headers=headers)
    database, token = request.services.database, request.auth.token

    async def is_valid() -> bool:
        async with database.connection() as connection:
            return await tokens.is_valid(connection, token)

    feeds: Feeds = request.app.state.feeds
    events = feeds.stream(request.slug_of_larp, filter_, token, is_valid)
    return Stream(events, media_type="text/event-stream", headers=headers)


@reads(
    "/larps/{larp:str}/events/{position:str}",
    tag="Journal",
    roles=_READERS,
    answer=EventJson,
    refuses=(UnknownPosition,),
)
async def get_event(request: ApiRequest) -> Response[bytes]:
    """Read one event, and what corrected it."""
    position = str(request.path_params["position"])
    if not (position.isascii() and position.isdecimal() and len(position) <= _POSITION_DIGITS_MAX):
        raise UnknownPosition("positions are whole numbers from 1 on")
    async with request.services.database.connection() as connection:
        event = await queries.event(connection, request.slug_of_larp, int(position))
        ((_, shown),) = await marked(connection, request.slug_of_larp, [(int(position), event)])
    return json_response(shown)


ROUTES = (list_events, get_event)
