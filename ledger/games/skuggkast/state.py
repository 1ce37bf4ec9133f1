"""A table of Skuggkast: its state, how events change it, and what everybody may see of it."""

from collections.abc import Mapping
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from ledger.games.rolloff import RolledOff, RollOff
from ledger.games.skuggkast.messages import (
    ClaimAccepted,
    ClaimBelieved,
    ClaimChallenged,
    ClaimJudged,
    ClaimMade,
    ClaimStood,
    Dice,
    Left,
    Opened,
    Rebought,
    Rolled,
    Rules,
    Shadow,
    SkuggkastEvent,
    Symbol,
)
from ledger.games.table import TableState, TableView, begun, shown
from ledger.messages import Posting, Sealed

# ---- state ----


class Player(Struct, frozen=True):
    """What a seat has reached."""

    casts: tuple[str, ...] = ()
    count: int = 0
    in_contention: bool = True
    misses_turn: bool = False
    burnt: int = 0


class Said(Struct, frozen=True):
    """The claim that the table waits to judge. `proved`: the dice were seen, and it is true."""

    claimed: Dice
    believed: tuple[str, ...] = ()
    challenger: str | None = None
    deposit: tuple[Posting, ...] = ()
    proved: bool = False


class State(TableState, frozen=True, kw_only=True):
    """`cup`: what lies hidden this turn. `raised`: this turn's raise is paid, or there is none."""

    rules: Rules
    players: Mapping[str, Player]
    roll_off: RollOff | None = None
    active: str | None = None
    raised: bool = False
    cup: Sealed | None = None
    claim: Said | None = None

    @property
    def seated(self) -> tuple[str, ...]:
        left = frozenset(self.left)
        return tuple(seat for seat in self.seats if seat not in left)

    @property
    def unanswered(self) -> tuple[str, ...]:
        believed = frozenset(self.claim.believed if self.claim else ())
        return tuple(seat for seat in self.seated if seat != self.active and seat not in believed)

    @property
    def somebody_can_win(self) -> bool:
        """Rule 12: with a rebuy everybody still can."""
        return self.rules.after_lie == "rebuy" or any(self.players[seat].in_contention for seat in self.seated)

    @property
    def has_ended(self) -> bool:
        """Somebody has won, one seat is left, or nobody can win: the table closes with the same action."""
        reached = any(player.count >= self.rules.target for player in self.players.values())
        return reached or len(self.seated) == 1 or not self.somebody_can_win


# ---- evolve ----


def begin(opened: Opened) -> State:
    starter = opened.rules.starter
    return State(
        **begun(opened),
        phase="roll_off" if starter is None else "turn",
        rules=opened.rules,
        players={seat: Player() for seat in opened.seats},
        roll_off=RollOff(opened.seats) if starter is None else None,
        active=starter,
        raised=opened.rules.turn_raise == 0,
    )


def evolve(state: State, event: SkuggkastEvent, postings: tuple[Posting, ...]) -> State:
    match event:
        case RolledOff():
            assert state.roll_off is not None
            return _rolled_off(state, state.roll_off.rolled(event.seat, event.number))
        case Rolled():
            return replace(state, phase="claim", cup=event.sealed[0], raised=True)
        case ClaimMade():
            return replace(state, phase="response", claim=Said(event.claimed), raised=True)
        case ClaimBelieved():
            assert state.claim is not None
            return replace(state, claim=replace(state.claim, believed=(*state.claim.believed, event.seat)))
        case ClaimAccepted():
            return state
        case ClaimChallenged():
            assert state.claim is not None
            claim = replace(state.claim, challenger=event.seat, deposit=postings)
            return replace(state, phase="reveal", claim=claim)
        case ClaimJudged():
            return _judged(state, event)
        case ClaimStood():
            player = state.players[event.seat]
            if event.counts:
                player = replace(player, casts=(*player.casts, event.cast), count=player.count + event.counts)
            return _next_turn(_with_player(state, event.seat, player))
        case Rebought():
            raised = state.raised or event.seat == state.active
            player = replace(state.players[event.seat], in_contention=True)
            return replace(_with_player(state, event.seat, player), raised=raised)
        case Left():
            state = replace(state, left=(*state.left, event.seat))
            if state.roll_off is not None:
                return _rolled_off(state, state.roll_off.without(event.seat))
            return _next_turn(state) if event.seat == state.active else state
        case _:
            assert_never(event)


