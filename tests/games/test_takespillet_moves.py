"""Tåkespillet, rule 3: how pieces move and fell."""

from typing import Any

import pytest

from ledger.games.table import TableClosed
from ledger.games.takespillet.board import SQUARES, way
from ledger.games.takespillet.messages import PieceMoved
from tests.games.takespillet_support import NORTH, OUTSIDER, SOUTH, Tavern, opened

# ---- the ways of the pieces ----


def _shown(piece: Any, side: Any, start: tuple[int, int]) -> list[str]:
    """The board, row 8 first, with an x where the piece may go and o where it stands."""
    rows = []
    for row in range(8, 0, -1):
        ways = {square: way(piece, side, start, square) for square in SQUARES}
        signs = ("." if ways[row, c] is None else "x" if ways[row, c] else "o" for c in range(1, 9))
        rows.append("".join(signs))
    return rows


def test_the_ways_of_a_regent() -> None:
    """1 or 2 squares in a straight line, any of 8 directions; not as a knight goes."""
    assert _shown("regent", "south", (4, 4)) == [
        "........",
        "........",
        ".x.x.x..",
        "..xxx...",
        ".xxoxx..",
        "..xxx...",
        ".x.x.x..",
        "........",
    ]


def test_the_ways_of_a_house() -> None:
    """1 or 2 along a row or a column."""
    assert _shown("house", "north", (4, 4)) == [
        "........",
        "........",
        "...x....",
        "...x....",
        ".xxoxx..",
        "...x....",
        "...x....",
        "........",
    ]


def test_the_ways_of_a_spear() -> None:
    """1 or 2 along a diagonal."""
    assert _shown("spear", "south", (5, 7)) == [
        "........",
        "....x...",
        ".....x.x",
        "......o.",
        ".....x.x",
        "....x...",
        "........",
        "........",
    ]


@pytest.mark.parametrize("farmer", ["farmer1", "farmer2", "farmer3"])
def test_the_ways_of_a_farmer(farmer: str) -> None:
    """1 square straight or diagonally forward: south towards row 8, north towards row 1."""
    south, north = _shown(farmer, "south", (4, 4)), _shown(farmer, "north", (4, 4))
    assert (south[3], south[4], north[5], north[4]) == ("..xxx...", "...o....", "..xxx...", "...o....")
    assert "".join(south).count("x") == "".join(north).count("x") == 3
    assert "x" not in "".join(_shown(farmer, "south", (8, 3)) + _shown(farmer, "north", (1, 3)))


def test_the_squares_that_are_entered() -> None:
    assert way("regent", "south", (4, 4), (2, 6)) == ((3, 5), (2, 6))
    assert way("house", "south", (4, 4), (4, 2)) == ((4, 3), (4, 2))
    assert way("spear", "north", (1, 1), (2, 2)) == ((2, 2),)
    assert way("house", "south", (4, 4), (4, 4)) == ()


# ---- it does ----


def test_a_move() -> None:
    tavern = opened(set_up=True)
    assert tavern.act("move", piece="farmer1", to=[3, 3]) == [
        PieceMoved(seat=SOUTH, piece="farmer1", to=(3, 3), felled=None)
    ]
    view = tavern.view
    assert (tavern.at(SOUTH, "farmer1"), view["moved"], view["turn"]) == ([3, 3], ["farmer1"], SOUTH)
    assert (view["phase"], view["waiting_for"], view["quiet_turns"]) == ("move", [SOUTH], 0)
    assert view["pieces"][3]["stake"] == 1


def test_each_piece_may_move_once_a_turn_in_any_order_or_not_at_all() -> None:
    tavern = opened(set_up=True)
    ways = {"farmer2": [3, 4], "house": [2, 1], "farmer3": [3, 7], "regent": [1, 6], "spear": [3, 5]}
    for piece, to in ways.items():
        tavern.act("move", piece=piece, to=to)
    assert tavern.view["moved"] == list(ways)
    tavern.refused("already_moved", "move", piece="house", to=[3, 1])
    tavern.act("roll_sok", face="sok")
    assert (tavern.view["moved"], tavern.view["turn"]) == ([], NORTH)
    tavern.act("roll_sok", NORTH, face="sok")  # north moves nothing
    tavern.act("move", piece="house", to=[3, 1])


def test_touched_is_moved() -> None:
    """A move to its own square is allowed and uses the piece's move up."""
    tavern = opened(set_up=True)
    (event,) = tavern.act("move", piece="spear", to=[1, 3])
    assert event == PieceMoved(seat=SOUTH, piece="spear", to=(1, 3), felled=None)
    assert (tavern.at(SOUTH, "spear"), tavern.view["moved"]) == ([1, 3], ["spear"])
    tavern.refused("already_moved", "move", piece="spear", to=[2, 1])
    tavern.refused("already_moved", "move", piece="spear", to=[1, 3])


