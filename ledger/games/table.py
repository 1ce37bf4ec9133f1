"""What all game tables share: opening, seats, the money that lies on the table, closing, voiding, the view.

A table's state is a fold of its own events and their postings and needs nothing else, so a table can be
shown as of any position from its events alone. Source: rules/README.md and rules/ledger.md.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from ledger import money
from ledger.messages import Amount, Command, Event, Name, Posting, Sealed, Slug, Uncovered

DiceMode = Literal["reported", "service"]
Purse = Mapping[str, int]
"""Amounts by asset, notes as `iou/D/asset`; nothing that is zero."""


class Sum(Struct, frozen=True, forbid_unknown_fields=True):
    """An amount of an asset."""

    asset: Slug
    amount: Amount


# ---- commands ----


class Opening(Command, frozen=True, kw_only=True, tag_field="game"):
    """Open a table; each game adds its `rules`. `dice` left out: reported, where the game has dice."""

    table: Slug
    seats: tuple[Slug, ...]
    stake: Sum | None = None
    dice: DiceMode | None = None
    credit: bool = False
    place: Name | None = None


class Action(Command, frozen=True, kw_only=True, tag_field="action"):
    """Something done at a table. An action without a seat is the keeper's or an organiser's."""


class SeatAction(Action, frozen=True, kw_only=True):
    """Something that the character `seat` does."""

    seat: Slug


# ---- events ----


class TableOpened(Event, frozen=True, kw_only=True):
    """A table was opened; its postings are the stakes. Each game adds its `rules`, all defaults written out."""

    table: str
    game: str
    seats: tuple[str, ...]
    stake: Sum | None
    dice: DiceMode | None
    credit: bool
    place: str | None


class TableClosed(Event, frozen=True, kw_only=True):
    """The game ended. `how`: won, drawn, lost (somebody lost, nobody won) or burnt (nobody can win)."""

    TYPE: ClassVar[str] = "table.closed.v1"
    how: Literal["won", "drawn", "lost", "burnt"]
    winner: str | None


class TableVoided(Event, frozen=True, kw_only=True):
    """An organiser voided the table; its postings give back exactly what was paid in."""

    TYPE: ClassVar[str] = "table.voided.v1"
    reason: str


class SealsValues(Event, frozen=True, kw_only=True):
    """An event that commits to hidden values."""

    sealed: tuple[Sealed, ...]


class UncoversValues(Event, frozen=True, kw_only=True):
    """An event that shows hidden values with their nonces."""

    uncovered: tuple[Uncovered, ...]


# ---- state ----


class TableState(Struct, frozen=True, kw_only=True):
    """What every table has. `held`: what lies in each of the table's accounts, and under `burnt` what it burnt.

    `paid`: what each seat has put in from its purse and its credit and not got back.
    """

    table: str
    seats: tuple[str, ...]
    stake: Sum | None
    dice: DiceMode | None
    credit: bool
    place: str | None
    phase: str
    winner: str | None = None
    left: tuple[str, ...] = ()
    held: Mapping[str, Purse] = {}
    paid: Mapping[str, Purse] = {}
    opened_at: datetime | None = None
    closed_at: datetime | None = None
    void_reason: str | None = None
    position: int = 0

    @property
    def pot(self) -> Purse:
        return self.held.get(money.pot(self.table), {})

    @property
    def is_over(self) -> bool:
        return self.phase in ("closed", "voided")


S = TypeVar("S", bound=TableState)


def begun(opened: TableOpened) -> dict[str, Any]:
    """The fields of `TableState` that follow from the opening; the game adds its own and the phase."""
    return {
        "table": opened.table,
        "seats": opened.seats,
        "stake": opened.stake,
        "dice": opened.dice,
        "credit": opened.credit,
        "place": opened.place,
    }


def after_postings(state: S, postings: tuple[Posting, ...]) -> S:
    """`held` and `paid` after the postings of one event."""
    if not postings:
        return state
    held = {account: dict(amounts) for account, amounts in state.held.items()}
    paid = {character: dict(amounts) for character, amounts in state.paid.items()}
    for posting in postings:
        from_here, to_here = _is_of(state.table, posting.from_), _is_of(state.table, posting.to)
        if from_here:
            _add(held, posting.from_, posting.asset, -posting.amount)
        if to_here:
            _add(held, posting.to, posting.asset, posting.amount)
        if to_here and not from_here and (payer := _character(posting.from_)):
            _add(paid, payer, posting.asset, posting.amount)
        if from_here and not to_here and (receiver := _character(posting.to)):
            has = paid.get(receiver, {}).get(posting.asset, 0)
            _add(paid, receiver, posting.asset, -min(has, posting.amount))
    return replace(state, held=held, paid=paid)


def _is_of(table: str, account: str) -> bool:
    kind, _, rest = account.partition("/")
    match kind:
        case "pot" | "middle":
            return rest == table
        case "seat":
            return rest.partition("/")[0] == table
        case money.BURNT:
            return True
        case _:
            return False


def _character(account: str) -> str | None:
    kind, _, character = account.partition("/")
    return character if kind in ("purse", "debtor") else None


def _add(amounts: dict[str, dict[str, int]], key: str, asset: str, amount: int) -> None:
    of_key = amounts.setdefault(key, {})
    total = of_key.get(asset, 0) + amount
    if total:
        of_key[asset] = total
    else:
        of_key.pop(asset, None)
    if not of_key:
        del amounts[key]


# ---- what is given back ----

Movement = tuple[str, str, str, int]
"""from, to, asset, amount: a posting that is still to be made."""


def all_given_back(state: TableState) -> list[Movement]:
    """What gives every seat exactly what it paid in (notes go home), and lids to the mint.

    What a table took in is still in its pot, in front of its seats, in its middle or burnt by it.
    """
    left = {account: dict(amounts) for account, amounts in state.held.items()}
    # The pot first, what was burnt last; what lies in front of a seat is that seat's before it is anybody else's.
    order = sorted(left, key=lambda account: (account == money.BURNT, not account.startswith("pot/"), account))
    moves: list[Movement] = []
    for character, amounts in state.paid.items():
        own = money.seat(state.table, character)
        for asset, due in amounts.items():
            for account in sorted(order, key=lambda account: account != own):
                part = min(due, left[account].get(asset, 0))
                if part:
                    moves.append((account, money.home(character, asset), asset, part))
                    left[account][asset] -= part
                    due -= part
    for account in order:
        moves += [(account, money.MINT, asset, n) for asset, n in left[account].items() if n and asset == "lid"]
    return moves


# ---- view ----


class TableView(Struct, frozen=True, kw_only=True, tag_field="game"):
    """What everybody at the table may see. Sealed values are in no view, not even their owner's."""

    table: str
    dice: DiceMode | None
    credit: bool
    stake: Sum | None
    place: str | None
    phase: str
    turn: str | None
    waiting_for: tuple[str, ...]
    pot: Annotated[Purse, Meta(description="tokens by asset and notes as iou/D/asset")]
    winner: str | None
    opened_at: datetime | None
    closed_at: datetime | None
    position: Annotated[int, Meta(description="the position of the table's last event")]
    void_reason: str | None = None


def shown(state: TableState) -> dict[str, Any]:
    """The fields of `TableView` that every table has; the game adds `turn`, `waiting_for` and its own."""
    return {
        "table": state.table,
        "dice": state.dice,
        "credit": state.credit,
        "stake": state.stake,
        "place": state.place,
        "phase": state.phase,
        "pot": dict(sorted(state.pot.items())),
        "winner": state.winner,
        "opened_at": state.opened_at,
        "closed_at": state.closed_at,
        "position": state.position,
        "void_reason": state.void_reason,
    }
