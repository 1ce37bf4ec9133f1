"""Rolling for who begins, as Skuggkast and Tåkespillet do it.

Each seat rolls once, in any order; the highest begins. Where the highest is shared, those who share it roll
again, until one is left.
"""

from collections.abc import Mapping
from typing import ClassVar

from msgspec import Struct

from ledger.errors import Refused
from ledger.messages import Event


class AlreadyRolled(Refused):
    """Each seat rolls once in each round of the roll-off"""

    code = "already_rolled"


class RolledOff(Event, frozen=True, kw_only=True):
    """A seat rolled for the start."""

    TYPE: ClassVar[str] = "table.rolled_off.v1"
    seat: str
    number: int


class RollOff(Struct, frozen=True):
    """The present round of rolling: who takes part, and who has rolled what."""

    contenders: tuple[str, ...]
    rolls: Mapping[str, int] = {}

    @property
    def waiting_for(self) -> tuple[str, ...]:
        return tuple(seat for seat in self.contenders if seat not in self.rolls)

    def require_unrolled(self, seat: str) -> None:
        """Raises AlreadyRolled, also for a seat that is no longer in the running."""
        if seat in self.rolls:
            raise AlreadyRolled(f"{seat} has rolled {self.rolls[seat]}; waiting for {', '.join(self.waiting_for)}")
        if seat not in self.contenders:
            raise AlreadyRolled(f"only those who share the highest roll again: {', '.join(self.waiting_for)}")

    def rolled(self, seat: str, number: int) -> "RollOff":
        return RollOff(self.contenders, {**self.rolls, seat: number})._judged()

    def without(self, seat: str) -> "RollOff":
        """The seat's number goes with it and the rest are judged without it."""
        contenders = tuple(c for c in self.contenders if c != seat)
        return RollOff(contenders, {c: n for c, n in self.rolls.items() if c != seat})._judged()

    def _judged(self) -> "RollOff":
        if self.waiting_for or not self.rolls:
            return self
        highest = max(self.rolls.values())
        sharing = tuple(seat for seat in self.contenders if self.rolls[seat] == highest)
        return RollOff(sharing, {} if len(sharing) > 1 else self.rolls)

    @property
    def starter(self) -> str | None:
        """Who begins, once one is left."""
        return self.contenders[0] if len(self.contenders) == 1 else None
