"""Who and what there is in a LARP: characters and assets."""

from collections.abc import Mapping

from litestar import Response
from litestar.params import JSONBody
from msgspec import UNSET, Struct, UnsetType

from api.access import INSIDE
from api.answers import Items, Receipt, listed, record
from api.as_of import AsOfPage, moment
from api.operations import reads, writes
from api.requests import ApiRequest
from ledger.errors import AlreadyExists, UnknownAsset, UnknownCharacter, UnknownPosition, WrongKind
from ledger.purses import AddCharacter, ChangeCharacter, CharacterChanges, DefineAsset
from projections import as_of, queries
from projections.queries import AssetRow, CharacterRow


class Character(Struct, frozen=True):
    """A character. `credit_limit`: how much it may owe, by asset; players see their own character's only.

    `position`: of its last change.
    """

    character: str
    name: str
    position: int
    credit_limit: Mapping[str, int] | UnsetType = UNSET


@writes("/larps/{larp:str}/assets", tag="Characters and assets", roles=("organiser",), refuses=(AlreadyExists,))
async def create_asset(request: ApiRequest, data: JSONBody[DefineAsset]) -> Receipt:
    """Define an asset.

    `token`: things that exist in a fixed number once minted. `promise`: things that are only ever owed.
    """
    return await record(request, data)


@reads(
    "/larps/{larp:str}/assets",
    tag="Characters and assets",
    roles=INSIDE,
    query=AsOfPage,
    refuses=(UnknownPosition,),
)
async def list_assets(request: ApiRequest) -> Response[Items[AssetRow]]:
    """List the assets, those that exist from the start among them."""
    page = request.query_as(AsOfPage)
    async with request.services.database.connection() as connection:
        if then := await moment(connection, request, page):
            rows = await as_of.assets(connection, then, page.after, page.fetched)
        else:
            rows = await queries.assets(connection, request.slug_of_larp, page.after, page.fetched)
    return listed(request, rows, page.limit, lambda row: row.asset)


@writes(
    "/larps/{larp:str}/characters",
    tag="Characters and assets",
    roles=("organiser",),
    refuses=(UnknownAsset, AlreadyExists, WrongKind),
)
async def create_character(request: ApiRequest, data: JSONBody[AddCharacter]) -> Receipt:
    """Add a character, and with it an empty purse.

    Credit limits are for tokens, and 0 where none is named.
    """
    return await record(request, data)


@writes(
    "/larps/{larp:str}/characters/{character:str}",
    method="PATCH",
    tag="Characters and assets",
    roles=("organiser",),
    refuses=(UnknownCharacter, UnknownAsset, WrongKind),
)
async def change_character(request: ApiRequest, data: JSONBody[CharacterChanges]) -> Receipt:
    """Change a character's name or limits.

    Limits of assets that are not named stay. A limit below what is owed now only blocks new notes.
    """
    return await record(request, ChangeCharacter(str(request.path_params["character"]), data))


@reads(
    "/larps/{larp:str}/characters",
    tag="Characters and assets",
    roles=INSIDE,
    query=AsOfPage,
    refuses=(UnknownPosition,),
)
async def list_characters(request: ApiRequest) -> Response[Items[Character]]:
    """List the characters, with the names and limits that they have or had."""
    page, asker = request.query_as(AsOfPage), request.auth
    async with request.services.database.connection() as connection:
        if then := await moment(connection, request, page):
            rows = await as_of.characters(connection, then, page.after, page.fetched)
        else:
            rows = await queries.characters(connection, request.slug_of_larp, page.after, page.fetched)
    hidden = asker.role == "player"
    items = [_character(row, show_limit=not hidden or row.character == asker.character) for row in rows]
    return listed(request, items, page.limit, lambda item: item.character)


def _character(row: CharacterRow, *, show_limit: bool) -> Character:
    return Character(row.character, row.name, row.position, row.credit_limit if show_limit else UNSET)


ROUTES = (create_asset, list_assets, create_character, change_character, list_characters)
