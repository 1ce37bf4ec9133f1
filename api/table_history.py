"""What came of the games: rounds and results, where the lids went, and how often each face of each die was seen."""

from collections.abc import Sequence

from litestar import Response
from msgspec import Struct

from api.answers import Items, Page, listed
from api.operations import reads
from api.requests import ApiRequest
from ledger.errors import Malformed, UnknownTable
from ledger.messages import Role
from projections import game_queries
from projections.game_queries import DieRow, HalfLids, LidMove, Result, RoundRow

_READERS: tuple[Role, ...] = ("organiser", "keeper", "player", "tool")
_POSITION_DIGITS_MAX = 16
_LINE_DIGITS_MAX = 4


class RoundList(Struct, frozen=True):
    """One page of rounds, and how the table ended."""

    items: Sequence[RoundRow]
    result: Result


class LidList(Struct, frozen=True):
    """One page of movements, and the lids as they last lay in each half."""

    items: Sequence[LidMove]
    halves: Sequence[HalfLids]


@reads("/larps/{larp:str}/tables/{table:str}/rounds", tag="Tables", roles=_READERS, query=Page, refuses=(UnknownTable,))
async def list_rounds(request: ApiRequest) -> Response[RoundList]:
    """List the rounds of a table that are over, and its result.

    What a round is, the game says: a claim in Skuggkast, two hands in Schattenspiel, a turn in Tåkespillet, one go
    round in Schocken. Nothing that is still sealed is in it.
    """
    page, table = request.query_as(Page), request.slug("table", UnknownTable)
    (after,) = _numbers(page.after or "0", 1)
    async with request.services.database.connection() as connection:
        result = await game_queries.result(connection, request.slug_of_larp, table)
        rows = await game_queries.rounds(connection, request.slug_of_larp, table, after, page.fetched)
    more = listed(request, rows, page.limit, lambda row: str(row.position))
    return Response(RoundList(more.content.items, result), headers=more.headers)


@reads("/larps/{larp:str}/tables/{table:str}/lids", tag="Tables", roles=_READERS, query=Page, refuses=(UnknownTable,))
async def list_lids(request: ApiRequest) -> Response[LidList]:
    """List who gave whom how many lids in which half and round, and where they lie.

    Only Schocken has lids; elsewhere both lists are empty.
    """
    page, table = request.query_as(Page), request.slug("table", UnknownTable)
    position, line = _numbers(page.after or "0.0", 2)
    async with request.services.database.connection() as connection:
        halves = await game_queries.lids(connection, request.slug_of_larp, table)
        rows = await game_queries.lid_moves(connection, request.slug_of_larp, table, (position, line), page.fetched)
    more = listed(request, rows, page.limit, lambda row: f"{row.position}.{row.line}")
    return Response(LidList(more.content.items, halves), headers=more.headers)


@reads("/larps/{larp:str}/tables/{table:str}/dice", tag="Tables", roles=_READERS, refuses=(UnknownTable,))
async def list_table_dice(request: ApiRequest) -> Items[DieRow]:
    """List how often each face of each die was seen at a table.

    Dice that were thrown openly or uncovered are counted, those that stayed under a cup are not: a bluff that is
    looked at more often than a truth shows in the figures.
    """
    table = request.slug("table", UnknownTable)
    async with request.services.database.connection() as connection:
        return Items(await game_queries.dice(connection, request.slug_of_larp, table))


@reads("/larps/{larp:str}/dice", tag="Tables", roles=_READERS)
async def list_dice(request: ApiRequest) -> Items[DieRow]:
    """List how often each face of each die was seen, at all tables of the LARP together.

    Dice that the service rolled and dice that were reported are counted apart.
    """
    async with request.services.database.connection() as connection:
        return Items(await game_queries.dice(connection, request.slug_of_larp, None))


def _numbers(key: str, count: int) -> Sequence[int]:
    """A position, and with `count` 2 a line, that a cursor names. Raises Malformed."""
    parts = key.split(".")
    widths = (_POSITION_DIGITS_MAX, _LINE_DIGITS_MAX)
    if len(parts) != count or not all(
        part.isdecimal() and len(part) <= width for part, width in zip(parts, widths, strict=False)
    ):
        raise Malformed("query parameters: cursor is none of this list: follow the Link of a page", "/cursor")
    return [int(part) for part in parts]


ROUTES = (list_rounds, list_lids, list_table_dice, list_dice)
