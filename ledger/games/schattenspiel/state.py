"""A table of Schattenspiel: its state, how events change it, and what everybody may see of it."""

from collections.abc import Mapping
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from ledger import money
from ledger.games.schattenspiel.messages import (
    Hand,
    HandShown,
    Opened,
    Reason,
    Resigned,
    RoundJudged,
    Rules,
    SchattenspielEvent,
)
from ledger.games.table import TableState, TableView, begun, shown
from ledger.messages import Posting, Sealed

# ---- state ----


class Player(Struct, frozen=True):
    """What a seat has reached. `hand`: sealed in this round. `lit`: it showed light in the last counted round."""

    points: int = 0
    hand: Sealed | None = None
    lit: bool = False


class LastRound(Struct, frozen=True):
    """The last round judged, annulled ones too. `winner` None: nobody won it."""

    winner: str | None
    reason: Reason
    hands: Mapping[str, Hand]


class State(TableState, frozen=True, kw_only=True):
    """`counted`: how many rounds have counted so far."""

    rules: Rules
    players: Mapping[str, Player]
    counted: int = 0
    last_round: LastRound | None = None

    @property
    def waiting_for(self) -> tuple[str, ...]:
        return tuple(seat for seat in self.seats if self.players[seat].hand is None)

    def markers(self, seat: str) -> int:
        """How many lie in front of the seat, tokens and notes."""
        return sum(self.held.get(money.seat(self.table, seat), {}).values())

    def other(self, seat: str) -> str:
        one, two = self.seats
        return two if seat == one else one


# ---- evolve ----


def begin(opened: Opened) -> State:
    players = {seat: Player() for seat in opened.seats}
    return State(**begun(opened), phase="play", rules=opened.rules, players=players)


def evolve(state: State, event: SchattenspielEvent, postings: tuple[Posting, ...]) -> State:
    match event:
        case HandShown():
            player = replace(state.players[event.seat], hand=event.sealed[0])
            return replace(state, players={**state.players, event.seat: player})
        case RoundJudged():
            return _judged(state, event)
        case Resigned():
            return state
        case _:
            assert_never(event)


def _judged(state: State, event: RoundJudged) -> State:
    players = {seat: replace(player, hand=None) for seat, player in state.players.items()}
    if event.counted:  # rule 3: an annulled round gives nothing and releases nobody
        players = {
            seat: Player(
                points=player.points + (event.winner is None or event.winner == seat),
                lit=event.hands[seat].sign == "light",
            )
            for seat, player in players.items()
        }
    last_round = LastRound(event.winner, event.reason, event.hands)
    return replace(state, players=players, counted=state.counted + event.counted, last_round=last_round)


# ---- view ----


class SeatView(Struct, frozen=True, kw_only=True):
    """`markers`: what lies in front of the seat. `shown`: a hand of it is sealed."""

    character: str
    points: int
    markers: int
    shown: bool


class View(TableView, frozen=True, kw_only=True, tag="schattenspiel"):
    """A table of Schattenspiel. `round`: the one that is played, counted rounds only."""

    rules: Rules
    seats: tuple[SeatView, ...]
    round: int
    last_round: LastRound | None


def view(state: State) -> View:
    return View(
        **shown(state),
        turn=None,
        waiting_for=() if state.is_over else state.waiting_for,
        rules=state.rules,
        seats=tuple(
            SeatView(
                character=seat,
                points=state.players[seat].points,
                markers=state.markers(seat),
                shown=state.players[seat].hand is not None,
            )
            for seat in state.seats
        ),
        round=state.counted + 1,
        last_round=state.last_round,
    )
