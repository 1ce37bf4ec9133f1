"""Reading the past: the query parameters `at` and `at_position`, which every reader of balances and tables takes."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from api.answers import Page, given
from api.requests import ApiRequest
from ledger.database import Connection
from ledger.errors import Malformed
from ledger.messages import Instant, in_utc
from projections import as_of
from projections.as_of import Then
from projections.queries import POSITION_MAX

At = Annotated[Instant, Meta(description="as of this time, by when the service recorded things")]
AtPosition = Annotated[
    int, Meta(ge=1, le=POSITION_MAX, description="as of this position: after its event and before the next")
]


class AsOf(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As of when; neither: now."""

    at: At | UnsetType = UNSET
    at_position: AtPosition | UnsetType = UNSET


class AsOfPage(Page, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page of a list, as of now or then. The pages of one walk are all as of the same moment."""

    at: At | UnsetType = UNSET
    at_position: AtPosition | UnsetType = UNSET


async def moment(connection: Connection, request: ApiRequest, asked: AsOf | AsOfPage) -> Then | None:
    """The moment that is asked for, None for now.

    Raises Malformed where both are given, and UnknownPosition beyond the head and before the first event.
    """
    at, position = given(asked.at), given(asked.at_position)
    if at is not None and position is not None:
        raise Malformed("query parameters: at and at_position exclude each other", "/at")
    if position is not None:
        return await as_of.at_position(connection, request.slug_of_larp, position)
    time = in_utc(at)
    return await as_of.at_time(connection, request.slug_of_larp, time) if time is not None else None
