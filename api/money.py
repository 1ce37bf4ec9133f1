"""Money by hand: grants, collections, transfers, notes and corrections."""

from typing import Annotated

from litestar.params import JSONBody
from msgspec import Meta, Raw

from api.access import body_names_own_character, settles_its_own_note
from api.answers import Receipt, record
from api.operations import writes
from api.requests import ApiRequest
from ledger.errors import (
    AlreadyReversed,
    BalanceOverflow,
    CreditExceeded,
    InsufficientFunds,
    NotOwed,
    NotReversible,
    SameAccount,
    UnknownAsset,
    UnknownCharacter,
    UnknownPosition,
    WrongKind,
)
from ledger.messages import Role
from ledger.plans import SettlePlan
from ledger.purses import Assign, Collect, Forgive, Grant, IssueNote, Reverse, Settle, Transfer

_UNKNOWN = (UnknownCharacter, UnknownAsset)

SettlementJson = Annotated[
    Raw,
    Meta(
        extra_json_schema={
            "description": "One note, or a plan: the key `plan` tells.",
            "oneOf": [{"$ref": "#/components/schemas/Settle"}, {"$ref": "#/components/schemas/SettlePlan"}],
        }
    ),
]

_PAYERS: tuple[Role, ...] = ("organiser", "banker", "player")


@writes(
    "/larps/{larp:str}/grants",
    tag="Money",
    roles=("organiser",),
    refuses=(*_UNKNOWN, WrongKind, BalanceOverflow),
)
async def create_grant(request: ApiRequest, data: JSONBody[Grant]) -> Receipt:
    """Mint tokens into a purse."""
    return await record(request, data)


@writes(
    "/larps/{larp:str}/collections",
    tag="Money",
    roles=("organiser",),
    refuses=(*_UNKNOWN, WrongKind, InsufficientFunds),
)
async def create_collection(request: ApiRequest, data: JSONBody[Collect]) -> Receipt:
    """Take tokens out of a purse and out of play."""
    return await record(request, data)


@writes(
    "/larps/{larp:str}/transfers",
    tag="Money",
    roles=_PAYERS,
    restricted={"player": body_names_own_character("from")},
    refuses=(*_UNKNOWN, SameAccount, WrongKind, InsufficientFunds, BalanceOverflow),
)
async def create_transfer(request: ApiRequest, data: JSONBody[Transfer]) -> Receipt:
    """Move tokens from purse to purse.

    A player's token gives from its own purse.
    """
    return await record(request, data)


@writes(
    "/larps/{larp:str}/ious",
    tag="Notes",
    roles=_PAYERS,
    restricted={"player": body_names_own_character("debtor")},
    refuses=(*_UNKNOWN, SameAccount, WrongKind, CreditExceeded, BalanceOverflow),
)
async def create_iou(request: ApiRequest, data: JSONBody[IssueNote]) -> Receipt:
    """Issue a note: `debtor` promises `amount` of `asset` to `creditor`.

    Notes in tokens stay within the debtor's credit limit; promises have none. A player's token issues its own notes.
    """
    return await record(request, data)


@writes(
    "/larps/{larp:str}/settlements",
    tag="Notes",
    roles=_PAYERS,
    restricted={"player": settles_its_own_note},
    body=SettlementJson,
    refuses=(*_UNKNOWN, SameAccount, WrongKind, InsufficientFunds, BalanceOverflow, NotOwed),
)
async def create_settlement(request: ApiRequest) -> Receipt:
    """Settle a note, or carry out a plan: the debtor pays its holder, and the note goes back, in one event.

    Of a promise nothing is paid: it was kept. A player's token settles what its character owes.

    A body with the key `plan` is a plan, as the debts give it with `simplify=true`: all of it is carried out in one
    event, or nothing. It cancels exactly the notes that it names, of which there must be enough (`not_owed` if the
    debts have changed), and every payment must be covered (`insufficient_funds`). A plan that would change anybody's
    net position is malformed. Plans are the banker's and the organiser's.
    """
    body = await request.body_as(SettlePlan if await request.names("plan") else Settle)
    return await record(request, body)


@writes(
    "/larps/{larp:str}/forgivals",
    tag="Notes",
    roles=_PAYERS,
    restricted={"player": body_names_own_character("creditor")},
    refuses=(*_UNKNOWN, SameAccount, WrongKind, NotOwed),
)
async def create_forgival(request: ApiRequest, data: JSONBody[Forgive]) -> Receipt:
    """Forgive a note: it goes back and nothing is paid.

    A player's token forgives notes that its character holds.
    """
    return await record(request, data)


@writes(
    "/larps/{larp:str}/assignments",
    tag="Notes",
    roles=_PAYERS,
    restricted={"player": body_names_own_character("from")},
    refuses=(*_UNKNOWN, SameAccount, WrongKind, BalanceOverflow, NotOwed),
)
async def create_assignment(request: ApiRequest, data: JSONBody[Assign]) -> Receipt:
    """Assign a note: it moves from purse to purse, and `to` is owed from then on.

    A player's token assigns notes that its character holds.
    """
    return await record(request, data)


@writes(
    "/larps/{larp:str}/reversals",
    tag="Money",
    roles=("organiser",),
    refuses=(UnknownPosition, NotReversible, AlreadyReversed, InsufficientFunds, BalanceOverflow),
)
async def create_reversal(request: ApiRequest, data: JSONBody[Reverse]) -> Receipt:
    """Reverse the event at a position: a grant, a collection, a transfer or an event of notes.

    Nothing is changed or deleted: a new event has the postings of the original turned round. Each event is
    reversed once at most. Events of tables are not reversed one by one: a table is voided.
    """
    return await record(request, data)


ROUTES = (
    create_grant,
    create_collection,
    create_transfer,
    create_iou,
    create_settlement,
    create_forgival,
    create_assignment,
    create_reversal,
)
