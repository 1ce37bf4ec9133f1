"""A table of Tåkespillet: its state, how events change it, and what everybody may see of it."""

from collections.abc import Mapping
from typing import Annotated, assert_never

from msgspec import Meta, Struct
from msgspec.structs import replace

from ledger.games.rolloff import RolledOff, RollOff
from ledger.games.table import TableState, TableView, begun, shown
from ledger.games.takespillet.board import SIZE, PieceName, Side, Square, tile_name
from ledger.games.takespillet.messages import (
    DrawOffered,
    Face,
    FogAllocated,
    FogRolled,
    Opened,
    PieceMoved,
    Placed,
    Resigned,
    Rules,
    SokRolled,
    TakespilletEvent,
    TilesSealed,
    TilesUncovered,
)
from ledger.messages import Posting, Sealed

# ---- state ----


class Piece(Struct, frozen=True):
    """A piece on the board; `stake` is a farmer's part of the stake. `seat`: the character's."""

    seat: str
    piece: PieceName
    at: Square
    stake: int | None = None


class Allocation(Struct, frozen=True):
    """What is added to the fog dice."""

    row: int
    column: int


class State(TableState, frozen=True, kw_only=True):
    """`sok_squares`: turned, free of fog. `covered`: commitments of the tiles that the service holds, by name.

    `stirred`: something was felled this turn. `sok`: the face of the Sok die, in the fog phases.
    """

    rules: Rules
    roll_off: RollOff | None
    active: str | None = None
    pieces: tuple[Piece, ...] = ()
    swallowed: tuple[Square, ...] = ()
    sok_squares: tuple[Square, ...] = ()
    covered: Mapping[str, Sealed] = {}
    moved: tuple[PieceName, ...] = ()
    stirred: bool = False
    sok: Face | None = None
    allocated: Allocation | None = None
    draw_offers: tuple[str, ...] = ()
    quiet_turns: int = 0

    def side(self, seat: str) -> Side:
        return "south" if seat == self.seats[0] else "north"

    def other(self, seat: str) -> str:
        south, north = self.seats
        return north if seat == south else south

    def piece(self, seat: str, name: PieceName) -> Piece | None:
        """None for a piece that is gone."""
        return next((piece for piece in self.pieces if (piece.seat, piece.piece) == (seat, name)), None)

    def standing_on(self, square: Square) -> Piece | None:
        return next((piece for piece in self.pieces if piece.at == square), None)

    def may_be_turned(self, square: Square) -> bool:
        """Rule 5: not what the fog has or Sok holds, nor where a regent stands."""
        piece = self.standing_on(square)
        known = square in self.swallowed or square in self.sok_squares
        return not known and (piece is None or piece.piece != "regent")


# ---- evolve ----


def begin(opened: Opened) -> State:
    return State(**begun(opened), phase="roll_off", rules=opened.rules, roll_off=RollOff(opened.seats))


def evolve(state: State, event: TakespilletEvent, postings: tuple[Posting, ...]) -> State:
    match event:
        case RolledOff():
            assert state.roll_off is not None, "phase roll_off has one"
            roll_off = state.roll_off.rolled(event.seat, event.number)
            if roll_off.starter is None:
                return replace(state, roll_off=roll_off)
            return replace(state, phase="setup", roll_off=None, active=roll_off.starter)
        case TilesSealed():
            return replace(state, covered={sealed.what: sealed for sealed in event.sealed})
        case Placed():
            return _placed(state, event)
        case PieceMoved():
            return _moved(state, event)
        case SokRolled():
            return _sok_rolled(state, event)
        case FogAllocated():
            return replace(state, phase="fog", allocated=Allocation(event.row, event.column))
        case FogRolled():
            return _fog_rolled(state, event)
        case Resigned():
            return state
        case DrawOffered():
            return replace(state, draw_offers=(*state.draw_offers, event.seat))
        case TilesUncovered():
            return replace(state, covered={})
        case _:
            assert_never(event)


def _placed(state: State, event: Placed) -> State:
    """Rule 2: first the beginner, then the other, then the beginner moves."""
    one, two, three = event.farmers
    own = (
        Piece(event.seat, "regent", event.regent),
        Piece(event.seat, "house", event.house),
        Piece(event.seat, "spear", event.spear),
        Piece(event.seat, "farmer1", one.at, one.stake),
        Piece(event.seat, "farmer2", two.at, two.stake),
        Piece(event.seat, "farmer3", three.at, three.stake),
    )
    pieces = (*own, *state.pieces) if state.side(event.seat) == "south" else (*state.pieces, *own)
    phase = "move" if state.pieces else "setup"
    return replace(state, phase=phase, pieces=pieces, active=state.other(event.seat))


