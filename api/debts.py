"""Debts: who owes whom what, and how all of it is settled with the fewest payments."""

import asyncio
from collections.abc import Sequence

from litestar import Response
from msgspec import Struct

from api.answers import listed
from api.as_of import AsOfPage, moment
from api.operations import reads
from api.requests import ApiRequest
from ledger.database import Connection
from ledger.errors import Malformed, UnknownPosition
from ledger.plans import Circle, PlannedSettlement
from projections import as_of, debts
from projections.as_of import Then
from projections.debts import Debt, Total
from projections.simplify import simplified


class DebtPage(AsOfPage, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As of when. `simplify`: the fewest settlements instead, all of them on one page."""

    simplify: bool = False


class DebtList(Struct, frozen=True, kw_only=True, tag_field="kind", tag="debts"):
    """One page of debts. `totals`: of all pages, by character and asset. `position`: as of which everything is."""

    items: Sequence[Debt]
    totals: Sequence[Total]
    position: int


class Cleared(Struct, frozen=True):
    """An asset, in how many settlements it is cleared, and whether it is certain that fewer would not do."""

    asset: str
    settlements: int
    fewest: bool


class SettlementPlan(Struct, frozen=True, kw_only=True, tag_field="kind", tag="plan"):
    """What clears the debts to creditors. `items` and `circles` can be sent as a settlement's `plan` and `circles`.

    What lies at tables is played for and stands in no plan. `position`: as of which the debts are.
    """

    items: Sequence[PlannedSettlement]
    circles: Sequence[Circle]
    assets: Sequence[Cleared]
    position: int


@reads(
    "/larps/{larp:str}/debts",
    tag="Notes",
    roles=("organiser", "banker", "player", "tool"),
    query=DebtPage,
    refuses=(UnknownPosition,),
)
async def list_debts(request: ApiRequest) -> Response[DebtList | SettlementPlan]:
    """List who owes whom what, since when, and what it comes from.

    A debt is all notes of a debtor in one asset that one creditor holds, or that lie at one table. Each of its
    `notes` says which event issued it, and keeps its age whatever hands it goes through; what is settled in part or
    handed on is the oldest. A player's token reads what its own character owes and is owed.

    With `simplify=true` the answer is a plan: the fewest settlements that clear these debts and change nobody's net
    position, each with the notes that it cancels. The fewest are found for up to 16 characters an asset besides
    those who come out even in twos; beyond, there are at most as many settlements as characters, less one.
    """
    page = request.query_as(DebtPage)
    async with request.services.database.connection() as connection:
        then, offset = await _from_where(connection, request, page)
        found = await debts.debts(connection, then, request.auth.character)
    if page.simplify:
        # It may take a moment, which the requests beside it need not wait for.
        return Response(await asyncio.to_thread(_plan, found, then.position))
    rows = found[offset : offset + page.fetched]
    more = listed(request, rows, page.limit, lambda _: f"{then.position}.{offset + page.limit}")
    answer = DebtList(items=more.content.items, totals=debts.totals(found), position=then.position)
    return Response(answer, headers=more.headers)


def _plan(found: Sequence[Debt], position: int) -> SettlementPlan:
    plans = simplified(debts.owing(found))
    return SettlementPlan(
        items=[settlement for plan in plans for settlement in plan.settlements],
        circles=[circle for plan in plans for circle in plan.circles],
        assets=[Cleared(plan.asset, len(plan.settlements), plan.fewest) for plan in plans],
        position=position,
    )


async def _from_where(connection: Connection, request: ApiRequest, page: DebtPage) -> tuple[Then, int]:
    """As of when, and how many debts were seen. All pages are as of the moment of the first, so none is missed."""
    asked = await moment(connection, request, page)
    if page.after is None:
        return asked or await debts.now(connection, request.slug_of_larp), 0
    position, _, offset = page.after.partition(".")
    if not (position.isdecimal() and offset.isdecimal() and len(position) <= 16 and len(offset) <= 10):
        raise Malformed("query parameters: cursor is none of this list: follow the Link of a page", "/cursor")
    return await as_of.at_position(connection, request.slug_of_larp, int(position)), int(offset)


ROUTES = (list_debts,)
