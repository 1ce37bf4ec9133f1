"""Tåkespillet, rules 4 to 6: the Sok die, the allocation, the fog, and whose turn it is."""

from typing import Any

import pytest

from ledger.games.table import TableClosed
from ledger.games.takespillet.board import SQUARES
from ledger.games.takespillet.messages import FogAllocated, FogRolled, Lost, SokRolled
from tests.games.takespillet_support import NORTH, OUTSIDER, SOUTH, Tavern, opened

NOTHING_MOVED: Any = {"moved": [], "sok": None, "allocated": None}
ALL_HOME = 12


def _shows(tavern: Tavern, **wanted: Any) -> None:
    view = tavern.view
    assert {key: view[key] for key in wanted} == wanted


# ---- the Sok die: rule 4 ----


def test_sok_keeps_the_fog_away() -> None:
    tavern = opened(set_up=True)
    assert tavern.act("roll_sok", face="sok") == [SokRolled(seat=SOUTH, face="sok")]
    _shows(tavern, phase="move", turn=NORTH, waiting_for=[NORTH], quiet_turns=1, **NOTHING_MOVED)


def test_a_zero_goes_on_to_the_fog_by_itself() -> None:
    tavern = opened(set_up=True)
    assert tavern.act("roll_sok", face=0) == [SokRolled(seat=SOUTH, face=0)]
    _shows(tavern, phase="fog", turn=SOUTH, waiting_for=[SOUTH], sok=0, allocated={"row": 0, "column": 0})


@pytest.mark.parametrize("face", [1, 2, 3, 4])
def test_a_number_is_to_be_allocated(face: int) -> None:
    tavern = opened(set_up=True)
    tavern.act("move", piece="farmer1", to=[3, 3])
    tavern.act("roll_sok", face=face)
    _shows(tavern, phase="allocate", turn=SOUTH, waiting_for=[SOUTH], sok=face, allocated=None, moved=["farmer1"])


@pytest.mark.parametrize("face", [5, 6, -1, "SOK", "0", "moon", True, 1.5, {"sok": 1}])
def test_what_is_no_face_of_the_sok_die(face: Any) -> None:
    opened(set_up=True).refused("malformed", "roll_sok", face=face)


def test_who_may_not_roll_the_sok_die() -> None:
    """Seat, phase, turn, then the dice."""
    tavern = opened()
    tavern.refused("not_seated", "roll_sok", OUTSIDER)
    tavern.refused("wrong_phase", "roll_sok", NORTH)
    tavern.set_up()
    tavern.refused("not_your_turn", "roll_sok", NORTH)
    tavern.refused("dice_required", "roll_sok")
    tavern.act("roll_sok", face=0)
    tavern.refused("wrong_phase", "roll_sok")


# ---- the allocation: rule 4 ----


@pytest.mark.parametrize(
    ("face", "allowed"),
    [
        (1, [(0, 1), (1, 0)]),
        (2, [(0, 2), (1, 1), (2, 0)]),
        (3, [(1, 2), (2, 1)]),
        (4, [(2, 2)]),
    ],
)
def test_every_way_to_allocate(face: int, allowed: list[tuple[int, int]]) -> None:
    """Row and column together what the die shows, each 0 to 2."""
    tavern = opened(set_up=True)
    tavern.act("roll_sok", face=face)
    ways = [(row, column) for row in range(-2, 7) for column in range(-2, 7)]
    assert [(r, c) for r, c in ways if tavern.allows("allocate", row=r, column=c)] == allowed
    row, column = allowed[0]
    assert tavern.act("allocate", row=row, column=column) == [FogAllocated(seat=SOUTH, row=row, column=column)]
    _shows(tavern, phase="fog", turn=SOUTH, sok=face, allocated={"row": row, "column": column})


@pytest.mark.parametrize(("row", "column"), [(0, 3), (3, 0), (1, 1), (2, 2), (-1, 4), (9, -6), (10**30, 0)])
def test_what_is_no_allocation_of_three(row: int, column: int) -> None:
    tavern = opened(set_up=True)
    tavern.act("roll_sok", face=3)
    assert "together 3" in tavern.refused("illegal_allocation", "allocate", row=row, column=column)


