"""What a table's history tells beside its view: rounds that are over, and dice that everybody has seen.

Both follow from one event and the table as it was before it, so they can be derived again from the journal alone.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from ledger.games.table import TableState


class Round(Struct, frozen=True, kw_only=True, tag_field="game"):
    """What came of one round, in whatever a game calls a round; each game has its own, with its name as the tag."""


class SeenDie(Struct, frozen=True):
    """A die that was thrown openly or uncovered, and the face that it showed.

    `die`: which of the game's dice, so that those with the same faces are counted together.
    """

    die: str
    face: str


def no_round(before: Any, event: Any) -> None:
    """For a game without rounds."""
    return None


def no_dice(before: Any, event: Any) -> Iterable[SeenDie]:
    """For a game without dice."""
    return ()


def other_of_two(state: TableState) -> str | None:
    """Who has lost: of two seats the one that has not won. Of more nobody in particular has."""
    if state.winner is None or len(state.seats) != 2:
        return None
    return next(seat for seat in state.seats if seat != state.winner)