def test_north_moves_the_other_way() -> None:
    tavern = opened(set_up=True)
    tavern.act("roll_sok", face="sok")
    tavern.refused("illegal_move", "move", NORTH, piece="farmer2", to=[8, 4])
    tavern.act("move", NORTH, piece="farmer2", to=[6, 4])


def test_a_farmer_on_the_last_row_moves_no_more() -> None:
    """It can still be touched."""
    tavern = _board((SOUTH, "farmer1", (8, 3)), (NORTH, "regent", (4, 4)), (SOUTH, "regent", (1, 1)))
    for to in ([7, 3], [8, 4], [7, 2]):
        assert "forward" in tavern.refused("illegal_move", "move", piece="farmer1", to=to)
    tavern.act("move", piece="farmer1", to=[8, 3])


PIECES = ["regent", "house", "spear", "farmer1", "farmer2", "farmer3"]
TARGETS = {"regent": (6, 6), "house": (4, 6), "spear": (6, 2), "farmer1": (5, 4), "farmer2": (5, 3), "farmer3": (5, 5)}


def _board(*pieces: tuple[str, str, tuple[int, int]], **fields: Any) -> Tavern:
    """South to move, with these pieces."""
    tavern = opened(set_up=True)
    tavern.arrange(*pieces, **fields)
    return tavern


@pytest.mark.parametrize("felled", [piece for piece in PIECES if piece != "regent"])
@pytest.mark.parametrize("piece", PIECES)
def test_any_piece_fells_any_piece(piece: str, felled: str) -> None:
    """Landing on the other's piece fells it; a felled farmer's stake stays in the pot."""
    to = TARGETS[piece]
    regent = () if piece == "regent" else ((SOUTH, "regent", (1, 1)),)
    tavern = _board((SOUTH, piece, (4, 4)), *regent, (NORTH, felled, to), (NORTH, "regent", (8, 8)))
    assert tavern.act("move", piece=piece, to=list(to)) == [PieceMoved(seat=SOUTH, piece=piece, to=to, felled=felled)]
    assert (tavern.at(SOUTH, piece), tavern.at(NORTH, felled)) == (list(to), None)
    assert (tavern.view["phase"], tavern.view["pot"]) == ("move", {"krone": 10})


@pytest.mark.parametrize("piece", PIECES)
def test_felling_the_regent_wins_at_once(piece: str) -> None:
    """No fog is rolled, the winner takes the pot."""
    to = TARGETS[piece]
    regent = () if piece == "regent" else ((SOUTH, "regent", (1, 1)),)
    tavern = _board((SOUTH, piece, (4, 4)), *regent, (NORTH, "house", (8, 8)), (NORTH, "regent", to))
    moved, closed = tavern.act("move", piece=piece, to=list(to))
    assert isinstance(moved, PieceMoved) and moved.felled == "regent"
    assert closed == TableClosed(how="won", winner=SOUTH)
    view = tavern.view
    assert (view["phase"], view["winner"], view["turn"], view["waiting_for"]) == ("closed", SOUTH, None, [])
    assert (view["moved"], view["drawn"], view["pot"]) == ([], False, {})
    assert (tavern.purse(SOUTH), tavern.purse(NORTH)) == ({"krone": 10}, {})
    assert tavern.at(NORTH, "regent") is None
    tavern.refused("table_closed", "roll_sok", OUTSIDER)


def test_a_felling_is_played_from_the_start() -> None:
    """South's spear fells north's house, north's regent fells the spear, and stays the whole journal through."""
    tavern = opened(set_up=True)
    tavern.act("move", piece="farmer2", to=[3, 4])
    tavern.act("move", piece="spear", to=[3, 5])
    tavern.act("roll_sok", face="sok")
    tavern.act("roll_sok", NORTH, face="sok")
    tavern.act("move", piece="spear", to=[5, 3])
    tavern.act("roll_sok", face="sok")
    tavern.act("move", NORTH, piece="farmer1", to=[6, 7])
    tavern.act("roll_sok", NORTH, face="sok")
    (event,) = tavern.act("move", piece="spear", to=[7, 5])
    assert event == PieceMoved(seat=SOUTH, piece="spear", to=(7, 5), felled="farmer2")
    assert tavern.view["quiet_turns"] == 4
    tavern.act("roll_sok", face="sok")
    assert tavern.view["quiet_turns"] == 0
    (event,) = tavern.act("move", NORTH, piece="regent", to=[7, 5])
    assert event == PieceMoved(seat=NORTH, piece="regent", to=(7, 5), felled="spear")
    assert (tavern.at(SOUTH, "spear"), tavern.at(NORTH, "farmer2")) == (None, None)
    assert len(tavern.view["pieces"]) == 10


def test_only_ones_own_piece_is_felled_with_its_name() -> None:
    """Both sides have a spear: the other's falls, one's own stays."""
    tavern = _board(
        (SOUTH, "spear", (4, 4)), (SOUTH, "regent", (1, 1)), (NORTH, "spear", (6, 6)), (NORTH, "regent", (8, 1))
    )
    tavern.act("move", piece="spear", to=[6, 6])
    assert (tavern.at(SOUTH, "spear"), tavern.at(NORTH, "spear")) == ([6, 6], None)


