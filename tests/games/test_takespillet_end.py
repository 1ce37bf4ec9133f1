"""Tåkespillet, rules 7 and 8: resigning, drawing, winning; and what a void gives back."""

import pytest

from ledger.games.table import TableClosed, TableVoided
from ledger.games.takespillet.messages import DrawOffered, Resigned
from ledger.messages import Posting
from tests.games.takespillet_support import (
    KRONE,
    NORTH,
    OUTSIDER,
    PHASES,
    POT,
    SOUTH,
    TABLE,
    Tavern,
    in_phase,
    opened,
    opening,
)

SEATS = (SOUTH, NORTH)
ENDED = {"turn": None, "waiting_for": [], "moved": [], "sok": None, "allocated": None, "rolls": None, "pot": {}}


def _shows(tavern: Tavern, **wanted: object) -> None:
    view = tavern.view
    assert {key: view[key] for key in wanted} == wanted


# ---- resigning ----


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("phase", PHASES)
def test_resigning_lets_the_other_win(phase: str, seat: str) -> None:
    """In every phase, on and off turn; the winner takes the pot."""
    tavern = in_phase(phase)
    winner = tavern.state.other(seat)
    assert tavern.act("resign", seat) == [Resigned(seat=seat), TableClosed(how="won", winner=winner)]
    assert tavern.postings() == (Posting(POT, f"purse/{winner}", KRONE, 10),)
    _shows(tavern, phase="closed", winner=winner, drawn=False, **ENDED)


def test_the_board_can_still_be_seen_at_the_end() -> None:
    tavern = in_phase("fog")
    before = tavern.view
    tavern.act("resign")
    _shows(tavern, board=before["board"], pieces=before["pieces"], quiet_turns=before["quiet_turns"])
    assert tavern.view["closed_at"] is not None


def test_the_winner_takes_tokens_and_notes_and_its_own_notes_go_home() -> None:
    tavern = opened(stake=8, credit=True)
    tavern.act("resign", NORTH)
    assert tavern.purse(SOUTH) == {KRONE: 10, f"iou/{NORTH}/{KRONE}": 3}
    assert tavern.larp.account(f"debtor/{SOUTH}") == {}
    assert tavern.larp.account(f"debtor/{NORTH}") == {f"iou/{NORTH}/{KRONE}": -3}


def test_only_who_has_a_seat_resigns_or_offers() -> None:
    tavern = opened()
    for action in ("resign", "draw"):
        tavern.refused("not_seated", action, OUTSIDER)
        tavern.refused("not_seated", action, "nobody")
        tavern.refused("malformed", action, why="tired")


# ---- drawing ----


@pytest.mark.parametrize("first", SEATS)
@pytest.mark.parametrize("phase", PHASES)
def test_when_both_offers_stand_the_table_is_drawn(phase: str, first: str) -> None:
    """In every phase, on and off turn; each takes back its own, tokens and notes as paid in."""
    tavern = in_phase(phase, stake=8, credit=True)
    second, turn = tavern.state.other(first), tavern.view["turn"]
    assert tavern.act("draw", first) == [DrawOffered(seat=first)]
    _shows(tavern, phase=phase, turn=turn, draw_offers=[first], drawn=False)
    tavern.refused("already_offered", "draw", first)
    offered, closed = tavern.act("draw", second)
    assert (offered, closed) == (DrawOffered(seat=second), TableClosed(how="drawn", winner=None))
    _shows(tavern, phase="closed", winner=None, drawn=True, draw_offers=[first, second], **ENDED)
    assert tavern.larp.balances() == tavern.before


def test_each_takes_back_its_own_and_not_half() -> None:
    """South paid in tokens, north on credit: no note changes hands."""
    tavern = Tavern()
    tavern.collect(NORTH, 5)
    tavern.open(credit=True)
    assert tavern.view["pot"] == {KRONE: 5, f"iou/{NORTH}/{KRONE}": 5}
    tavern.act("draw", NORTH)
    tavern.act("draw", SOUTH)
    assert (tavern.purse(SOUTH), tavern.purse(NORTH)) == ({KRONE: 5}, {})
    assert tavern.larp.account(f"debtor/{NORTH}") == {}


def test_an_offer_stands_until_that_seats_own_next_sok_die() -> None:
    tavern = opened(set_up=True)
    tavern.act("draw", SOUTH)
    tavern.act("move", piece="farmer1", to=[3, 3])
    _shows(tavern, draw_offers=[SOUTH])
    tavern.act("roll_sok", face="sok")
    _shows(tavern, draw_offers=[], turn=NORTH)
    tavern.act("draw", NORTH)
    _shows(tavern, phase="move", draw_offers=[NORTH])


