"""What can be said at a table of Skuggkast, what is recorded of it, and what is refused.

Rules, actions, events, refusals. The numbers are those of rules/skuggkast.md.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from ledger.errors import Refused
from ledger.games.play import words
from ledger.games.rolloff import RolledOff
from ledger.games.table import Action, Opening, SealsValues, SeatAction, TableOpened, UncoversValues
from ledger.messages import Event, Name

# ---- rules ----

Die = Annotated[int, Meta(ge=1, le=6)]
Symbol = Literal["star", "sun", "moon", "crown", "sword", "skull", "wind", "fire", "shadows", "earth", "water"]
Shadow = Literal["neutral", "blessed", "cursed", "shadow", "guardian"]

SYMBOLS: Mapping[str, tuple[Symbol, ...]] = {
    "symbols": ("star", "sun", "moon", "crown", "sword", "skull"),
    "runes": ("wind", "fire", "shadows", "star", "earth", "water"),
}
SHADOWS: Mapping[str, tuple[Shadow, ...]] = {
    "symbols": ("neutral", "blessed", "cursed"),
    "runes": ("neutral", "shadow", "guardian"),
}
TARGET_MAX = {"symbols": 18, "runes": 12}


class NamedCast(Struct, frozen=True, forbid_unknown_fields=True):
    """A Skuggkast that counts `bonus` more when it is shown openly."""

    name: Name
    number: int
    shadow: str
    bonus: int


class Rules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The variants that the table agreed on."""

    dice_set: Annotated[str, words("symbols", "runes")] = "symbols"
    medium: Annotated[str, words("dice", "cards")] = "dice"
    target: int = 3
    turn_raise: int = 0
    after_lie: Annotated[str, words("rebuy", "no_rebuy")] = "rebuy"
    burnt_stake: Annotated[str, words("pot", "burnt")] = "pot"
    wrong_challenge_skips_turn: bool = False
    named_casts: tuple[NamedCast, ...] = ()
    starter: str | None = None


class Dice(Struct, frozen=True, forbid_unknown_fields=True):
    """What the three dice show."""

    symbol: Symbol
    number: Die
    shadow: Shadow

    @property
    def is_skuggkast(self) -> bool:
        return self.symbol == "star" and self.shadow != "guardian"

    def __str__(self) -> str:
        return f"{self.symbol}-{self.number}-{self.shadow}"


# ---- actions ----


class OpenSkuggkast(Opening, frozen=True, kw_only=True, tag="skuggkast"):
    """Open a table of Skuggkast: 2 or more seats, a stake."""

    rules: Rules = Rules()


class RollStart(SeatAction, frozen=True, kw_only=True, tag="roll_off"):
    """Roll the number die for who begins."""

    number: Die | None = None


class Roll(SeatAction, frozen=True, kw_only=True, tag="roll"):
    """Roll the three dice under the cup."""

    dice: Dice | None = None


class Claim(SeatAction, frozen=True, kw_only=True, tag="claim"):
    """Say a combination aloud; with `show`, lift the cup at once (named casts only)."""

    symbol: Symbol
    number: Die
    shadow: Shadow
    show: bool = False
    dice: Dice | None = None


class Believe(SeatAction, frozen=True, kw_only=True, tag="believe"):
    """Let the claim pass, as far as this seat goes."""


class Challenge(SeatAction, frozen=True, kw_only=True, tag="challenge"):
    """ "I think you are bluffing!" """


class Accept(Action, frozen=True, kw_only=True, tag="accept"):
    """Nobody challenges: the window closes. The keeper's or an organiser's."""


class Reveal(SeatAction, frozen=True, kw_only=True, tag="reveal"):
    """Show the dice that nobody wrote down, or refuse to."""

    dice: Dice | None = None
    refuse: bool = False

    def __post_init__(self) -> None:
        if self.refuse and self.dice is not None:
            raise ValueError("`refuse` and `dice` exclude each other")  # malformed, when decoded


class Rebuy(SeatAction, frozen=True, kw_only=True, tag="rebuy"):
    """Pay a new stake to be in contention again."""


class Leave(SeatAction, frozen=True, kw_only=True, tag="leave"):
    """Get up from the table; the stakes stay in the pot."""


SkuggkastAction = RollStart | Roll | Claim | Believe | Challenge | Accept | Reveal | Rebuy | Leave

# ---- events ----


class Opened(TableOpened, frozen=True, kw_only=True):
    """Every seat's stake is in the pot."""

    TYPE: ClassVar[str] = "skuggkast.opened.v1"
    rules: Rules


class Rolled(SealsValues, frozen=True, kw_only=True):
    """Three dice lie under the cup. The posting, if any, is the raise."""

    TYPE: ClassVar[str] = "skuggkast.rolled.v1"
    seat: str


class ClaimMade(Event, frozen=True, kw_only=True):
    """A combination was said aloud. `show`: openly. The posting, if any, is the raise."""

    TYPE: ClassVar[str] = "skuggkast.claim_made.v1"
    seat: str
    claimed: Dice
    show: bool


class ClaimBelieved(Event, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "skuggkast.claim_believed.v1"
    seat: str


class ClaimAccepted(Event, frozen=True, kw_only=True):
    """Whoever had not answered lets the claim pass."""

    TYPE: ClassVar[str] = "skuggkast.claim_accepted.v1"


class ClaimChallenged(Event, frozen=True, kw_only=True):
    """A seat does not believe it. The postings, if any, are the stake put up until the dice are revealed."""

    TYPE: ClassVar[str] = "skuggkast.claim_challenged.v1"
    seat: str


class ClaimJudged(UncoversValues, frozen=True, kw_only=True):
    """The dice are seen. `dice` None: the seat would not show. `challenger` None: shown openly.

    `misses_turn`: the challenger misses its next turn. `falls_out`: the claimant is out of contention.
    `burnt`: how many of its tokens the shadows take.
    """

    TYPE: ClassVar[str] = "skuggkast.claim_judged.v1"
    seat: str
    challenger: str | None
    dice: Dice | None
    verdict: Literal["true", "lie", "guardian"]
    misses_turn: bool
    falls_out: bool
    burnt: int


class ClaimStood(Event, frozen=True, kw_only=True):
    """A claim was let pass, or proved true. `counts`: by how much, 0 if it changes nothing."""

    TYPE: ClassVar[str] = "skuggkast.claim_stood.v1"
    seat: str
    cast: str
    counts: int


class Rebought(Event, frozen=True, kw_only=True):
    """A seat is in contention again. On its own turn the first postings may be the raise."""

    TYPE: ClassVar[str] = "skuggkast.rebought.v1"
    seat: str


class Left(Event, frozen=True, kw_only=True):
    """A seat got up. If it was active its claim lapses; the postings, if any, return a challenger's stake."""

    TYPE: ClassVar[str] = "skuggkast.left.v1"
    seat: str


SkuggkastEvent = (
    RolledOff
    | Rolled
    | ClaimMade
    | ClaimBelieved
    | ClaimAccepted
    | ClaimChallenged
    | ClaimJudged
    | ClaimStood
    | Rebought
    | Left
)

# ---- refusals ----


class AlreadyAnswered(Refused):
    """A seat believes a claim once"""

    code = "already_answered"


class OwnClaim(Refused):
    """Nobody answers its own claim"""

    code = "own_claim"


class NoRebuy(Refused):
    """This table knows no rebuy"""

    code = "no_rebuy"


class InContention(Refused):
    """Only a seat that is out of contention buys in again"""

    code = "in_contention"


class NotNamed(Refused):
    """Only a named cast is shown openly"""

    code = "not_named"
