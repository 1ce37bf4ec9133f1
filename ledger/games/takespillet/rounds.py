"""What came of each turn at a table of Tåkespillet, and the dice that were thrown. The numbers are the rules'."""

from collections.abc import Iterable
from typing import assert_never

from ledger.games.rolloff import RolledOff
from ledger.games.rounds import Round, SeenDie
from ledger.games.takespillet.board import PieceName, Square
from ledger.games.takespillet.messages import (
    DrawOffered,
    Face,
    FogAllocated,
    FogRolled,
    Lost,
    PieceMoved,
    Placed,
    Resigned,
    SokRolled,
    TakespilletEvent,
    Tile,
    TilesSealed,
    TilesUncovered,
)
from ledger.games.takespillet.state import State


class TakespilletRound(Round, frozen=True, kw_only=True, tag="takespillet"):
    """A turn. `moved`: the pieces, in their order; `felled`: whether one of them felled something.

    `sok` null: the regent was felled, and the turn ended there. `at` null: no fog came. `tile` null: none was turned.
    """

    seat: str
    moved: tuple[PieceName, ...]
    felled: bool
    sok: Face | None
    at: Square | None
    tile: Tile | None
    lost: Lost | None


def finished(before: State, event: TakespilletEvent) -> TakespilletRound | None:
    """A turn that is over (rules 3 and 4). One in which somebody resigned, or a draw was agreed, is not."""
    match event:
        case PieceMoved(felled="regent"):
            moved = (*before.moved, event.piece)
            return TakespilletRound(seat=event.seat, moved=moved, felled=True, sok=None, at=None, tile=None, lost=None)
        case SokRolled(face="sok"):
            return TakespilletRound(
                seat=event.seat, moved=before.moved, felled=before.stirred, sok="sok", at=None, tile=None, lost=None
            )
        case FogRolled():
            return TakespilletRound(
                seat=event.seat,
                moved=before.moved,
                felled=before.stirred,
                sok=before.sok,
                at=event.at,
                tile=event.tile,
                lost=event.lost,
            )
        case PieceMoved() | SokRolled() | RolledOff() | TilesSealed() | Placed() | FogAllocated():
            return None
        case Resigned() | DrawOffered() | TilesUncovered():
            return None
        case _:
            assert_never(event)


def dice_seen(before: State, event: TakespilletEvent) -> Iterable[SeenDie]:
    """All dice here are thrown openly. The roll-off is with the red one; turned tiles are no dice."""
    match event:
        case RolledOff():
            return (SeenDie("red", str(event.number)),)
        case SokRolled():
            return (SeenDie("sok", str(event.face)),)
        case FogRolled():
            return (SeenDie("black", str(event.row)), SeenDie("red", str(event.column)))
        case TilesSealed() | Placed() | PieceMoved() | FogAllocated() | Resigned() | DrawOffered() | TilesUncovered():
            return ()
        case _:
            assert_never(event)
