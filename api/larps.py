"""LARPs: begun by an admin, each with a journal of its own."""

from litestar import Response
from litestar.params import JSONBody

from api import conditions
from api.access import INSIDE
from api.answers import Items, Page, Receipt, listed, receipt
from api.operations import reads, writes
from api.requests import ApiRequest
from ledger.errors import AlreadyExists, UnknownLarp
from ledger.purses import FoundLarp
from projections import queries
from projections.queries import LarpRow


@writes("/larps", tag="LARPs", roles=("admin",), refuses=(AlreadyExists,))
async def create_larp(request: ApiRequest, data: JSONBody[FoundLarp]) -> Receipt:
    """Create a LARP.

    The first event of its journal. The assets `lid`, `drink` and `schnapps` exist from then on.
    """
    recorded = await request.services.writers.send_founding(data, await conditions.sent(request, data))
    conditions.mark(request, replayed=recorded.replayed)
    return receipt(recorded)


@reads("/larps", tag="LARPs", roles=("admin", *INSIDE), query=Page)
async def list_larps(request: ApiRequest) -> Response[Items[LarpRow]]:
    """List LARPs.

    An admin sees all of them, every other token its own. `position` is the head of the journal.
    """
    page = request.query_as(Page)
    async with request.services.database.connection() as connection:
        rows = await queries.larps(connection, request.auth.larp, page.after, page.fetched)
    return listed(request, rows, page.limit, lambda row: row.larp)


@reads("/larps/{larp:str}", tag="LARPs", roles=("admin", *INSIDE), refuses=(UnknownLarp,))
async def get_larp(request: ApiRequest) -> Response[LarpRow]:
    """Read a LARP: its name, the head position of its journal, and how much there is in it."""
    async with request.services.database.connection() as connection:
        row = await queries.larp(connection, request.slug("larp", UnknownLarp))
    return Response(row, headers=conditions.position_tag(row.position))


ROUTES = (create_larp, list_larps, get_larp)