def test_an_offer_outlasts_the_others_sok_die() -> None:
    tavern = opened(set_up=True)
    tavern.act("draw", NORTH)
    for face in (2, None):
        tavern.refused("already_offered", "draw", NORTH)
        if face is not None:
            tavern.act("roll_sok", face=face)
    tavern.act("allocate", row=2, column=0)
    tavern.act("roll_fog", row=2, column=2, tile="blank")
    _shows(tavern, turn=NORTH, draw_offers=[NORTH])
    tavern.act("draw", SOUTH)
    _shows(tavern, phase="closed", drawn=True)


def test_an_offer_made_before_the_first_move_stands_till_then() -> None:
    tavern = opened()
    tavern.act("draw", SOUTH)
    tavern.set_up()
    _shows(tavern, phase="move", draw_offers=[SOUTH])
    tavern.act("roll_sok", face=0)
    _shows(tavern, phase="fog", draw_offers=[])
    tavern.act("draw", SOUTH)  # again, in its own fog: it stands until its next turn
    tavern.act("roll_fog", row=4, column=4, tile="blank")
    tavern.act("roll_sok", NORTH, face="sok")
    _shows(tavern, draw_offers=[SOUTH])


def test_a_standing_offer_does_not_keep_anybody_from_winning() -> None:
    tavern = opened(set_up=True)
    tavern.act("draw", NORTH)
    tavern.act("resign", NORTH)
    _shows(tavern, winner=SOUTH, drawn=False, draw_offers=[NORTH])


# ---- after the end ----


ACTIONS = {
    "roll_off": {"number": 1},
    "place": {
        "regent": [1, 1],
        "house": [1, 2],
        "spear": [1, 3],
        "farmers": [{"at": [2, n], "stake": n} for n in (1, 2, 3)],
    },
    "move": {"piece": "regent", "to": [1, 1]},
    "roll_sok": {"face": 1},
    "allocate": {"row": 1, "column": 1},
    "roll_fog": {"row": 1, "column": 1, "tile": "blank"},
    "resign": {},
    "draw": {},
}
ALLOWED = {
    "roll_off": {"roll_off"},
    "setup": {"place"},
    "move": {"move", "roll_sok"},
    "allocate": {"allocate"},
    "fog": {"roll_fog"},
}


@pytest.mark.parametrize("action", ACTIONS)
def test_nothing_is_done_at_a_closed_table(action: str) -> None:
    """`table_closed` comes before everything else."""
    tavern = opened()
    tavern.act("resign")
    for seat in (SOUTH, NORTH, OUTSIDER):
        tavern.refused("table_closed", action, seat, **ACTIONS[action])
    tavern.refuses("table_closed", f"/tables/{TABLE}/void", {"reason": "too late"})


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("action", [action for action in ACTIONS if action not in ("resign", "draw")])
def test_each_action_has_its_phase(phase: str, action: str) -> None:
    """`wrong_phase` comes before `not_your_turn`."""
    tavern = in_phase(phase)
    if action not in ALLOWED[phase]:
        for seat in SEATS:
            assert phase in tavern.refused("wrong_phase", action, seat, **ACTIONS[action])


@pytest.mark.parametrize("action", ["roll", "accept", "leave", "place_bet", None])
def test_another_games_action(action: str | None) -> None:
    tavern = opened()
    tavern.refuses("malformed", f"/tables/{TABLE}/actions", {"action": action, "seat": SOUTH})


# ---- void ----


@pytest.mark.parametrize("credit", [False, True])
@pytest.mark.parametrize("phase", PHASES)
def test_a_void_gives_back_exactly_what_was_paid_in(phase: str, credit: bool) -> None:
    tavern = in_phase(phase, stake=8 if credit else 5, credit=credit)
    tavern.act("draw", NORTH)
    assert tavern.void() == [TableVoided(reason="a spilt drink")]
    assert tavern.larp.balances() == tavern.before
    _shows(tavern, phase="voided", winner=None, drawn=False, void_reason="a spilt drink", **ENDED)
    tavern.refused("table_closed", "resign")
    tavern.refuses("already_exists", "/tables", opening())


def test_a_void_after_pieces_were_felled_and_swallowed() -> None:
    """Farmers that are gone stay in the pot, and their stakes go back like all the rest."""
    tavern = opened(set_up=True)
    tavern.hit(SOUTH, [7, 5])
    tavern.hit(NORTH, [2, 6])
    _shows(tavern, pot={KRONE: 10})
    tavern.void()
    assert tavern.larp.balances() == tavern.before


def test_a_void_does_not_ask_what_is_in_the_purses_now() -> None:
    """What a table took in is still there: a void always works, and gives nothing but that."""
    tavern = opened(set_up=True, stake=8, credit=True)
    tavern.grant(NORTH, 3)
    tavern.void()
    assert (tavern.purse(SOUTH), tavern.purse(NORTH)) == ({KRONE: 5}, {KRONE: 8})
    assert tavern.larp.account(f"debtor/{SOUTH}") == tavern.larp.account(f"debtor/{NORTH}") == {}