def test_who_may_not_allocate() -> None:
    tavern = opened(set_up=True)
    tavern.refused("not_seated", "allocate", OUTSIDER, row=1, column=1)
    tavern.refused("wrong_phase", "allocate", NORTH, row=1, column=1)
    tavern.act("roll_sok", face=2)
    tavern.refused("not_your_turn", "allocate", NORTH, row=5, column=5)
    tavern.refused("malformed", "allocate", row=1)
    tavern.refused("malformed", "allocate", row=1, column="1")
    tavern.act("allocate", row=1, column=1)
    tavern.refused("wrong_phase", "allocate", row=1, column=1)


def test_a_zero_is_not_allocated() -> None:
    tavern = opened(set_up=True)
    tavern.act("roll_sok", face=0)
    tavern.refused("wrong_phase", "allocate", row=0, column=0)


# ---- the fog: rules 4 and 5 ----


def test_the_example_of_the_text() -> None:
    """The Sok die shows 2, both on the row; the dice show 4 and 5: the square is [6, 5] to south."""
    tavern = opened(set_up=True)
    tavern.to_fog(SOUTH, row=2)
    (event,) = tavern.act("roll_fog", row=4, column=5, tile="blank")
    assert event == FogRolled(seat=SOUTH, row=4, column=5, at=(6, 5), tile="blank", lost=None, uncovered=())
    assert tavern.view["board"][2] == "....~..."  # row 8 first
    _shows(tavern, phase="move", turn=NORTH, quiet_turns=0, **NOTHING_MOVED)


def test_north_counts_from_its_own_side() -> None:
    """Up from the roller's side and from the roller's left: north's [6, 5] is [3, 4]."""
    tavern = opened(set_up=True)
    tavern.act("roll_sok", face="sok")
    tavern.to_fog(NORTH, row=2)
    (event,) = tavern.act("roll_fog", NORTH, row=4, column=5, tile="sok")
    assert isinstance(event, FogRolled) and event.at == (3, 4)
    assert tavern.view["board"][5] == "...S...."


@pytest.mark.parametrize("seat", [SOUTH, NORTH])
def test_the_fog_can_come_to_every_square(seat: str) -> None:
    tavern = opened(set_up=True)
    tavern.arrange((SOUTH, "regent", (1, 1)), (NORTH, "regent", (8, 8)))
    for square in SQUARES:
        tavern.set(phase="move", active=seat, swallowed=())
        (event,) = tavern.hit(seat, square, None if square in ((1, 1), (8, 8)) else "blank")
        assert isinstance(event, FogRolled) and event.at == square


@pytest.mark.parametrize("seat", [SOUTH, NORTH])
def test_a_blank_tile_is_swallowed_with_the_piece_on_it(seat: str) -> None:
    """Either's; its stake stays in the pot."""
    tavern = opened(set_up=True)
    square, lost = ([2, 6], Lost(SOUTH, "farmer3")) if seat == SOUTH else ([8, 8], Lost(NORTH, "house"))
    (event,) = tavern.hit(SOUTH, square)
    assert isinstance(event, FogRolled) and (event.tile, event.lost) == ("blank", lost)
    assert tavern.at(lost.seat, lost.piece) is None
    assert len(tavern.view["pieces"]) == ALL_HOME - 1
    _shows(tavern, pot={"krone": 10}, turn=NORTH, quiet_turns=0)


def test_a_piece_that_the_fog_took_is_gone() -> None:
    tavern = opened(set_up=True)
    tavern.hit(SOUTH, [2, 6])
    tavern.act("roll_sok", NORTH, face="sok")
    tavern.refused("no_such_piece", "move", piece="farmer3", to=[3, 6])


def test_a_sok_tile_stays_and_so_does_the_piece_on_it() -> None:
    tavern = opened(set_up=True)
    (event,) = tavern.hit(SOUTH, [7, 5], "sok")
    assert isinstance(event, FogRolled) and (event.tile, event.lost) == ("sok", None)
    assert tavern.at(NORTH, "farmer2") == [7, 5]
    assert tavern.view["board"][1] == "....S..."
    _shows(tavern, turn=NORTH, quiet_turns=0)


