"""Game tables: opened, played, looked at and voided."""

from typing import Annotated, Any, Union

import msgspec
from litestar import Response
from litestar.params import JSONBody
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from api import conditions
from api.access import body_names_own_character
from api.answers import Items, TableJson, TableList, TableReceipt, given, json_response, listed, record_at_table
from api.as_of import AsOf, AsOfPage, moment
from api.errors import catalogue
from api.operations import reads, writes
from api.requests import ApiRequest
from ledger import errors, wire
from ledger.book import ActRequest, Void, VoidTable
from ledger.errors import UnknownAsset, UnknownCharacter, UnknownPosition, UnknownTable
from ledger.games import GAMES
from ledger.games.table import Opening
from ledger.messages import Role, Slug
from projections import as_of, queries
from projections.queries import SealedRow


class _Positioned(Struct, frozen=True):
    position: int


_positioned = msgspec.json.Decoder(_Positioned)
_READERS: tuple[Role, ...] = ("organiser", "keeper", "player", "tool")

AnyOpening: Any = Union[tuple(game.opening for game in GAMES)]  # noqa: UP007  # there is no other way to write it
ActionJson = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/Action"})]

_openings = wire.decoder_of(*(game.opening for game in GAMES))

# Each game has codes of its own; which apply depends on the table.
_OF_GAMES = tuple(
    kind for kinds in catalogue().values() for kind in kinds if kind.__module__.startswith("ledger.games.")
)
_MONEY = (errors.InsufficientFunds, errors.CreditExceeded, errors.BalanceOverflow)


class TablePage(AsOfPage, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which tables. `phase`: such as `roll_off`; a table that is over is in `closed` or `voided`."""

    game: Slug | UnsetType = UNSET
    phase: Slug | UnsetType = UNSET


@writes(
    "/larps/{larp:str}/tables",
    tag="Tables",
    roles=("organiser", "keeper"),
    body=AnyOpening,
    refuses=(UnknownCharacter, UnknownAsset, errors.InvalidRules, errors.AlreadyExists, *_MONEY),
)
async def open_table(request: ApiRequest) -> TableReceipt:
    """Open a table of one of the games; every seat's stake is paid at once, all or none.

    With `"dice": "reported"`, the default, real dice are rolled and the actions say what they show; with
    `"dice": "service"` the service rolls.
    """
    opening: Opening = wire.decode(_openings, await request.body())
    return await record_at_table(request, opening)


@writes(
    "/larps/{larp:str}/tables/{table:str}/actions",
    tag="Tables",
    roles=("organiser", "keeper", "player"),
    restricted={"player": body_names_own_character("seat", needed=True)},
    body=ActionJson,
    refuses=(
        UnknownTable,
        errors.TableClosed,
        errors.NotSeated,
        errors.WrongPhase,
        errors.NotYourTurn,
        errors.DiceRequired,
        errors.DiceNotAccepted,
        errors.IllegalMove,
        *_OF_GAMES,
        *_MONEY,
    ),
)
async def act(request: ApiRequest) -> TableReceipt:
    """Act at a table, in the words of its game.

    `seat` is the character that acts, for a player's token its own. Actions without a seat are a keeper's or an
    organiser's. An action that the rules do not allow is refused and nothing is recorded; besides the codes named
    below each game has its own. No receipt shows what is sealed.
    """
    return await record_at_table(request, ActRequest(str(request.path_params["table"]), await request.body()))


@writes(
    "/larps/{larp:str}/tables/{table:str}/void",
    tag="Tables",
    roles=("organiser",),
    refuses=(UnknownTable, errors.TableClosed),
)
async def void_table(request: ApiRequest, data: JSONBody[VoidTable]) -> TableReceipt:
    """Void an open table: everything goes back to whoever paid it in, and the table closes."""
    return await record_at_table(request, Void(str(request.path_params["table"]), data))


@reads(
    "/larps/{larp:str}/tables",
    tag="Tables",
    roles=_READERS,
    query=TablePage,
    answer=TableList,
    refuses=(UnknownPosition,),
)
async def list_tables(request: ApiRequest) -> Response[Items[Raw]]:
    """List the tables, those that are over too, each as everybody may see it.

    As of a time or position: the tables that had been opened, as they were then.
    """
    page = request.query_as(TablePage)
    filters = (given(page.game), given(page.phase), page.after, page.fetched)
    async with request.services.database.connection() as connection:
        if then := await moment(connection, request, page):
            rows = await as_of.tables(connection, then, *filters)
        else:
            rows = await queries.tables(connection, request.slug_of_larp, *filters)
    more = listed(request, rows, page.limit, lambda row: row[0])
    return Response(Items([Raw(view) for _, view in more.content.items]), headers=more.headers)


@reads(
    "/larps/{larp:str}/tables/{table:str}",
    tag="Tables",
    roles=_READERS,
    query=AsOf,
    answer=TableJson,
    refuses=(UnknownTable, UnknownPosition),
)
async def get_table(request: ApiRequest) -> Response[bytes]:
    """Read a table, as everybody may see it.

    What is sealed is in no view, not even its owner's. As of a time or position: as it was then, `position` being
    that of its last event until then.
    """
    asked, table = request.query_as(AsOf), request.slug("table", UnknownTable)
    async with request.services.database.connection() as connection:
        if then := await moment(connection, request, asked):
            view = await as_of.table(connection, then, table)
        else:
            view = await queries.table(connection, request.slug_of_larp, table)
    return json_response(view, conditions.position_tag(_positioned.decode(view).position))


@reads(
    "/larps/{larp:str}/tables/{table:str}/sealed",
    tag="Tables",
    roles=("organiser", "player"),
    refuses=(UnknownTable,),
)
async def list_sealed(request: ApiRequest) -> Items[SealedRow]:
    """List what is sealed at a table and the asker may see.

    A player's token sees what its own character hides, an organiser's everything. The commitment in the journal is
    SHA-256 over nonce and value; when the rules uncover the value, the journal gets both.
    """
    asker, table = request.auth, request.slug("table", UnknownTable)
    seat = None if asker.role == "organiser" else asker.character
    async with request.services.database.connection() as connection:
        return Items(await queries.sealed(connection, request.slug_of_larp, table, seat))


ROUTES = (open_table, act, void_table, list_tables, get_table, list_sealed)
