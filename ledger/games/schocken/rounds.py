"""What came of each round at a table of Schocken, and the dice that were seen."""

from collections.abc import Iterable
from typing import assert_never

from ledger.games.rounds import Round, SeenDie
from ledger.games.schocken.hands import HandName
from ledger.games.schocken.messages import (
    CupLifted,
    DiceDropped,
    Half,
    HalfLost,
    HandSchockOwed,
    MatchLost,
    RoundScored,
    SchockenEvent,
    ShownHand,
    Stood,
    Thrown,
)
from ledger.games.schocken.state import State


class SchockenRound(Round, frozen=True, kw_only=True, tag="schocken"):
    """All hands of a round, the highest first, and how many lids `worst` took for `best`'s."""

    half: Half
    round: int
    best: str
    worst: str
    hand: HandName
    lids: int
    hands: tuple[ShownHand, ...]


def finished(before: State, event: SchockenEvent) -> SchockenRound | None:
    match event:
        case RoundScored():
            return SchockenRound(
                half=before.half,
                round=before.round,
                best=event.best,
                worst=event.worst,
                hand=event.hand,
                lids=event.lids,
                hands=event.hands,
            )
        case Thrown() | Stood() | CupLifted() | DiceDropped() | HandSchockOwed() | HalfLost() | MatchLost():
            return None
        case _:
            assert_never(event)


def dice_seen(before: State, event: SchockenEvent) -> Iterable[SeenDie]:
    """Each die once for each time it was thrown: open ones when they are, covered ones when the cup is lifted."""
    match event:
        case Thrown(dice=dice) | CupLifted(dice=dice):
            return [SeenDie("die", str(die)) for die in dice or ()]
        case RoundScored():
            return [SeenDie("die", str(die)) for cup in event.uncovered for die in cup.value]
        case Stood() | DiceDropped() | HandSchockOwed() | HalfLost() | MatchLost():
            return ()
        case _:
            assert_never(event)


def loser(state: State) -> str | None:
    return state.loser
