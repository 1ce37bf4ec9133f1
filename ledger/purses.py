"""The LARP's own commands and events: assets, characters, purses, notes and corrections.

In the order in which one reads a game: commands, events, decide. Source: rules/ledger.md, design/API.md.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Literal, Protocol, assert_never

from msgspec import UNSET, Meta, Struct, UnsetType

from ledger import plans
from ledger.errors import (
    AlreadyExists,
    AlreadyReversed,
    Malformed,
    NotReversible,
    SameAccount,
    UnknownCharacter,
    UnknownPosition,
    WrongKind,
)
from ledger.messages import Amount, Command, CreditLimits, Draft, Event, Memo, Name, Posting, Slug
from ledger.money import MINT, Holdings, Till, note, purse, turned_round
from ledger.plans import NotePlanSettled, SettlePlan
from ledger.recorded import Recorded

# ---- commands ----

Language = Annotated[str, Meta(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{1,8})*(?!\n)$", max_length=35, description="BCP 47")]


Reason = Annotated[Memo, Meta(min_length=1)]


class FoundLarp(Command, frozen=True, kw_only=True):
    """Begin the journal of a LARP."""

    larp: Slug
    name: Name
    language: Language = "en"


class DefineAsset(Command, frozen=True, kw_only=True, tag_field="command", tag="asset"):
    """Make an asset known. token: minted and counted; promise: only ever owed."""

    asset: Slug
    kind: Literal["token", "promise"]
    name: Name


class AddCharacter(Command, frozen=True, kw_only=True, tag_field="command", tag="character"):
    """Give a character a purse. `credit_limit`: how much it may owe, by token; 0 where not named."""

    character: Slug
    name: Name
    credit_limit: CreditLimits = {}


class CharacterChanges(Command, frozen=True, kw_only=True):
    """Change a character's name or some of its limits; limits of assets not named stay."""

    name: Name | UnsetType = UNSET
    credit_limit: CreditLimits | UnsetType = UNSET


class Grant(Command, frozen=True, kw_only=True, tag_field="command", tag="grant"):
    """Mint tokens into a purse."""

    to: Slug
    asset: Slug
    amount: Amount
    memo: Memo | None = None


class Collect(Command, frozen=True, kw_only=True, rename={"from_": "from"}, tag_field="command", tag="collection"):
    """Take tokens out of a purse and out of play."""

    from_: Slug
    asset: Slug
    amount: Amount
    memo: Memo | None = None


class Transfer(Command, frozen=True, kw_only=True, rename={"from_": "from"}, tag_field="command", tag="transfer"):
    """Move tokens from purse to purse."""

    from_: Slug
    to: Slug
    asset: Slug
    amount: Amount
    memo: Memo | None = None


class IssueNote(Command, frozen=True, kw_only=True, tag_field="command", tag="iou"):
    """Promise `amount` of `asset` to a creditor."""

    debtor: Slug
    creditor: Slug
    asset: Slug
    amount: Amount
    memo: Memo | None = None


class Settle(Command, frozen=True, kw_only=True, tag_field="command", tag="settlement"):
    """Pay what is owed, and take the note back. Of a promise nothing is paid: it was kept."""

    debtor: Slug
    creditor: Slug
    asset: Slug
    amount: Amount
    memo: Memo | None = None


class Forgive(Command, frozen=True, kw_only=True, tag_field="command", tag="forgival"):
    """Give a note back for nothing."""

    debtor: Slug
    creditor: Slug
    asset: Slug
    amount: Amount
    memo: Memo | None = None


class Assign(Command, frozen=True, kw_only=True, rename={"from_": "from"}, tag_field="command", tag="assignment"):
    """Hand a note of `debtor` on to another purse."""

    debtor: Slug
    from_: Slug
    to: Slug
    asset: Slug
    amount: Amount
    memo: Memo | None = None


class Reverse(Command, frozen=True, kw_only=True, tag_field="command", tag="reversal"):
    """Record the event at `position` the other way round."""

    position: Annotated[int, Meta(ge=1, le=2**53 - 1)]
    reason: Reason