# ---- it says no ----


def _barred() -> Tavern:
    """South's regent on [4, 4] between a house, the other's spear, and fog."""
    return _board(
        (SOUTH, "regent", (4, 4)),
        (SOUTH, "house", (4, 5)),
        (NORTH, "spear", (3, 4)),
        (NORTH, "farmer1", (3, 3)),
        (NORTH, "regent", (6, 2)),
        swallowed=((5, 4), (5, 5), (2, 6)),
        sok_squares=((5, 3), (4, 2)),
    )


@pytest.mark.parametrize(
    ("to", "why"),
    [
        pytest.param([5, 6], "straight line", id="a-regent-is-no-knight"),
        pytest.param([7, 4], "reach", id="too-far"),
        pytest.param([4, 5], "own house", id="onto-ones-own-piece"),
        pytest.param([4, 6], "markon's house", id="over-ones-own-piece"),
        pytest.param([2, 4], "signe's spear", id="over-the-other's-piece"),
        pytest.param([5, 4], "swallowed [5, 4]", id="onto-a-swallowed-square"),
        pytest.param([2, 6], "swallowed [2, 6]", id="two-squares-onto-a-swallowed-square"),
        pytest.param([6, 4], "swallowed [5, 4]", id="over-a-swallowed-square"),
        pytest.param([6, 6], "swallowed [5, 5]", id="over-a-swallowed-square-along-a-diagonal"),
    ],
)
def test_where_a_piece_may_not_go(to: list[int], why: str) -> None:
    """Nothing passes over or stands on a swallowed square, passes over a piece or lands on one's own."""
    assert why in _barred().refused("illegal_move", "move", piece="regent", to=to)


def test_where_a_piece_may_go_all_the_same() -> None:
    """Every square tried: what is free, Sok included, what is the other's, and its own."""
    tavern, rows = _barred(), []
    for row in range(8, 0, -1):
        allowed = (tavern.allows("move", piece="regent", to=[row, column]) for column in range(1, 9))
        rows.append("".join("x" if one else "." for one in allowed))
    assert rows == [
        "........",
        "........",
        ".x......",
        "..x.....",
        ".xxx....",
        "..xxx...",
        "........",
        "........",
    ]


def test_a_farmer_fells_forward_only() -> None:
    tavern = _board(
        (SOUTH, "regent", (1, 1)),
        (SOUTH, "farmer2", (4, 4)),
        (NORTH, "house", (4, 5)),
        (NORTH, "spear", (3, 4)),
        (NORTH, "farmer3", (5, 4)),
        (NORTH, "regent", (8, 1)),
    )
    tavern.refused("illegal_move", "move", piece="farmer2", to=[4, 5])
    tavern.refused("illegal_move", "move", piece="farmer2", to=[3, 4])
    tavern.act("move", piece="farmer2", to=[5, 4])


def test_a_piece_that_is_gone() -> None:
    """`no_such_piece` comes before `illegal_move`."""
    tavern = _board(
        (SOUTH, "regent", (1, 1)), (SOUTH, "spear", (2, 2)), (NORTH, "house", (4, 5)), (NORTH, "regent", (8, 1))
    )
    assert "regent, spear" in tavern.refused("no_such_piece", "move", piece="house", to=[8, 8])


def test_a_piece_that_has_moved_is_not_asked_where_to() -> None:
    """`already_moved` comes before `illegal_move`."""
    tavern = opened(set_up=True)
    tavern.act("move", piece="farmer1", to=[3, 3])
    tavern.refused("already_moved", "move", piece="farmer1", to=[8, 8])


def test_who_may_not_move() -> None:
    """Seat, phase, turn, in this order, and before what the game has to say."""
    tavern = opened()
    tavern.refused("not_seated", "move", OUTSIDER, piece="regent", to=[1, 1])
    tavern.refused("wrong_phase", "move", NORTH, piece="regent", to=[1, 1])
    tavern.set_up()
    tavern.refused("not_your_turn", "move", NORTH, piece="regent", to=[1, 1])
    tavern.act("roll_sok", face=2)
    tavern.refused("wrong_phase", "move", NORTH, piece="regent", to=[1, 1])
    tavern.refused("wrong_phase", "move", piece="regent", to=[1, 1])


@pytest.mark.parametrize(
    "said",
    [
        {"piece": "dragon", "to": [2, 2]},
        {"piece": "farmer4", "to": [2, 2]},
        {"piece": "regent", "to": [9, 1]},
        {"piece": "regent", "to": [1, 0]},
        {"piece": "regent", "to": [1, 2, 3]},
        {"piece": "regent", "to": "d4"},
        {"piece": "regent"},
        {"to": [2, 2]},
        {"piece": "regent", "to": [2, 2], "felled": None},
    ],
)
def test_what_is_no_move(said: dict[str, Any]) -> None:
    opened(set_up=True).refused("malformed", "move", **said)
