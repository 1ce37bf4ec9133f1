"""Tokens: made and ended by an admin or the LARP's organisers."""

from litestar import Response
from litestar.params import JSONBody

from api import conditions, tokens
from api.access import makes_no_admin
from api.answers import Items, Page, listed
from api.operations import reads, removes, writes
from api.requests import ApiRequest
from api.tokens import MadeToken, NewToken, Token
from ledger.errors import NotFound, UnknownCharacter, UnknownLarp
from ledger.messages import Role

_MAKERS: tuple[Role, ...] = ("admin", "organiser")


@writes(
    "/larps/{larp:str}/tokens",
    tag="Tokens",
    roles=_MAKERS,
    restricted={"organiser": makes_no_admin},
    refuses=(UnknownLarp, UnknownCharacter),
)
async def create_token(request: ApiRequest, data: JSONBody[NewToken]) -> MadeToken:
    """Make a token for this LARP.

    `token` is shown this once. A player's is bound to a character that exists. Only an admin makes admin tokens,
    which belong to no LARP.
    """
    once = await conditions.once(request)
    async with request.services.database.connection() as connection:
        made, before = await tokens.create(connection, request.slug("larp", UnknownLarp), data, once)
    conditions.mark(request, replayed=before)
    return made


@reads("/larps/{larp:str}/tokens", tag="Tokens", roles=_MAKERS, query=Page, refuses=(UnknownLarp,))
async def list_tokens(request: ApiRequest) -> Response[Items[Token]]:
    """List the tokens of this LARP, expired and revoked ones too, the oldest first."""
    page, larp = request.query_as(Page), request.slug("larp", UnknownLarp)
    async with request.services.database.connection() as connection:
        rows = await tokens.listed(connection, larp, page.after, page.fetched)
    return listed(request, rows, page.limit, lambda token: token.id)


@removes("/larps/{larp:str}/tokens/{token:str}", tag="Tokens", roles=_MAKERS, refuses=(UnknownLarp, NotFound))
async def revoke_token(request: ApiRequest) -> None:
    """Revoke a token: no request with it is let in any more. It can be done twice.

    An admin can also revoke an admin's token here, which belongs to no LARP.
    """
    larp, id_ = request.slug("larp", UnknownLarp), request.slug("token", NotFound)
    async with request.services.database.connection() as connection:
        await tokens.revoke(connection, larp, id_, admins=request.auth.role == "admin")


ROUTES = (create_token, list_tokens, revoke_token)