class ChangeCharacter(Struct, frozen=True):
    """The character named in the path, and what is to change."""

    character: str
    changes: CharacterChanges

    @property
    def at(self) -> datetime | None:
        return self.changes.at


NoteCommand = IssueNote | Settle | Forgive | Assign
MoneyCommand = (
    DefineAsset
    | AddCharacter
    | ChangeCharacter
    | Grant
    | Collect
    | Transfer
    | IssueNote
    | Settle
    | Forgive
    | Assign
    | SettlePlan
    | Reverse
)

# ---- events ----


class LarpFounded(Event, frozen=True, kw_only=True):
    """The first event of every journal."""

    TYPE: ClassVar[str] = "larp.founded.v1"
    larp: str
    name: str
    language: str


class AssetDefined(Event, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "asset.defined.v1"
    asset: str
    kind: Literal["token", "promise"]
    name: str


class CharacterAdded(Event, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "character.added.v1"
    character: str
    name: str
    credit_limit: Mapping[str, int]


class CharacterChanged(Event, frozen=True, kw_only=True):
    """What is not named stays."""

    TYPE: ClassVar[str] = "character.changed.v1"
    character: str
    name: str | None
    credit_limit: Mapping[str, int]


class Granted(Event, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "purse.granted.v1"
    memo: str | None


class Collected(Event, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "purse.collected.v1"
    memo: str | None


class Transferred(Event, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "purse.transferred.v1"
    memo: str | None


class NoteIssued(Event, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "note.issued.v1"
    memo: str | None


class NoteSettled(Event, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "note.settled.v1"
    memo: str | None


class NoteForgiven(Event, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "note.forgiven.v1"
    memo: str | None


class NoteAssigned(Event, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "note.assigned.v1"
    memo: str | None


class Reversed(Event, frozen=True, kw_only=True):
    """The event at `position` was reversed; the postings are its own turned round."""

    TYPE: ClassVar[str] = "event.reversed.v1"
    position: int
    reason: str


REVERSIBLE = (Granted, Collected, Transferred, NoteIssued, NoteSettled, NoteForgiven, NoteAssigned, NotePlanSettled)
EVENTS: tuple[type[Event], ...] = (LarpFounded, AssetDefined, CharacterAdded, CharacterChanged, *REVERSIBLE, Reversed)

# ---- decide ----


class Ledger(Holdings, Protocol):
    """What is known of the LARP when one of these commands is decided."""

    def has_character(self, character: str) -> bool: ...

    def is_reversed(self, position: int) -> bool: ...


def decide(ledger: Ledger, command: MoneyCommand, original: Recorded | None = None) -> tuple[Draft, ...]:
    """What comes of a command. `original` is the event at a reversal's position, None if there is none.

    Raises a Refused: what is unknown first, then in the order of design/API.md.
    """
    till = Till(ledger)
    match command:
        case DefineAsset():
            if ledger.kind(command.asset) is not None:
                raise AlreadyExists(f"there is an asset {command.asset!r} already")
            return (Draft(AssetDefined(asset=command.asset, kind=command.kind, name=command.name)),)
        case AddCharacter():
            _require_limits(
                till, command.credit_limit, AlreadyExists if ledger.has_character(command.character) else None
            )
            added = CharacterAdded(character=command.character, name=command.name, credit_limit=command.credit_limit)
            return (Draft(added),)
        case ChangeCharacter():
            return (Draft(_changed(ledger, till, command)),)
        case Grant():
            _require_characters(ledger, command.to)
            _require_token(till, command.asset)
            return (
                Draft(Granted(memo=command.memo), (till.move(MINT, purse(command.to), command.asset, command.amount),)),
            )
        case Collect():
            _require_characters(ledger, command.from_)
            _require_token(till, command.asset)
            posting = till.move(purse(command.from_), MINT, command.asset, command.amount)
            return (Draft(Collected(memo=command.memo), (posting,)),)
        case Transfer():
            _require_characters(ledger, command.from_, command.to)
            till.kind(command.asset)
            _require_two(command.from_, command.to)
            _require_token(till, command.asset)
            posting = till.move(purse(command.from_), purse(command.to), command.asset, command.amount)
            return (Draft(Transferred(memo=command.memo), (posting,)),)
        case IssueNote() | Settle() | Forgive() | Assign():
            return (_note(ledger, till, command),)
        case SettlePlan():
            plans.require_balanced(command)
            _require_characters(ledger, *plans.characters(command))
            return (plans.settled(till, command),)
        case Reverse():
            return (_reversed(ledger, till, command, original),)
        case _:
            assert_never(command)


def _changed(ledger: Ledger, till: Till, command: ChangeCharacter) -> CharacterChanged:
    changes = command.changes
    if changes.name is UNSET and changes.credit_limit is UNSET:
        raise Malformed("there is nothing to change: name, credit_limit or both")
    _require_characters(ledger, command.character)
    limits = {} if isinstance(changes.credit_limit, UnsetType) else changes.credit_limit
    _require_limits(till, limits)
    name = None if isinstance(changes.name, UnsetType) else changes.name
    return CharacterChanged(character=command.character, name=name, credit_limit=limits)


def _note(ledger: Ledger, till: Till, command: NoteCommand) -> Draft:
    asset, amount = command.asset, command.amount
    match command:
        case IssueNote() | Settle() | Forgive():
            holder, other = command.creditor, command.debtor
        case Assign():
            holder, other = command.from_, command.to
    _require_characters(ledger, command.debtor, holder, other)
    kind = till.kind(asset)
    _require_two(holder, other)
    if kind == "internal":
        raise WrongKind(f"{asset} cannot be owed: only the service moves it")
    match command:
        case IssueNote():
            return Draft(NoteIssued(memo=command.memo), (till.issue(command.debtor, purse(holder), asset, amount),))
        case Settle():
            paid: tuple[Posting, ...] = ()
            if kind == "token":
                paid = (till.move(purse(command.debtor), purse(holder), asset, amount, why="it would settle"),)
            back = till.take_back(holder, command.debtor, asset, amount)
            return Draft(NoteSettled(memo=command.memo), (*paid, back))
        case Forgive():
            back = till.take_back(holder, command.debtor, asset, amount)
            return Draft(NoteForgiven(memo=command.memo), (back,))
        case Assign():
            till.require_note(holder, command.debtor, asset, amount)
            given = till.give(purse(holder), command.to, note(command.debtor, asset), amount)
            return Draft(NoteAssigned(memo=command.memo), (given,))
        case _:
            assert_never(command)


def _reversed(ledger: Ledger, till: Till, command: Reverse, original: Recorded | None) -> Draft:
    if original is None:
        raise UnknownPosition(f"the journal has no position {command.position}")
    if not isinstance(original.event, REVERSIBLE):
        can = "grants, collections, transfers and events of notes"
        raise NotReversible(f"{original.type} at position {command.position} is not reversed; {can} are")
    if ledger.is_reversed(command.position):
        raise AlreadyReversed(f"position {command.position} has been reversed already")
    postings = tuple(till.move(*movement) for movement in turned_round(original.postings))
    return Draft(Reversed(position=command.position, reason=command.reason), postings)


def _require_characters(ledger: Ledger, *characters: str) -> None:
    for character in characters:
        if not ledger.has_character(character):
            raise UnknownCharacter(f"there is no character {character!r} in this LARP")


def _require_two(one: str, other: str) -> None:
    if one == other:
        raise SameAccount(f"{one} stands on both sides: two different characters are needed")


def _require_token(till: Till, asset: str) -> None:
    kind = till.kind(asset)
    if kind != "token":
        raise WrongKind(f"{asset} is a {kind} asset, this takes a token")


def _require_limits(till: Till, limits: Mapping[str, int], taken: type[AlreadyExists] | None = None) -> None:
    kinds = {asset: till.kind(asset) for asset in limits}
    if taken:
        raise taken("there is a character of that name already")
    for asset, kind in kinds.items():
        if kind != "token":
            raise WrongKind(f"{asset} is a {kind} asset, credit limits are for tokens")
