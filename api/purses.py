"""Purses: what a character has, owes and is owed, and how it came to that."""

from litestar import Response

from api import conditions
from api.access import path_names_own_character, seat_at_open_table
from api.answers import Items, listed
from api.as_of import AsOf, AsOfPage, moment
from api.operations import reads
from api.requests import ApiRequest
from api.responses import JsonResponse
from ledger.errors import Forbidden, Malformed, UnknownCharacter, UnknownPosition
from projections import as_of, queries
from projections.queries import Order, Purse, StatementRow

_own = path_names_own_character()


class StatementPage(AsOfPage, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`order`: by when things were recorded, or by when they happened."""

    order: Order = "recorded"


async def _seated_now(request: ApiRequest) -> None:
    """For keepers: what seats can cover is what they have now."""
    await seat_at_open_table(request)
    if request.scope["query_string"]:
        raise Forbidden("a keeper's token reads what seats can cover now, and not what they had before")


@reads(
    "/larps/{larp:str}/purses",
    tag="Purses",
    roles=("organiser", "banker", "tool"),
    query=AsOfPage,
    refuses=(UnknownPosition,),
)
async def list_purses(request: ApiRequest) -> Response[Items[Purse]]:
    """List all purses, by character, as they are or were."""
    page = request.query_as(AsOfPage)
    async with request.services.database.connection() as connection:
        if then := await moment(connection, request, page):
            rows = await as_of.purses(connection, then, page.after, page.fetched)
        else:
            rows = await queries.purses(connection, request.slug_of_larp, page.after, page.fetched)
    return listed(request, rows, page.limit, lambda row: row.character)


@reads(
    "/larps/{larp:str}/purses/{character:str}",
    tag="Purses",
    roles=("organiser", "banker", "keeper", "player", "tool"),
    restricted={"player": _own, "keeper": _seated_now},
    query=AsOf,
    refuses=(UnknownCharacter, UnknownPosition),
)
async def get_purse(request: ApiRequest) -> Response[Purse]:
    """Read a purse: the tokens in it, the notes that its character owes, and those that it holds.

    `owes` counts notes in purses (`creditor`) and at tables (`table`). A player's token reads its own purse, a
    keeper's those of characters that sit at a table which is not over: what they can cover now.
    """
    asked, character = request.query_as(AsOf), request.slug("character", UnknownCharacter)
    async with request.services.database.connection() as connection:
        if then := await moment(connection, request, asked):
            purse = await as_of.purse(connection, then, character)
        else:
            purse = await queries.purse(connection, request.slug_of_larp, character)
    return JsonResponse(purse, headers=conditions.position_tag(purse.position))


@reads(
    "/larps/{larp:str}/purses/{character:str}/statement",
    tag="Purses",
    roles=("organiser", "banker", "player", "tool"),
    restricted={"player": _own},
    query=StatementPage,
    refuses=(UnknownCharacter, UnknownPosition),
)
async def get_statement(request: ApiRequest) -> Response[Items[StatementRow]]:
    """List each movement of a purse, the newest first, with the balance after it.

    Notes stand there under their asset, `iou/DEBTOR/ASSET`. What was corrected stands beside its correction:
    `reversed_by` and `reverses`, and `voided_by` for a table that was voided. What was typed in later, more than five
    minutes after it happened, is `late`; with `order=at` it stands where it belongs, while `balance` is always the
    one after it was recorded. A player's token reads its own.
    """
    page = request.query_as(StatementPage)
    before, character = _before(page.after), request.slug("character", UnknownCharacter)
    async with request.services.database.connection() as connection:
        if then := await moment(connection, request, page):
            rows = await as_of.statement(connection, then, character, before, page.fetched, order=page.order)
        else:
            rows = await queries.statement(
                connection, request.slug_of_larp, character, before, page.fetched, order=page.order
            )
    return listed(request, rows, page.limit, lambda row: f"{row.position}.{row.line}")


def _before(key: str | None) -> tuple[int, int] | None:
    """The position and line that a cursor names."""
    if key is None:
        return None
    position, _, line = key.partition(".")
    if not (position.isdecimal() and line.isdecimal() and len(position) <= 16 and len(line) <= 6):
        raise Malformed("query parameters: cursor is none of this list: follow the Link of a page", "/cursor")
    return int(position), int(line)


ROUTES = (list_purses, get_purse, get_statement)
