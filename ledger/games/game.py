"""What a game is to the rest of the service: eight pieces, and the fold that joins them to what tables share.

A game may also tell which rounds are over and which dice were seen, for whoever looks back (see `rounds`).
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ledger.errors import Malformed
from ledger.games.play import Play, Setting
from ledger.games.rounds import Round, SeenDie, no_dice, no_round, other_of_two
from ledger.games.table import (
    Action,
    Opening,
    TableClosed,
    TableOpened,
    TableState,
    TableView,
    TableVoided,
    after_postings,
)
from ledger.messages import Decision, Event, Posting
from ledger.recorded import Upcaster

S = TypeVar("S", bound=TableState)


class Game(Struct, Generic[S], frozen=True, kw_only=True):
    """One game. `events` holds every event of its own, the opening included; `actions` every action.

    `upcasters`: how events of its old versions, which are not among `events` any more, are read.
    """

    name: str
    opening: type[Opening]
    actions: tuple[type[Action], ...]
    events: tuple[type[Event], ...]
    state: type[S]
    view_type: type[TableView]
    open: Callable[[Play[S], Any], None]
    begin: Callable[[Any], S]
    decide: Callable[[Play[S], Any], None]
    evolve: Callable[[S, Any, tuple[Posting, ...]], S]
    view: Callable[[S], TableView]
    upcasters: tuple[Upcaster, ...] = ()
    round_type: type[Round] | None = None
    round: Callable[[S, Any], Round | None] = no_round
    dice: Callable[[S, Any], Iterable[SeenDie]] = no_dice
    loser: Callable[[S], str | None] = other_of_two

    def fold(
        self,
        state: S | None,
        event: Event,
        postings: tuple[Posting, ...],
        *,
        at: datetime | None = None,
        position: int = 0,
    ) -> S:
        """The table after one event. It never refuses: what was decided happened.

        The money is moved first, so `evolve` sees what lies on the table after the event.
        """
        if isinstance(event, TableOpened):
            state = replace(self.begin(event), opened_at=at)
        assert state is not None, "the first event of a table opens it"
        state = replace(after_postings(state, postings), position=position)
        match event:
            case TableOpened():
                return state
            case TableClosed():
                return replace(state, phase="closed", winner=event.winner, closed_at=at)
            case TableVoided():
                return replace(state, phase="voided", closed_at=at, void_reason=event.reason)
            case _:  # the game's own, over which its `evolve` matches exhaustively
                return self.evolve(state, event, postings)

    def decide_opening(self, opening: Opening, setting: Setting) -> Decision:
        """What opens the table. Raises a Refused."""
        play: Play[S] = Play(self, None, setting)
        self.open(play, opening)
        return play.decision()

    def decide_action(self, state: S, action: Action, setting: Setting) -> Decision:
        """What comes of an action at an open table. Raises a Refused, and then nothing happened."""
        if type(action) not in self.actions:
            raise Malformed(f"{self.name} has no such action", pointer="/action")
        play = Play(self, state, setting)
        self.decide(play, action)
        return play.decision()

    def decide_void(self, state: S, reason: str, setting: Setting) -> Decision:
        play = Play(self, state, setting)
        play.void(reason)
        return play.decision()

    # ---- looking back ----

    def finished(self, before: S | None, event: Event) -> Round | None:
        """The round that is over with this event, if one is. `before`: the table before it."""
        return None if before is None or _is_shared(event) else self.round(before, event)

    def seen(self, before: S | None, event: Event) -> Iterable[SeenDie]:
        """The dice that everybody sees since this event."""
        return () if before is None or _is_shared(event) else self.dice(before, event)


def _is_shared(event: Event) -> bool:
    """Whether it is one of the events that `fold` takes by itself."""
    return isinstance(event, TableOpened | TableClosed | TableVoided)
