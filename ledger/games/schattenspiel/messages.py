"""What can be said at a table of Schattenspiel, what is recorded of it, and what is refused.

Rules, actions, events, refusals. The numbers are those of rules/schattenspiel.md.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from ledger.errors import Refused
from ledger.games.play import words
from ledger.games.table import Action, Opening, SealsValues, SeatAction, TableOpened, UncoversValues
from ledger.messages import Event, Memo, Slug

# ---- rules ----

Sign = Literal["shadow", "rift", "light"]
Call = Literal["low", "high"]
Reason = Literal["discipline", "double_shadow", "break_value", "call", "dominance", "drawn"]

VALUE: Mapping[Sign, int] = {"shadow": 0, "rift": 2, "light": 5}
BEATS: Mapping[Sign, Sign] = {"shadow": "light", "light": "rift", "rift": "shadow"}
RIGHT: Mapping[Call, tuple[int, ...]] = {"low": (0, 2, 4), "high": (7, 10)}
"""The sums at which a call is right. At 5 no call is."""

FORMATS = ("best_of", "markers", "single")
VARIANTS = ("konklave_nord", "dust_covenant", "feu_werk")
BEST_OF_DEFAULT = 5
BEST_OF_MAX = 99


class Rules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the table agreed on. `best_of` is there in the format of that name only; `matter`: what is decided."""

    format: Annotated[str, words(*FORMATS)] = "best_of"
    best_of: int | UnsetType = UNSET
    variants: tuple[Annotated[str, words(*VARIANTS)], ...] = ()
    matter: Memo = ""

    @property
    def points_to_win(self) -> int | None:
        """Rule 4. None with markers, where points decide nothing (rule 5)."""
        if self.format == "markers":
            return None
        if self.format == "single":
            return 1
        best_of = BEST_OF_DEFAULT if self.best_of is UNSET else self.best_of
        return (best_of + 1) // 2


class Hand(Struct, frozen=True, forbid_unknown_fields=True):
    """What a seat shows and says in one round."""

    sign: Sign
    call: Call


# ---- actions ----


class OpenSchattenspiel(Opening, frozen=True, kw_only=True, tag="schattenspiel"):
    """Open a table of Schattenspiel: 2 seats; a stake if they like, with markers always."""

    rules: Rules = Rules()


class Show(SeatAction, frozen=True, kw_only=True, tag="show"):
    """Show a sign and call the sum; nobody sees it before the other hand is there."""

    sign: Sign
    call: Call


class PlayRound(Action, frozen=True, kw_only=True, tag="round"):
    """Both hands of a round at once, by character. The keeper's or an organiser's."""

    shows: Annotated[Mapping[Slug, Hand], Meta(min_length=2, description="the hand of each seat, by character")]


class Resign(SeatAction, frozen=True, kw_only=True, tag="resign"):
    """Give the game up."""


SchattenspielAction = Show | PlayRound | Resign

# ---- events ----


class Opened(TableOpened, frozen=True, kw_only=True):
    """The stakes are in the pot; markers lie in front of their seats."""

    TYPE: ClassVar[str] = "schattenspiel.opened.v1"
    rules: Rules


class HandShown(SealsValues, frozen=True, kw_only=True):
    """A seat has shown its hand; what it shows stays sealed until the other is there."""

    TYPE: ClassVar[str] = "schattenspiel.hand_shown.v1"
    seat: str


class RoundJudged(UncoversValues, frozen=True, kw_only=True):
    """Both hands are seen. A round that is not `counted` is annulled; one that is gives a point.

    `winner` None in a counted round: both get one. The posting, if any, is the loser's marker.
    """

    TYPE: ClassVar[str] = "schattenspiel.round_judged.v1"
    hands: Mapping[str, Hand]
    winner: str | None
    reason: Reason
    counted: bool


class Resigned(Event, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "schattenspiel.resigned.v1"
    seat: str


SchattenspielEvent = HandShown | RoundJudged | Resigned

# ---- refusals ----


class AlreadyShown(Refused):
    """A seat shows one hand in a round"""

    code = "already_shown"