@pytest.mark.parametrize("regent", [SOUTH, NORTH])
@pytest.mark.parametrize("tile", [None, "blank", "sok"])
def test_the_fog_cannot_take_a_regent(regent: str, tile: str | None) -> None:
    """Nothing happens and the tile is not turned; a tile that is given all the same is ignored."""
    tavern = opened(set_up=True)
    (event,) = tavern.hit(SOUTH, tavern.at(regent, "regent") or [], tile)
    assert isinstance(event, FogRolled) and (event.tile, event.lost) == (None, None)
    _shows(tavern, board=["........"] * 8, turn=NORTH, quiet_turns=1)
    assert len(tavern.view["pieces"]) == ALL_HOME


@pytest.mark.parametrize("first", ["blank", "sok"])
@pytest.mark.parametrize("tile", [None, "blank", "sok"])
def test_a_square_that_is_swallowed_or_known_to_be_sok(first: str, tile: str | None) -> None:
    """Nothing happens, whatever is reported, and whatever stands there."""
    tavern = opened(set_up=True)
    tavern.hit(SOUTH, [7, 5], first)
    board, pieces = tavern.view["board"], tavern.view["pieces"]
    (event,) = tavern.hit(NORTH, [7, 5], tile)
    assert isinstance(event, FogRolled) and (event.tile, event.lost) == (None, None)
    _shows(tavern, board=board, pieces=pieces, turn=SOUTH, quiet_turns=1)


def test_the_square_that_a_regent_has_left_can_be_turned() -> None:
    tavern = opened(set_up=True)
    tavern.hit(SOUTH, [1, 4], None)
    tavern.act("roll_sok", NORTH, face="sok")
    tavern.act("move", piece="regent", to=[1, 5])
    tavern.hit(SOUTH, [1, 4], "blank")
    assert tavern.view["board"][7] == "...~...."


def test_the_tile_is_needed_exactly_when_one_is_turned() -> None:
    """`dice_required` comes before `tile_required`."""
    tavern = opened(set_up=True)
    tavern.to_fog(SOUTH)
    tavern.refused("dice_required", "roll_fog")
    tavern.refused("dice_required", "roll_fog", row=4)
    tavern.refused("dice_required", "roll_fog", column=4, tile="blank")
    assert "[4, 4]" in tavern.refused("tile_required", "roll_fog", row=4, column=4)
    tavern.act("roll_fog", row=4, column=4, tile="sok")


def test_there_are_four_sok() -> None:
    """The fifth reported Sok is refused; it must have been blank."""
    tavern = opened(set_up=True)
    seat = SOUTH
    for column in range(1, 5):
        tavern.hit(seat, [4, column], "sok")
        seat = tavern.state.other(seat)
    tavern.to_fog(SOUTH)
    tavern.refused("too_many_sok", "roll_fog", row=4, column=5, tile="sok")
    tavern.refused("tile_required", "roll_fog", row=4, column=5)
    assert tavern.allows("roll_fog", row=4, column=4, tile="sok")  # known: what is reported is ignored
    tavern.act("roll_fog", row=4, column=5, tile="blank")
    assert tavern.view["board"][4] == "SSSS~..."


def test_sixty_tiles_are_blank() -> None:
    """The 61st blank is refused; only regents are left on the board, and they play on."""
    tavern = opened(set_up=True)
    spared = {(1, 4), (8, 5), (3, 3), (6, 6)}
    seat = SOUTH
    for square in SQUARES:
        if square not in spared:
            tavern.hit(seat, square)
            seat = tavern.state.other(seat)
    assert "".join(tavern.view["board"]).count("~") == 60
    assert [(p["seat"], p["piece"]) for p in tavern.view["pieces"]] == [(SOUTH, "regent"), (NORTH, "regent")]
    tavern.to_fog(SOUTH)
    tavern.refused("too_many_blank", "roll_fog", row=3, column=3, tile="blank")
    tavern.act("roll_fog", row=3, column=3, tile="sok")
    tavern.refused("no_such_piece", "move", NORTH, piece="house", to=[8, 8])
    tavern.act("move", NORTH, piece="regent", to=[8, 5])


