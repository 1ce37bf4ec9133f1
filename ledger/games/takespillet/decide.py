"""What comes of an action at a table of Tåkespillet. The numbers are those of rules/takespillet.md."""

from typing import assert_never

from ledger.errors import DiceNotAccepted, IllegalMove, InvalidRules
from ledger.games.play import (
    Play,
    open_with_stakes,
    opened_fields,
    require_new_table,
    require_opening,
    require_stake_rules,
)
from ledger.games.rolloff import RolledOff
from ledger.games.takespillet.board import (
    SQUARES,
    PieceName,
    Square,
    as_south_sees,
    is_home,
    manner,
    tile_name,
    way,
    written,
)
from ledger.games.takespillet.messages import (
    ALLOCATED_MAX,
    BLANK_TILES,
    FACES,
    QUIET_TURNS_MAX,
    SOK_TILES,
    STAKE_MIN,
    TILES,
    Allocate,
    AlreadyMoved,
    AlreadyOffered,
    DrawOffered,
    Face,
    FogAllocated,
    FogRolled,
    IllegalAllocation,
    IllegalPlacement,
    Lost,
    Move,
    NoSuchPiece,
    OfferDraw,
    Opened,
    OpenTakespillet,
    PieceMoved,
    Place,
    Placed,
    Resign,
    Resigned,
    RollFog,
    RollSok,
    RollStart,
    SokRolled,
    TakespilletAction,
    Tile,
    TileRequired,
    TilesSealed,
    TilesUncovered,
    TooManyBlank,
    TooManySok,
)
from ledger.games.takespillet.state import Piece, State
from ledger.messages import Uncovered
from ledger.sealing import Chance


def open_table(play: Play[State], opening: OpenTakespillet) -> None:
    """Rule 1: both stakes, all or nothing. Where the service rolls it has also laid out the tiles."""
    require_opening(play.larp, opening, seats_min=2, seats_max=2)
    require_stake_rules(play.larp, opening, required=True)
    if opening.stake is not None and opening.stake.amount < STAKE_MIN:
        raise InvalidRules(f"stake.amount is {opening.stake.amount}: three farmers need {STAKE_MIN} or more")
    require_new_table(play.larp, opening)
    open_with_stakes(play, Opened(**opened_fields(opening, "takespillet"), rules=opening.rules))
    if play.state.dice == "service":
        laid = zip(SQUARES, play.chance.shuffle(TILES), strict=True)
        play.record(TilesSealed(sealed=tuple(play.seal(None, tile_name(square), tile) for square, tile in laid)))


def decide(play: Play[State], action: TakespilletAction) -> None:
    play.require_seat(action.seat)
    match action:
        case RollStart():
            _roll_start(play, action)
        case Place():
            _place(play, action)
        case Move():
            _move(play, action)
        case RollSok():
            _roll_sok(play, action)
        case Allocate():
            _allocate(play, action)
        case RollFog():
            _roll_fog(play, action)
        case Resign():
            play.record(Resigned(seat=action.seat))
            _win(play, play.state.other(action.seat))
        case OfferDraw():
            _offer_draw(play, action)
        case _:
            assert_never(action)


def _roll_start(play: Play[State], action: RollStart) -> None:  # rule 1
    play.require_phase("roll_off")
    number = play.thrown(action.number, Chance.die, "number")
    assert play.state.roll_off is not None, "phase roll_off has one"
    play.state.roll_off.require_unrolled(action.seat)
    play.record(RolledOff(seat=action.seat, number=number))


def _place(play: Play[State], action: Place) -> None:  # rule 2
    play.require_phase("setup")
    play.require_turn(action.seat, play.state.active)
    _require_placement(play.state, action)
    play.record(
        Placed(
            seat=action.seat,
            regent=action.regent,
            house=action.house,
            spear=action.spear,
            farmers=action.farmers,
        )
    )


def _require_placement(state: State, action: Place) -> None:
    squares = (action.regent, action.house, action.spear, *(farmer.at for farmer in action.farmers))
    side = state.side(action.seat)
    for square in squares:
        if not is_home(side, square):
            rows = "1 and 2" if side == "south" else "7 and 8"
            raise IllegalPlacement(f"{written(square)} is not in {action.seat}'s first two rows, {rows}")
    if len(set(squares)) != len(squares):
        raise IllegalPlacement("two pieces on one square: six different squares are needed")
    stakes = [farmer.stake for farmer in action.farmers]
    assert state.stake is not None, "rule 1 requires a stake"
    if min(stakes) < 1 or sum(stakes) != state.stake.amount:
        said = " + ".join(map(str, stakes))
        raise IllegalPlacement(f"the farmers' stakes are {said}: each 1 or more, together {state.stake.amount}")


def _move(play: Play[State], action: Move) -> None:  # rule 3
    state = play.state
    play.require_phase("move")
    play.require_turn(action.seat, state.active)
    if action.piece in state.moved:
        raise AlreadyMoved(f"the {action.piece} has moved this turn: another piece, or the Sok die")
    piece = state.piece(action.seat, action.piece)
    if piece is None:
        left = ", ".join(piece.piece for piece in state.pieces if piece.seat == action.seat)
        raise NoSuchPiece(f"{action.seat}'s {action.piece} is gone; on the board: {left}")
    felled = _landed_on(state, piece, action.to)
    play.record(PieceMoved(seat=action.seat, piece=action.piece, to=action.to, felled=felled))
    if felled == "regent":
        _win(play, action.seat)


