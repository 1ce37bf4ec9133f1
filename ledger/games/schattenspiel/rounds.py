"""What came of each round at a table of Schattenspiel. There are no dice."""

from collections.abc import Mapping
from typing import assert_never

from ledger.games.rounds import Round
from ledger.games.schattenspiel.messages import (
    Hand,
    HandShown,
    Reason,
    Resigned,
    RoundJudged,
    SchattenspielEvent,
)
from ledger.games.schattenspiel.state import State


class SchattenspielRound(Round, frozen=True, kw_only=True, tag="schattenspiel"):
    """Two hands and who won. `counted` false: annulled, and played again. `round`: counted rounds only."""

    round: int
    hands: Mapping[str, Hand]
    winner: str | None
    reason: Reason
    counted: bool


def finished(before: State, event: SchattenspielEvent) -> SchattenspielRound | None:
    """Every round that was judged, annulled ones too (rule 2)."""
    match event:
        case RoundJudged():
            return SchattenspielRound(
                round=before.counted + 1,
                hands=event.hands,
                winner=event.winner,
                reason=event.reason,
                counted=event.counted,
            )
        case HandShown() | Resigned():
            return None
        case _:
            assert_never(event)