def _rolled_off(state: State, roll_off: RollOff) -> State:
    if roll_off.starter is None:
        return replace(state, roll_off=roll_off)
    return replace(state, phase="turn", roll_off=None, active=roll_off.starter)


def _judged(state: State, event: ClaimJudged) -> State:
    if event.misses_turn and event.challenger is not None:
        state = _with_player(state, event.challenger, replace(state.players[event.challenger], misses_turn=True))
    if event.verdict == "true":
        assert state.claim is not None
        return replace(state, cup=None, claim=replace(state.claim, proved=True))
    player = state.players[event.seat]
    if event.falls_out:
        player = replace(player, in_contention=False, burnt=player.burnt + event.burnt)
    return _next_turn(_with_player(state, event.seat, player))


def _with_player(state: State, seat: str, player: Player) -> State:
    return replace(state, players={**state.players, seat: player})


def _next_turn(state: State) -> State:
    """Rule 10: clockwise to the next seat at the table; who must miss a turn misses it, once.

    Where the game has ended (rules 9, 11 and 12) the turn is nobody's, and nobody misses one.
    """
    assert state.active is not None, "a turn passes from somebody"
    if state.has_ended:
        return replace(state, phase="turn", active=None, cup=None, claim=None)
    at, players = state.seats.index(state.active), dict(state.players)
    seats = (*state.seats[at + 1 :], *state.seats[: at + 1])
    for seat in (*seats, *seats):
        if seat in state.left:
            continue
        if not players[seat].misses_turn:
            state = replace(state, active=seat, players=players)
            break
        players[seat] = replace(players[seat], misses_turn=False)
    return replace(state, phase="turn", raised=state.rules.turn_raise == 0, cup=None, claim=None)


# ---- view ----


class SeatView(Struct, frozen=True, kw_only=True):
    """`casts`: what was counted, such as star-5-neutral."""

    character: str
    casts: tuple[str, ...]
    count: int
    in_contention: bool
    misses_turn: bool
    left: bool


class ClaimView(Struct, frozen=True, kw_only=True):
    """The claim that is open: what was said, who has believed it, who challenged it."""

    seat: str
    symbol: Symbol
    number: int
    shadow: Shadow
    believed: tuple[str, ...]
    challenger: str | None


class View(TableView, frozen=True, kw_only=True, tag="skuggkast"):
    """A table of Skuggkast. `rolls`: the present round of rolling for the start, in phase roll_off."""

    rules: Rules
    seats: tuple[SeatView, ...]
    claim: ClaimView | None
    rolls: Mapping[str, int] | None


def view(state: State) -> View:
    claim, players = state.claim, state.players
    turn = None if state.is_over else state.active
    return View(
        **shown(state),
        turn=turn,
        waiting_for=() if state.is_over else _waiting_for(state),
        rules=state.rules,
        seats=tuple(
            SeatView(
                character=seat,
                casts=players[seat].casts,
                count=players[seat].count,
                in_contention=players[seat].in_contention,
                misses_turn=players[seat].misses_turn,
                left=seat in state.left,
            )
            for seat in state.seats
        ),
        claim=None
        if claim is None or turn is None
        else ClaimView(
            seat=turn,
            symbol=claim.claimed.symbol,
            number=claim.claimed.number,
            shadow=claim.claimed.shadow,
            believed=claim.believed,
            challenger=claim.challenger,
        ),
        rolls=state.roll_off.rolls if state.roll_off and not state.is_over else None,
    )


def _waiting_for(state: State) -> tuple[str, ...]:
    if state.roll_off is not None:
        return state.roll_off.waiting_for
    if state.phase == "response":
        return state.unanswered
    return (state.active,) if state.active else ()
