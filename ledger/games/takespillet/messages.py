"""What can be said at a table of Tåkespillet, what is recorded of it, and what is refused.

Rules, actions, events, refusals. The numbers are those of rules/takespillet.md.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from ledger.errors import Refused
from ledger.games.rolloff import RolledOff
from ledger.games.table import Opening, SealsValues, SeatAction, TableOpened, UncoversValues
from ledger.games.takespillet.board import PieceName, Square
from ledger.messages import Event

# ---- rules ----

Die = Annotated[int, Meta(ge=1, le=6)]
Face = Literal[0, 1, 2, 3, 4, "sok"]
Tile = Literal["blank", "sok"]

FACES: Sequence[Face] = (0, 1, 2, 3, 4, "sok")
SOK_TILES, BLANK_TILES = 4, 60
TILES: Sequence[Tile] = tuple("sok" if n < SOK_TILES else "blank" for n in range(SOK_TILES + BLANK_TILES))
ALLOCATED_MAX = 2
STAKE_MIN = 3
QUIET_TURNS_MAX = 50


class Rules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The game has no variants."""


# ---- actions ----


class OpenTakespillet(Opening, frozen=True, kw_only=True, tag="takespillet"):
    """Open a table of Tåkespillet: 2 seats, south first, and a stake of 3 or more."""

    rules: Rules = Rules()


class RollStart(SeatAction, frozen=True, kw_only=True, tag="roll_off"):
    """Roll the red die for who begins."""

    number: Die | None = None


class Farmer(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a farmer begins, and the part of the player's stake that it is."""

    at: Square
    stake: int


class Place(SeatAction, frozen=True, kw_only=True, tag="place"):
    """Set up all six pieces in one's own first two rows."""

    regent: Square
    house: Square
    spear: Square
    farmers: tuple[Farmer, Farmer, Farmer]


class Move(SeatAction, frozen=True, kw_only=True, tag="move"):
    """Move a piece, or touch it and put it down again."""

    piece: PieceName
    to: Square


class RollSok(SeatAction, frozen=True, kw_only=True, tag="roll_sok"):
    """Roll the Sok die: the moves are over and the fog comes."""

    face: Face | None = None


class Allocate(SeatAction, frozen=True, kw_only=True, tag="allocate"):
    """Divide what the Sok die shows between the two fog dice."""

    row: int
    column: int


class RollFog(SeatAction, frozen=True, kw_only=True, tag="roll_fog"):
    """Roll the black die for the row and the red one for the column; where dice are reported, say what is turned."""

    row: Die | None = None
    column: Die | None = None
    tile: Tile | None = None


class Resign(SeatAction, frozen=True, kw_only=True, tag="resign"):
    """Give up: the other wins."""


class OfferDraw(SeatAction, frozen=True, kw_only=True, tag="draw"):
    """Offer a draw, or take the other's offer."""


TakespilletAction = RollStart | Place | Move | RollSok | Allocate | RollFog | Resign | OfferDraw

# ---- events ----


class Opened(TableOpened, frozen=True, kw_only=True):
    """Both stakes are in the pot."""

    TYPE: ClassVar[str] = "takespillet.opened.v1"
    rules: Rules


class TilesSealed(SealsValues, frozen=True, kw_only=True):
    """The service shuffled the tiles: one commitment each, row 1 first, columns from south's left."""

    TYPE: ClassVar[str] = "takespillet.tiles_sealed.v1"


class Placed(Event, frozen=True, kw_only=True):
    """A seat set up its pieces."""

    TYPE: ClassVar[str] = "takespillet.placed.v1"
    seat: str
    regent: Square
    house: Square
    spear: Square
    farmers: tuple[Farmer, Farmer, Farmer]


class PieceMoved(Event, frozen=True, kw_only=True):
    """A piece moved. `felled`: the other seat's piece that stood where it landed."""

    TYPE: ClassVar[str] = "takespillet.piece_moved.v1"
    seat: str
    piece: PieceName
    to: Square
    felled: PieceName | None


class SokRolled(Event, frozen=True, kw_only=True):
    """The Sok die was rolled. With `sok` the turn passes."""

    TYPE: ClassVar[str] = "takespillet.sok_rolled.v1"
    seat: str
    face: Face


class FogAllocated(Event, frozen=True, kw_only=True):
    """What the Sok die showed was divided between the fog dice."""

    TYPE: ClassVar[str] = "takespillet.fog_allocated.v1"
    seat: str
    row: int
    column: int


class Lost(Struct, frozen=True):
    """A piece that the fog took, and whose it was."""

    seat: str
    piece: PieceName


class FogRolled(UncoversValues, frozen=True, kw_only=True):
    """The fog came and the turn passes. `row`, `column`: the dice; `at`: the square that is hit, as south sees it.

    `tile` None: nothing was turned. `lost`: what stood on a blank tile.
    """

    TYPE: ClassVar[str] = "takespillet.fog_rolled.v1"
    seat: str
    row: int
    column: int
    at: Square
    tile: Tile | None
    lost: Lost | None


class Resigned(Event, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "takespillet.resigned.v1"
    seat: str


class DrawOffered(Event, frozen=True, kw_only=True):
    """The seat would take a draw until it next rolls the Sok die."""

    TYPE: ClassVar[str] = "takespillet.draw_offered.v1"
    seat: str


class TilesUncovered(UncoversValues, frozen=True, kw_only=True):
    """The game is over: all tiles that were still covered, in the order in which they were sealed."""

    TYPE: ClassVar[str] = "takespillet.tiles_uncovered.v1"


TakespilletEvent = (
    RolledOff
    | TilesSealed
    | Placed
    | PieceMoved
    | SokRolled
    | FogAllocated
    | FogRolled
    | Resigned
    | DrawOffered
    | TilesUncovered
)

# ---- refusals ----


class IllegalPlacement(Refused):
    """All six pieces stand in one's own first two rows, and the farmers are the stake in three parts"""

    code = "illegal_placement"


class AlreadyMoved(Refused):
    """A piece moves once a turn"""

    code = "already_moved"


class NoSuchPiece(Refused):
    """The piece is gone"""

    code = "no_such_piece"


class IllegalAllocation(Refused):
    """Row and column get what the Sok die shows, at most 2 each"""

    code = "illegal_allocation"


class TileRequired(Refused):
    """A tile is turned: the action must say what it shows"""

    code = "tile_required"


class TooManySok(Refused):
    """Four tiles have the Sok sign"""

    code = "too_many_sok"


class TooManyBlank(Refused):
    """Sixty tiles are blank"""

    code = "too_many_blank"


class AlreadyOffered(Refused):
    """The seat's offer of a draw stands"""

    code = "already_offered"
