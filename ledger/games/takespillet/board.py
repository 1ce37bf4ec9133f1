"""The board of Tåkespillet: its squares, its two sides, and how each piece goes.

A square is `[row, column]`, 1 to 8, as south sees it: row 1 is south's first row, column 1 is at south's left.
The numbers are those of rules/takespillet.md.
"""

from typing import Annotated, Literal, assert_never

from msgspec import Meta

SIZE = 8

Rank = Annotated[int, Meta(ge=1, le=SIZE)]
Square = tuple[Rank, Rank]
Side = Literal["south", "north"]
PieceName = Literal["regent", "house", "spear", "farmer1", "farmer2", "farmer3"]

SQUARES: tuple[Square, ...] = tuple((row, column) for row in range(1, SIZE + 1) for column in range(1, SIZE + 1))


def written(square: Square) -> str:
    return f"[{square[0]}, {square[1]}]"


def tile_name(square: Square) -> str:
    """What the commitment of a covered tile is said to hide."""
    return f"tile {written(square)}"


def as_south_sees(side: Side, row: int, column: int) -> Square:
    """The square that `side` counts up from its own first row and from its own left."""
    match side:
        case "south":
            return row, column
        case "north":
            return SIZE + 1 - row, SIZE + 1 - column
        case _:
            assert_never(side)


def is_home(side: Side, square: Square) -> bool:
    """Whether the square lies in the first two rows of `side`."""  # rule 2
    return as_south_sees(side, *square)[0] <= 2


def manner(piece: PieceName) -> str:
    """How the piece goes, in words."""
    match piece:
        case "regent":
            return "1 or 2 squares in a straight line"
        case "house":
            return "1 or 2 squares along a row or a column"
        case "spear":
            return "1 or 2 squares along a diagonal"
        case "farmer1" | "farmer2" | "farmer3":
            return "1 square straight or diagonally forward"
        case _:
            assert_never(piece)


def way(piece: PieceName, side: Side, start: Square, goal: Square) -> tuple[Square, ...] | None:
    """The squares that the piece enters, the goal last; none where it stays; None: it does not go there."""  # rule 3
    rise, shift = goal[0] - start[0], goal[1] - start[1]
    length = max(abs(rise), abs(shift))
    if length == 0:
        return ()
    along, diagonal = 0 in (rise, shift), abs(rise) == abs(shift)
    match piece:
        case "regent":
            goes = length <= 2 and (along or diagonal)
        case "house":
            goes = length <= 2 and along
        case "spear":
            goes = length <= 2 and diagonal
        case "farmer1" | "farmer2" | "farmer3":
            goes = length == 1 and rise == (1 if side == "south" else -1)
        case _:
            assert_never(piece)
    if not goes:
        return None
    return tuple((start[0] + rise * n // length, start[1] + shift * n // length) for n in range(1, length + 1))