@pytest.mark.parametrize(
    "said",
    [
        {"row": 0, "column": 1},
        {"row": 1, "column": 7},
        {"row": 1, "column": 1, "tile": "grass"},
        {"row": 1, "column": 1, "tile": 1},
        {"row": [1, 2], "column": 1},
        {"row": 1, "column": 1, "at": [1, 1]},
    ],
)
def test_what_the_fog_dice_do_not_show(said: dict[str, Any]) -> None:
    tavern = opened(set_up=True)
    tavern.to_fog(SOUTH)
    tavern.refused("malformed", "roll_fog", **said)


def test_who_may_not_roll_for_the_fog() -> None:
    """Seat, phase, turn, the dice, the tile."""
    tavern = opened(set_up=True)
    tavern.refused("not_seated", "roll_fog", OUTSIDER, row=1, column=1)
    tavern.refused("wrong_phase", "roll_fog", NORTH)
    tavern.act("roll_sok", face=1)
    tavern.refused("wrong_phase", "roll_fog", row=1, column=1, tile="blank")
    tavern.act("allocate", row=1, column=0)
    tavern.refused("not_your_turn", "roll_fog", NORTH)


# ---- the turn passes: rule 6 ----


def test_turns_are_quiet_until_something_is_felled_or_turned() -> None:
    """Counted when a turn ends; moving alone stirs nothing."""
    tavern = opened(set_up=True)
    tavern.act("move", piece="farmer1", to=[3, 2])
    _shows(tavern, quiet_turns=0)
    tavern.act("roll_sok", face="sok")
    _shows(tavern, quiet_turns=1)
    tavern.hit(NORTH, [1, 4], None)
    _shows(tavern, quiet_turns=2)
    tavern.hit(SOUTH, [4, 4], "sok")
    _shows(tavern, quiet_turns=0)
    tavern.hit(NORTH, [4, 4], None)
    _shows(tavern, quiet_turns=1)
    tavern.hit(SOUTH, [4, 5], "blank")
    _shows(tavern, quiet_turns=0)


def test_a_felling_ends_the_quiet_when_the_turn_ends() -> None:
    tavern = opened(set_up=True)
    pieces = ((SOUTH, "regent", (1, 1)), (NORTH, "regent", (8, 8)), (SOUTH, "house", (4, 4)), (NORTH, "spear", (4, 5)))
    tavern.arrange(*pieces, quiet_turns=7)
    tavern.act("move", piece="house", to=[4, 5])
    tavern.act("move", piece="regent", to=[2, 2])
    _shows(tavern, quiet_turns=7)
    tavern.act("roll_sok", face="sok")
    _shows(tavern, quiet_turns=0)
    tavern.act("roll_sok", NORTH, face="sok")
    _shows(tavern, quiet_turns=1)


@pytest.mark.parametrize("last", ["sok", "fog"])
def test_fifty_quiet_turns_are_a_draw(last: str) -> None:
    """Both seats' turns are counted; each takes back its own."""
    tavern = opened(set_up=True, stake=8, credit=True)
    before, seat = tavern.before, SOUTH
    for _ in range(49):
        assert len(tavern.act("roll_sok", seat, face="sok")) == 1
        seat = tavern.state.other(seat)
    _shows(tavern, phase="move", turn=NORTH, quiet_turns=49)
    regent = [8, 5]
    events = tavern.act("roll_sok", NORTH, face="sok") if last == "sok" else tavern.hit(NORTH, regent)
    assert events[-1] == TableClosed(how="drawn", winner=None)
    _shows(tavern, phase="closed", quiet_turns=50, drawn=True, winner=None, turn=None, waiting_for=[], pot={})
    assert tavern.larp.balances() == before


def test_the_fiftieth_turn_that_stirs_is_no_draw() -> None:
    tavern = opened(set_up=True)
    tavern.set(quiet_turns=49)
    tavern.hit(SOUTH, [4, 4])
    _shows(tavern, phase="move", turn=NORTH, quiet_turns=0, drawn=False)


def test_a_felling_in_the_fiftieth_turn_is_no_draw() -> None:
    tavern = opened(set_up=True)
    pieces = ((SOUTH, "regent", (1, 1)), (NORTH, "regent", (8, 8)), (SOUTH, "house", (4, 4)), (NORTH, "spear", (4, 5)))
    tavern.arrange(*pieces, quiet_turns=49)
    tavern.act("move", piece="house", to=[4, 5])
    tavern.act("roll_sok", face="sok")
    _shows(tavern, phase="move", quiet_turns=0)
