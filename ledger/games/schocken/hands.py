"""What three dice are worth: rules/schocken.md, "Hands"."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

HandName = Literal["normal", "straight", "general", "schock", "schock_aus"]

RANKS: Mapping[HandName, int] = {"normal": 0, "straight": 1, "general": 2, "schock": 3, "schock_aus": 4}


class Hand(Struct, frozen=True):
    """What a hand is, and how high among its like: `height` compares with hands of the same name only."""

    name: HandName
    height: tuple[int, ...]

    @property
    def strength(self) -> tuple[int, tuple[int, ...]]:
        """Compares with that of any other hand; equal for equal hands."""
        return RANKS[self.name], self.height

    @property
    def is_hand_schock(self) -> bool:
        return self.name == "schock_aus" and self.height == HAND_SCHOCK

    @property
    def lids(self) -> int | None:
        """How many lids the lowest hand takes where this one is the highest; None: all of them."""
        match self.name:
            case "normal":
                return 1
            case "straight":
                return 2
            case "general":
                return 3
            case "schock":
                return self.height[0]
            case "schock_aus":
                return None


PUT_TOGETHER, HAND_SCHOCK = (0,), (1,)
"""How high a schock aus is among its like."""


def hand_of(dice: Sequence[int], *, in_one_throw: bool) -> Hand:
    """`in_one_throw`: nothing was kept in the throw that gave the last dice."""
    high, middle, low = sorted(dice, reverse=True)
    if high == 1:
        return Hand("schock_aus", HAND_SCHOCK if in_one_throw else PUT_TOGETHER)
    if middle == 1:
        return Hand("schock", (high,))
    if in_one_throw and high == middle == low:
        return Hand("general", (high,))
    if in_one_throw and high == middle + 1 == low + 2:
        return Hand("straight", (high,))
    return Hand("normal", (high, middle, low))