def _moved(state: State, event: PieceMoved) -> State:
    """Rule 3."""
    pieces = tuple(
        replace(piece, at=event.to) if (piece.seat, piece.piece) == (event.seat, event.piece) else piece
        for piece in _without(state.pieces, state.other(event.seat), event.felled)
    )
    stirred = state.stirred or event.felled is not None
    return replace(state, pieces=pieces, moved=(*state.moved, event.piece), stirred=stirred)


def _without(pieces: tuple[Piece, ...], seat: str, gone: PieceName | None) -> tuple[Piece, ...]:
    return tuple(piece for piece in pieces if (piece.seat, piece.piece) != (seat, gone))


def _sok_rolled(state: State, event: SokRolled) -> State:
    """Rules 4 and 7: the offer of who rolls lapses."""
    state = replace(state, draw_offers=tuple(seat for seat in state.draw_offers if seat != event.seat))
    match event.face:
        case "sok":
            return _turn_passed(state, turned=False)
        case 0:
            return replace(state, phase="fog", sok=0, allocated=Allocation(0, 0))
        case 1 | 2 | 3 | 4:
            return replace(state, phase="allocate", sok=event.face)
        case _:
            assert_never(event.face)


def _fog_rolled(state: State, event: FogRolled) -> State:
    """Rule 5: a Sok tile stays and is known from now on, a blank one is gone with what stood on it."""
    if state.covered and event.tile is not None:
        name = tile_name(event.at)
        state = replace(state, covered={what: sealed for what, sealed in state.covered.items() if what != name})
    match event.tile:
        case "sok":
            state = replace(state, sok_squares=(*state.sok_squares, event.at))
        case "blank":
            lost = event.lost
            pieces = _without(state.pieces, lost.seat, lost.piece) if lost else state.pieces
            state = replace(state, swallowed=(*state.swallowed, event.at), pieces=pieces)
        case None:
            pass
        case _:
            assert_never(event.tile)
    return _turn_passed(state, turned=event.tile is not None)


def _turn_passed(state: State, *, turned: bool) -> State:
    """Rule 6."""
    assert state.active is not None, "a turn passes from somebody"
    return replace(
        state,
        phase="move",
        active=state.other(state.active),
        moved=(),
        stirred=False,
        sok=None,
        allocated=None,
        quiet_turns=0 if state.stirred or turned else state.quiet_turns + 1,
    )


# ---- view ----


class SeatView(Struct, frozen=True, kw_only=True):
    """Which side of the board a character has; south is red and north black."""

    character: str
    side: Side


class View(TableView, frozen=True, kw_only=True, tag="takespillet"):
    """A table of Tåkespillet. `rolls`: the present round of rolling for the start, in phase roll_off."""

    rules: Rules
    seats: tuple[SeatView, ...]
    board: Annotated[
        tuple[str, ...], Meta(description="row 8 first, from south's left: . unturned, ~ swallowed, S Sok")
    ]
    pieces: tuple[Piece, ...]
    moved: Annotated[tuple[PieceName, ...], Meta(description="what has moved this turn")]
    sok: Annotated[Face | None, Meta(description="what the Sok die shows, in the fog phases")]
    allocated: Annotated[Allocation | None, Meta(description="what is added to the fog dice, in phase fog")]
    draw_offers: tuple[str, ...]
    quiet_turns: Annotated[int, Meta(description="turns in a row in which nothing was felled and no tile turned")]
    drawn: bool
    rolls: Mapping[str, int] | None


def view(state: State) -> View:
    over = state.is_over
    return View(
        **shown(state),
        turn=None if over else state.active,
        waiting_for=() if over else _waiting_for(state),
        rules=state.rules,
        seats=tuple(SeatView(character=seat, side=state.side(seat)) for seat in state.seats),
        board=_board(state),
        pieces=state.pieces,
        moved=() if over else state.moved,
        sok=None if over else state.sok,
        allocated=None if over else state.allocated,
        draw_offers=state.draw_offers,
        quiet_turns=state.quiet_turns,
        drawn=state.phase == "closed" and state.winner is None,
        rolls=state.roll_off.rolls if state.roll_off and not over else None,
    )


def _waiting_for(state: State) -> tuple[str, ...]:
    if state.roll_off is not None:
        return state.roll_off.waiting_for
    return (state.active,) if state.active else ()


def _board(state: State) -> tuple[str, ...]:
    signs = {**dict.fromkeys(state.swallowed, "~"), **dict.fromkeys(state.sok_squares, "S")}
    across = range(1, SIZE + 1)
    return tuple("".join(signs.get((row, column), ".") for column in across) for row in reversed(across))
