"""What came of each claim at a table of Skuggkast, and the dice that were seen. The numbers are the rules'."""

from collections.abc import Iterable
from typing import Literal, assert_never

from ledger.games.rolloff import RolledOff
from ledger.games.rounds import Round, SeenDie
from ledger.games.skuggkast.messages import (
    ClaimAccepted,
    ClaimBelieved,
    ClaimChallenged,
    ClaimJudged,
    ClaimMade,
    ClaimStood,
    Dice,
    Left,
    Rebought,
    Rolled,
    SkuggkastEvent,
)
from ledger.games.skuggkast.state import State


class SkuggkastRound(Round, frozen=True, kw_only=True, tag="skuggkast"):
    """A claim and what came of it. `counts`: by how much, 0 if it changed nothing.

    `dice`: as they were seen, null where nobody saw them. `verdict` believed: they were not looked at.
    """

    seat: str
    claimed: Dice
    challenger: str | None
    dice: Dice | None
    verdict: Literal["believed", "true", "lie", "guardian"]
    counts: int


def finished(before: State, event: SkuggkastEvent) -> SkuggkastRound | None:
    """A claim that stands, or did not (rules 5 and 6). One that lapsed when its seat left is no round."""
    claim = before.claim
    match event:
        case ClaimStood():
            assert claim is not None, "only a claim stands"
            return SkuggkastRound(
                seat=event.seat,
                claimed=claim.claimed,
                challenger=claim.challenger,
                dice=claim.claimed if claim.proved else None,
                verdict="true" if claim.proved else "believed",
                counts=event.counts,
            )
        case ClaimJudged(verdict="lie" | "guardian"):
            assert claim is not None, "only a claim is judged"
            return SkuggkastRound(
                seat=event.seat,
                claimed=claim.claimed,
                challenger=event.challenger,
                dice=event.dice,
                verdict=event.verdict,
                counts=0,
            )
        case ClaimJudged() | RolledOff() | Rolled() | ClaimMade() | ClaimBelieved() | ClaimAccepted():
            return None
        case ClaimChallenged() | Rebought() | Left():
            return None
        case _:
            assert_never(event)


def dice_seen(before: State, event: SkuggkastEvent) -> Iterable[SeenDie]:
    """The dice of the roll-off, and those of a roll that was looked at. The two sets have dice of their own.

    Cups that nobody lifts stay unseen, and bluffs are looked at more often than truths: faces that are claimed
    gladly are seen less often than they are thrown.
    """
    match event:
        case RolledOff():
            return (SeenDie("number", str(event.number)),)
        case ClaimJudged(dice=Dice() as dice):
            symbol, shadow = ("rune", "rune_shadow") if before.rules.dice_set == "runes" else ("symbol", "shadow")
            return (SeenDie(symbol, dice.symbol), SeenDie("number", str(dice.number)), SeenDie(shadow, dice.shadow))
        case ClaimJudged() | Rolled() | ClaimMade() | ClaimBelieved() | ClaimAccepted() | ClaimChallenged():
            return ()
        case ClaimStood() | Rebought() | Left():
            return ()
        case _:
            assert_never(event)