def _landed_on(state: State, piece: Piece, goal: Square) -> PieceName | None:
    """The other's piece that is felled. Raises IllegalMove where the piece may not go."""
    entered = way(piece.piece, state.side(piece.seat), piece.at, goal)
    if entered is None:
        moves = f"the {piece.piece} on {written(piece.at)} moves {manner(piece.piece)}"
        raise IllegalMove(f"{moves}, or stays: {written(goal)} is out of its reach")
    for square in entered:
        if square in state.swallowed:
            raise IllegalMove(f"the fog has swallowed {written(square)}: nothing passes or stands there")
        if square != goal and (between := state.standing_on(square)):
            raise IllegalMove(f"{between.seat}'s {between.piece} stands on {written(square)}: no piece is passed over")
    there = state.standing_on(goal)
    if there is None or there == piece:
        return None
    if there.seat == piece.seat:
        raise IllegalMove(f"{piece.seat}'s own {there.piece} stands on {written(goal)}")
    return there.piece


def _roll_sok(play: Play[State], action: RollSok) -> None:  # rule 4
    play.require_phase("move")
    play.require_turn(action.seat, play.state.active)
    face: Face = play.thrown(action.face, lambda chance: chance.pick(FACES), "face")
    play.record(SokRolled(seat=action.seat, face=face))
    _end_if_quiet(play)


def _allocate(play: Play[State], action: Allocate) -> None:  # rule 4
    play.require_phase("allocate")
    play.require_turn(action.seat, play.state.active)
    parts = (action.row, action.column)
    if sum(parts) != play.state.sok or not all(0 <= part <= ALLOCATED_MAX for part in parts):
        raise IllegalAllocation(
            f"row {action.row} and column {action.column}: "
            f"each 0 to {ALLOCATED_MAX}, together {play.state.sok}, would be needed"
        )
    play.record(FogAllocated(seat=action.seat, row=action.row, column=action.column))


def _roll_fog(play: Play[State], action: RollFog) -> None:  # rules 4 and 5
    play.require_phase("fog")
    play.require_turn(action.seat, play.state.active)
    state = play.state
    if state.dice == "service" and action.tile is not None:
        raise DiceNotAccepted(f"the service turns the tiles at {state.table}: leave tile out")
    row = play.thrown(action.row, Chance.die, "row")
    column = play.thrown(action.column, Chance.die, "column")
    added = state.allocated
    assert added is not None, "phase fog has an allocation"
    at = as_south_sees(state.side(action.seat), row + added.row, column + added.column)
    tile, uncovered = _turned(play, at, action.tile) if state.may_be_turned(at) else (None, ())
    there = state.standing_on(at) if tile == "blank" else None
    lost = Lost(there.seat, there.piece) if there else None
    play.record(FogRolled(seat=action.seat, row=row, column=column, at=at, tile=tile, lost=lost, uncovered=uncovered))
    _end_if_quiet(play)


def _turned(play: Play[State], at: Square, reported: Tile | None) -> tuple[Tile, tuple[Uncovered, ...]]:
    """What the tile shows, and where the service holds it, the proof. Raises as rules 4 and 5 say."""
    state = play.state
    if state.dice == "service":
        sealed = state.covered[tile_name(at)]
        held: Tile = play.peek(sealed)
        return held, (play.uncover(sealed),)
    match reported:
        case None:
            raise TileRequired(f"the tile on {written(at)} is turned: tile must say blank or sok")
        case "sok" if len(state.sok_squares) >= SOK_TILES:
            raise TooManySok(f"all {SOK_TILES} Sok tiles have been turned: {written(at)} must be blank")
        case "blank" if len(state.swallowed) >= BLANK_TILES:
            raise TooManyBlank(f"all {BLANK_TILES} blank tiles have been turned: {written(at)} must be sok")
        case "sok" | "blank":
            return reported, ()
        case _:
            assert_never(reported)


def _end_if_quiet(play: Play[State]) -> None:  # rule 6
    if play.state.quiet_turns >= QUIET_TURNS_MAX:
        _draw(play)


def _offer_draw(play: Play[State], action: OfferDraw) -> None:  # rule 7
    if action.seat in play.state.draw_offers:
        raise AlreadyOffered(f"{action.seat}'s offer stands until it next rolls the Sok die")
    play.record(DrawOffered(seat=action.seat))
    if len(play.state.draw_offers) == len(play.state.seats):
        _draw(play)


# ---- the end: what is still covered is shown, so that anyone can count four Sok ----


def _win(play: Play[State], winner: str) -> None:  # rule 8
    _uncover_tiles(play)
    play.win(winner)


def _draw(play: Play[State]) -> None:  # rules 6 and 7
    _uncover_tiles(play)
    play.draw()


def _uncover_tiles(play: Play[State]) -> None:
    covered = play.state.covered.values()
    if covered:
        play.record(TilesUncovered(uncovered=tuple(play.uncover(sealed) for sealed in covered)))
