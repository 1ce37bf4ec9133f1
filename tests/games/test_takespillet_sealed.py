"""Tåkespillet where the service rolls: the tiles lie sealed, and are uncovered when the rules say so."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from ledger.book import Book
from ledger.errors import Refused
from ledger.games.table import TableClosed, TableVoided
from ledger.games.takespillet.messages import FogRolled, TilesUncovered
from ledger.messages import Event
from tests.games.takespillet_support import KRONE, NORTH, OUTSIDER, SOUTH, TABLE, Tavern, opened

ALL_TILES = ["blank"] * 60 + ["sok"] * 4


def _service(entropy: int = 0, **body: Any) -> Tavern:
    return opened(set_up=True, dice="service", entropy=bytes([entropy]), **body)


def _end_turn(tavern: Tavern) -> list[Event]:
    """The Sok die and all that follows from it; what the last action led to."""
    seat = tavern.view["turn"]
    events = tavern.act("roll_sok", seat)
    if tavern.view["phase"] == "allocate":
        row = min(2, tavern.view["sok"])
        tavern.act("allocate", seat, row=row, column=tavern.view["sok"] - row)
    return tavern.act("roll_fog", seat) if tavern.view["phase"] == "fog" else events


def _to_fog(tavern: Tavern) -> str:
    """To the next fog dice; whose they are."""
    while tavern.view["phase"] != "fog":
        seat = tavern.view["turn"]
        tavern.act("roll_sok", seat)
        if tavern.view["phase"] == "allocate":
            row = min(2, tavern.view["sok"])
            tavern.act("allocate", seat, row=row, column=tavern.view["sok"] - row)
    turn: str = tavern.view["turn"]
    return turn


def _value(tavern: Tavern, square: Sequence[int]) -> Any:
    name = f"tile [{square[0]}, {square[1]}]"
    return next(secret.value for secret in tavern.secrets.values() if secret.what == name)


# ---- dice that are not accepted ----


@pytest.mark.parametrize("face", [0, 3, "sok"])
def test_no_face_of_the_sok_die_is_taken(face: Any) -> None:
    tavern = _service()
    turn = tavern.view["turn"]
    tavern.refused("dice_not_accepted", "roll_sok", turn, face=face)
    tavern.refused("not_your_turn", "roll_sok", tavern.state.other(turn), face=face)


@pytest.mark.parametrize("said", [{"row": 1}, {"column": 1}, {"tile": "blank"}, {"row": 1, "column": 1, "tile": "sok"}])
def test_no_fog_dice_and_no_tile_are_taken(said: dict[str, Any]) -> None:
    """The face of a turned tile counts as dice where the service rolls."""
    tavern = _service()
    turn = _to_fog(tavern)
    tavern.refused("dice_not_accepted", "roll_fog", turn, **said)
    tavern.refused("not_your_turn", "roll_fog", tavern.state.other(turn), **said)
    tavern.refused("not_seated", "roll_fog", OUTSIDER, **said)


def test_the_service_shows_every_face() -> None:
    tavern, faces = _service(), set()
    while tavern.view["phase"] != "closed" and len(faces) < 6:
        seat = tavern.view["turn"]
        faces.add(tavern.act("roll_sok", seat)[0].face)
        if tavern.view["phase"] == "allocate":
            tavern.act("allocate", seat, row=min(2, tavern.view["sok"]), column=max(0, tavern.view["sok"] - 2))
        if tavern.view["phase"] == "fog":
            tavern.act("roll_fog", seat)
    assert faces == {0, 1, 2, 3, 4, "sok"}


# ---- what is turned ----


def test_a_turned_tile_is_uncovered_when_it_is_turned() -> None:
    """It is the tile that was sealed for that square, and can be checked; nothing else is shown."""
    tavern, turned = _service(), 0
    while turned < 12:
        events = _end_turn(tavern)
        shown = dict(tavern.shown)
        for event in events:
            if isinstance(event, FogRolled) and event.tile is not None:
                turned += 1
                (proof,) = event.uncovered
                assert proof.value == event.tile == _value(tavern, event.at)
                assert tavern.view["board"][8 - event.at[0]][event.at[1] - 1] == {"blank": "~", "sok": "S"}[event.tile]
        assert len(shown) == turned == 64 - len(tavern.state.covered)
        assert "".join(tavern.view["board"]).count(".") == 64 - turned


@pytest.mark.parametrize("chance", range(6))
def test_a_tile_under_a_regent_stays_covered(chance: int) -> None:
    """The fog cannot take it: the tile is not turned, so it is not uncovered."""
    tavern = _service()
    turn = _to_fog(tavern)
    (turned,) = tavern.would("roll_fog", turn, chance=chance)
    assert len(turned.uncovered) == 1
    tavern.arrange((tavern.state.other(turn), "regent", turned.at))
    (event,) = tavern.would("roll_fog", turn, chance=chance)
    assert (event.at, event.tile, event.lost, event.uncovered) == (turned.at, None, None, ())


@pytest.mark.parametrize("known", ["swallowed", "sok_squares"])
def test_a_square_that_is_known_is_not_turned_again(known: str) -> None:
    tavern = _service()
    turn = _to_fog(tavern)
    (turned,) = tavern.would("roll_fog", turn)
    tavern.set(**{known: (turned.at,)})
    (event,) = tavern.would("roll_fog", turn)
    assert (event.at, event.tile, event.uncovered) == (turned.at, None, ())


# ---- what stays hidden ----


def test_nothing_depends_on_a_tile_before_it_is_turned() -> None:
    """Any other shuffle of the covered tiles, the same chance: the same events and the same refusals."""
    tavern = _service()
    other = _reshuffled(tavern)
    for chance in range(20):
        for move in ("farmer1", "farmer2"):
            for to in ([3, 3], [6, 4], [8, 8]):
                turn = tavern.view["turn"]
                assert _answer(tavern, "move", turn, piece=move, to=to) == _answer(
                    tavern, "move", turn, book=other, piece=move, to=to
                )
        rolled = tavern.would("roll_sok", tavern.view["turn"], chance=chance)
        assert rolled == tavern.would("roll_sok", tavern.view["turn"], chance=chance, book=other)


def test_the_fog_depends_on_the_tile_that_is_hit_alone() -> None:
    tavern = _service()
    turn = _to_fog(tavern)
    other, told = _reshuffled(tavern), set()
    for chance in range(40):
        (here,), (there,) = (tavern.would("roll_fog", turn, chance=chance, book=book) for book in (None, other))
        assert (here.at, here.row, here.column) == (there.at, there.row, there.column)
        assert [proof.value for proof in here.uncovered] == ([here.tile] if here.tile else [])
        told.add(here.tile == there.tile)
    assert told == {True, False}


def _answer(tavern: Tavern, action: str, seat: str, book: Book | None = None, **said: Any) -> Any:
    try:
        return tavern.would(action, seat, book=book, **said)
    except Refused as refused:
        return refused.code, refused.detail


def _reshuffled(tavern: Tavern) -> Book:
    """The same table, as far as anybody can see, with the covered tiles the other way round."""
    fork = tavern.larp.book.fork()
    secrets = list((fork.secrets.get(TABLE) or {}).values())
    turned_round = zip(secrets, reversed(secrets), strict=True)
    fork.secrets.put(TABLE, {one.commitment: replace(one, value=other.value) for one, other in turned_round})
    return fork


def test_the_state_and_its_text_hold_no_value() -> None:
    """Commitments and names of squares, nothing of what lies there."""
    tavern = _service()
    assert "blank" not in repr(tavern.state) and "'sok'" not in repr(tavern.state)
    sealed = next(recorded for recorded in tavern.larp.journal if b"tiles_sealed" in recorded.body)
    assert b"blank" not in sealed.body and b'"sok"' not in sealed.body


def test_the_tiles_are_shuffled_anew_at_each_table() -> None:
    """In 40 tables Sok lies on most squares, and not at the same four."""
    where = set()
    for entropy in range(40):
        tavern = opened(dice="service", entropy=bytes([entropy]))
        four = frozenset(secret.what for secret in tavern.secrets.values() if secret.value == "sok")
        assert len(four) == 4
        where.add(four)
    assert len(where) == 40
    assert len(frozenset().union(*where)) > 50


# ---- the end ----


def _all_are_shown(tavern: Tavern) -> None:
    """Anyone can count four Sok: turned ones and those uncovered at the end are all that were sealed."""
    assert sorted(tavern.shown.values()) == ALL_TILES
    assert tavern.larp.book.secrets.get(TABLE) is None


def test_all_tiles_are_uncovered_when_a_regent_is_felled() -> None:
    tavern = _service()
    for _ in range(5):
        _end_turn(tavern)
    turn = tavern.view["turn"]
    covered = len(tavern.state.covered)
    assert 56 < covered < 64
    tavern.arrange((turn, "house", (4, 4)), (tavern.state.other(turn), "regent", (4, 5)), swallowed=(), sok_squares=())
    moved, shown, closed = tavern.act("move", turn, piece="house", to=[4, 5])
    assert moved.felled == "regent" and closed == TableClosed(how="won", winner=turn)
    assert isinstance(shown, TilesUncovered) and len(shown.uncovered) == covered
    _all_are_shown(tavern)


@pytest.mark.parametrize("turns", [0, 6])
def test_all_tiles_are_uncovered_when_a_seat_resigns(turns: int) -> None:
    tavern = _service()
    for _ in range(turns):
        _end_turn(tavern)
    board = tavern.view["board"]
    assert [type(event).__name__ for event in tavern.act("resign")] == ["Resigned", "TilesUncovered", "TableClosed"]
    assert tavern.view["board"] == board  # uncovered is not turned
    _all_are_shown(tavern)


def test_all_tiles_are_uncovered_when_a_seat_resigns_before_the_start() -> None:
    tavern = opened(dice="service")
    tavern.act("resign", NORTH)
    _all_are_shown(tavern)


def test_all_tiles_are_uncovered_when_both_want_a_draw() -> None:
    tavern = _service()
    tavern.act("draw", SOUTH)
    assert tavern.shown == {}
    tavern.act("draw", NORTH)
    _all_are_shown(tavern)


def test_all_tiles_are_uncovered_after_fifty_quiet_turns() -> None:
    tavern = _service()
    for _ in range(400):
        if tavern.view["phase"] == "closed":
            break
        tavern.set(quiet_turns=max(49, tavern.state.quiet_turns))
        _end_turn(tavern)
    assert tavern.view["drawn"] and tavern.view["quiet_turns"] == 50
    assert tavern.shown and sorted(tavern.shown.values()) == ALL_TILES


def test_when_all_tiles_have_been_turned_nothing_is_left_to_uncover() -> None:
    tavern = _service()
    tavern.set(covered={})
    assert [type(event).__name__ for event in tavern.would("resign")] == ["Resigned", "TableClosed"]


@pytest.mark.parametrize("turns", [0, 6])
def test_a_void_uncovers_nothing(turns: int) -> None:
    """What no rule uncovers stays sealed for good, also when the table is void."""
    tavern = _service()
    for _ in range(turns):
        _end_turn(tavern)
    shown = dict(tavern.shown)
    assert tavern.void() == [TableVoided(reason="a spilt drink")]
    assert tavern.shown == shown and len(shown) <= turns
    assert tavern.larp.balances() == tavern.before
    assert tavern.larp.book.secrets.get(TABLE) is None


def test_a_credit_table_where_the_service_rolls() -> None:
    tavern = _service(stake=9, credit=True)
    tavern.act("resign", SOUTH)
    assert tavern.purse(NORTH) == {KRONE: 10, f"iou/{SOUTH}/{KRONE}": 4}
    _all_are_shown(tavern)


# ---- whole games ----


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dice", ["service", "reported"])
def test_whole_games_at_random(dice: str, seed: int) -> None:
    """Whatever is tried, accepted or refused, everything holds after every step (see `Tavern`), to the end."""
    tavern, choice = Tavern(entropy=bytes([seed])), random.Random(seed)
    tavern.open(dice=dice, stake=8, credit=True)
    tavern.set_up()
    while tavern.is_open:
        if choice.random() < 0.8:
            _try_to_move(tavern, choice)
        elif dice == "service":
            _end_turn_of(tavern, choice)
        else:
            _end_turn_of(tavern, choice, face=choice.choice([0, 1, 2, 3, 4, "sok"]))
    view = tavern.view
    assert (view["winner"] is None) == view["drawn"]
    if dice == "service":
        assert sorted(tavern.shown.values()) == ALL_TILES
    regents = {piece["seat"] for piece in view["pieces"] if piece["piece"] == "regent"}
    assert regents == ({SOUTH, NORTH} if view["drawn"] else {view["winner"]})


def _try_to_move(tavern: Tavern, choice: random.Random) -> None:
    """Any piece anywhere near; a refusal leaves all as it was."""
    state = tavern.state
    seat = state.active or ""
    piece = choice.choice(state.pieces)
    to = [min(8, max(1, at + choice.randint(-2, 2))) for at in piece.at]
    if tavern.allows("move", seat, piece=piece.piece, to=to):
        tavern.act("move", seat, piece=piece.piece, to=to)


def _end_turn_of(tavern: Tavern, choice: random.Random, face: Any = None) -> None:
    """The Sok die and what follows; tiles that are too many are reported as what they must be."""
    seat, reported = tavern.state.active or "", face is not None
    tavern.act("roll_sok", seat, **({"face": face} if reported else {}))
    if not tavern.is_open:
        return
    sok = tavern.state.sok
    if isinstance(sok, int) and sok > 0:
        tavern.act("allocate", seat, row=min(2, sok), column=sok - min(2, sok))
    if tavern.state.phase != "fog":
        return
    said: dict[str, Any] = {}
    if reported:
        said = {"row": choice.randint(1, 6), "column": choice.randint(1, 6), "tile": choice.choice(["blank", "sok"])}
        if not tavern.allows("roll_fog", seat, **said):
            said["tile"] = "blank" if said["tile"] == "sok" else "sok"
    tavern.act("roll_fog", seat, **said)
