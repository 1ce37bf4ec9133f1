"""A table of Schocken: its state, how events change it, and what everybody may see of it."""

from collections.abc import Mapping
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from ledger import money
from ledger.games.schocken.hands import HandName
from ledger.games.schocken.messages import (
    DICE,
    LID,
    THROWS_MAX,
    CupLifted,
    DiceDropped,
    Half,
    HalfLost,
    HandSchockOwed,
    MatchLost,
    Opened,
    RoundScored,
    Rules,
    SchockenEvent,
    Stood,
    Thrown,
)
from ledger.games.table import TableState, TableView, begun, shown
from ledger.messages import Posting, Sealed

# ---- state ----


class Go(Struct, frozen=True):
    """A seat's go in the present round. `hand`: None for a die that lies under the cup."""

    throws: int = 0
    hand: tuple[int | None, ...] = ()
    in_one_throw: bool = False
    cup: Sealed | None = None
    standing: bool = False

    @property
    def open_dice(self) -> tuple[int, ...]:
        return tuple(die for die in self.hand if die is not None)

    @property
    def under_cup(self) -> int:
        """How many dice of the hand nobody sees."""
        return len(self.hand) - len(self.open_dice)

    @property
    def is_blind(self) -> bool:
        """Nobody wrote down what lies under the cup."""
        return self.under_cup > 0 and self.cup is None


class LastRound(Struct, frozen=True):
    """How the last round was scored: `best`'s hand, and how many lids `worst` took for it."""

    best: str
    worst: str
    hand: HandName
    lids: int


class State(TableState, frozen=True, kw_only=True):
    """`starter`: who throws first in this round. `goes`: of the seats that have thrown in it."""

    rules: Rules
    starter: str
    half: Half = 1
    round: int = 1
    goes: Mapping[str, Go] = {}
    half_losers: tuple[str, ...] = ()
    loser: str | None = None
    last_round: LastRound | None = None

    @property
    def middle(self) -> int:
        """The lids that nobody has taken yet."""
        return self.held.get(money.middle(self.table), {}).get(LID, 0)

    def lids(self, seat: str) -> int:
        """The lids in front of a seat."""
        return self.held.get(money.seat(self.table, seat), {}).get(LID, 0)

    def go(self, seat: str) -> Go:
        return self.goes.get(seat, Go())

    def clockwise_from(self, seat: str) -> tuple[str, ...]:
        """All seats of the table, beginning with `seat`."""
        at = self.seats.index(seat)
        return (*self.seats[at:], *self.seats[:at])

    @property
    def playing(self) -> tuple[str, ...]:
        """Who plays in this round, in the order of throwing: without lids only while there are some in the middle."""
        return tuple(
            seat
            for seat in self.clockwise_from(self.starter)
            if (self.half != "final" or seat in self.half_losers) and (self.middle or self.lids(seat))
        )

    @property
    def turn(self) -> str | None:
        """The first whose go has not ended."""
        return next((seat for seat in self.playing if not self.go(seat).standing), None)

    @property
    def limit(self) -> int | None:
        """How often the others may throw; None while the starter is throwing."""
        starter = self.go(self.starter)
        return starter.throws if starter.standing else None

    @property
    def blind(self) -> tuple[str, ...]:
        """The seats whose throw nobody wrote down."""
        return tuple(seat for seat in self.seats if self.go(seat).is_blind)


# ---- evolve ----


def begin(opened: Opened) -> State:
    starter = opened.rules.starter or opened.seats[0]
    return State(**begun(opened), phase="throwing", rules=opened.rules, starter=starter)


def evolve(state: State, event: SchockenEvent, postings: tuple[Posting, ...]) -> State:
    match event:
        case Thrown():
            return _with_go(state, event.seat, _thrown(state, event))
        case Stood():
            return _with_go(state, event.seat, replace(state.go(event.seat), standing=True))
        case CupLifted():
            go = state.go(event.seat)
            return _with_go(state, event.seat, replace(go, hand=(*go.open_dice, *event.dice)))
        case DiceDropped() | HandSchockOwed():
            return state
        case RoundScored():
            return _scored(state, event)
        case HalfLost():
            if event.half != "final":
                state = replace(state, half_losers=(*state.half_losers, event.loser))
            if event.next is None:
                return state
            return replace(state, half=event.next, round=1, starter=event.loser, goes={})
        case MatchLost():
            return replace(state, loser=event.loser)
        case _:
            assert_never(event)


def _thrown(state: State, event: Thrown) -> Go:
    throws = state.go(event.seat).throws + 1
    return Go(
        throws=throws,
        hand=(*event.keep, *(event.dice or (None,) * (DICE - len(event.keep)))),
        in_one_throw=not event.keep,
        cup=event.sealed[0] if event.sealed else None,
        standing=throws == (state.limit or THROWS_MAX),
    )


def _with_go(state: State, seat: str, go: Go) -> State:
    state = replace(state, goes={**state.goes, seat: go})
    return replace(state, phase="uncovering" if state.turn is None and state.blind else "throwing")


def _scored(state: State, event: RoundScored) -> State:
    last = LastRound(event.best, event.worst, event.hand, event.lids)
    if state.lids(event.worst) < state.rules.lids:
        return replace(state, phase="throwing", round=state.round + 1, starter=event.worst, goes={}, last_round=last)
    # The half is lost: all cups are lifted, and nobody throws any more.
    goes = {had.seat: replace(state.go(had.seat), hand=had.dice, cup=None) for had in event.hands}
    return replace(state, phase="throwing", goes=goes, last_round=last)


# ---- view ----


class SeatView(Struct, frozen=True, kw_only=True):
    """`hand`: null before the first throw, sealed dice null in it. `standing`: its go has ended."""

    character: str
    lids: int
    playing: bool
    throws: int
    hand: tuple[int | None, ...] | None
    standing: bool


class View(TableView, frozen=True, kw_only=True, tag="schocken"):
    """A table of Schocken. `limit`: throws allowed in this round, null while the starter is throwing."""

    rules: Rules
    seats: tuple[SeatView, ...]
    half: Half
    round: int
    middle: int
    limit: int | None
    half_losers: tuple[str, ...]
    loser: str | None
    last_round: LastRound | None


def view(state: State) -> View:
    turn, playing = None if state.is_over else state.turn, state.playing
    return View(
        **shown(state),
        turn=turn,
        waiting_for=_waiting_for(state, turn),
        rules=state.rules,
        seats=tuple(
            SeatView(
                character=seat,
                lids=state.lids(seat),
                playing=seat in playing,
                throws=state.go(seat).throws,
                hand=state.go(seat).hand or None,
                standing=state.go(seat).standing,
            )
            for seat in state.seats
        ),
        half=state.half,
        round=state.round,
        middle=state.middle,
        limit=state.limit,
        half_losers=state.half_losers,
        loser=state.loser,
        last_round=state.last_round,
    )


def _waiting_for(state: State, turn: str | None) -> tuple[str, ...]:
    if state.phase == "uncovering":
        return state.blind
    return (turn,) if turn else ()
