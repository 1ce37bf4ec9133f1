"""What can be said at a table of Schocken, what is recorded of it, and what is refused.

Rules, actions, events, refusals. Comments name the paragraphs of rules/schocken.md.
"""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from ledger.errors import Refused
from ledger.games.schocken.hands import HandName
from ledger.games.table import Opening, SealsValues, SeatAction, TableOpened, UncoversValues
from ledger.messages import Event

LID = "lid"
DICE = 3
THROWS_MAX = 3

# ---- rules ----

Die = Annotated[int, Meta(ge=1, le=6)]
Half = Literal[1, 2, "final"]


class Forfeit(Struct, frozen=True, forbid_unknown_fields=True):
    """What one seat owes to each other seat; checked when a table is opened."""

    asset: str
    amount: int


class Rules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The variants that the table agreed on. A forfeit that is None is not played for."""

    lids: int = 13
    forfeit: Forfeit = Forfeit("drink", 1)
    dropped_die_forfeit: Forfeit | None = None
    hand_schock_forfeit: Forfeit | None = None
    no_walling: bool = False
    starter: str | None = None


# ---- actions ----


class OpenSchocken(Opening, frozen=True, kw_only=True, tag="schocken"):
    """Open a table of Schocken: 4 to 8 seats, no stake."""

    rules: Rules = Rules()


class Throw(SeatAction, frozen=True, kw_only=True, tag="throw"):
    """Throw all dice, or those that are not kept; the third throw stays under the cup."""

    keep: Annotated[tuple[Die, ...], Meta(description="the values left lying from before, at most 2")] = ()
    dice: Annotated[tuple[Die, ...] | None, Meta(description="what the others show; a third throw may be blind")] = None


class Stand(SeatAction, frozen=True, kw_only=True, tag="stand"):
    """Throw no more in this round."""


class Uncover(SeatAction, frozen=True, kw_only=True, tag="uncover"):
    """Lift the cup from a third throw that nobody wrote down."""

    dice: tuple[Die, ...] | None = None


class Drop(SeatAction, frozen=True, kw_only=True, tag="drop"):
    """Dice fell on the floor: the forfeit falls due."""


SchockenAction = Throw | Stand | Uncover | Drop

# ---- events ----


class Opened(TableOpened, frozen=True, kw_only=True):
    """All lids are in the middle; a forfeit in tokens lies in the pot, once for each other seat."""

    TYPE: ClassVar[str] = "schocken.opened.v1"
    rules: Rules


class Thrown(SealsValues, frozen=True, kw_only=True):
    """A seat threw. `dice` None: they stay under the cup, and nobody wrote them down if nothing is sealed."""

    TYPE: ClassVar[str] = "schocken.thrown.v1"
    seat: str
    keep: tuple[int, ...]
    dice: tuple[int, ...] | None


class Stood(Event, frozen=True, kw_only=True):
    """A seat ended its go before its limit."""

    TYPE: ClassVar[str] = "schocken.stood.v1"
    seat: str


class CupLifted(Event, frozen=True, kw_only=True):
    """What a throw that nobody wrote down shows."""

    TYPE: ClassVar[str] = "schocken.cup_lifted.v1"
    seat: str
    dice: tuple[int, ...]


class DiceDropped(Event, frozen=True, kw_only=True):
    """A seat dropped dice; the postings are what it owes for it."""

    TYPE: ClassVar[str] = "schocken.dice_dropped.v1"
    seat: str


class ShownHand(Struct, frozen=True):
    """What a seat had when the round was scored."""

    seat: str
    dice: tuple[int, ...]
    hand: HandName
    throws: int


class RoundScored(UncoversValues, frozen=True, kw_only=True):
    """All cups are lifted. `hands`: the highest first. The postings are the `lids` that `worst` took."""

    TYPE: ClassVar[str] = "schocken.round_scored.v1"
    best: str
    worst: str
    hand: HandName
    lids: int
    hands: tuple[ShownHand, ...]


class HandSchockOwed(Event, frozen=True, kw_only=True):
    """A seat's hand was a Handschock; the postings are what it owes for it."""

    TYPE: ClassVar[str] = "schocken.hand_schock_owed.v1"
    seat: str


class HalfLost(Event, frozen=True, kw_only=True):
    """A seat has all the lids. `next`: what is played then, all lids in the middle; None: the match is over."""

    TYPE: ClassVar[str] = "schocken.half_lost.v1"
    half: Half
    loser: str
    next: Half | None


class MatchLost(Event, frozen=True, kw_only=True):
    """The match has its loser; the postings are the forfeit, and what the others put down for theirs."""

    TYPE: ClassVar[str] = "schocken.match_lost.v1"
    loser: str


SchockenEvent = Thrown | Stood | CupLifted | DiceDropped | RoundScored | HandSchockOwed | HalfLost | MatchLost

# ---- refusals, in the order in which the rules name them ----


class IllegalThrow(Refused):
    """At most two dice of the hand are kept, and the others are thrown"""

    code = "illegal_throw"


class AlreadyUncovered(Refused):
    """Only a throw that nobody wrote down is uncovered"""

    code = "already_uncovered"


class NothingThrown(Refused):
    """Each seat throws at least once"""

    code = "nothing_thrown"


class Walling(Refused):
    """No other die is kept in place of a one"""

    code = "walling"


class NoSuchRule(Refused):
    """This table does not play by that rule"""

    code = "no_such_rule"


class NotPlaying(Refused):
    """The seat does not play in this round"""

    code = "not_playing"
