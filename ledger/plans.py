"""Settling many notes at once: a plan says who pays whom, and exactly which notes are cancelled by it.

A plan changes nobody's net position: in each asset, what somebody pays and gets is what the cancelled notes say that
it owes and is owed. Of a promise nothing is paid: it was kept. Source: rules/ledger.md, "Notes"; design/API.md.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from msgspec import Struct

from ledger.errors import Malformed, SameAccount, WrongKind
from ledger.messages import Command, Draft, Event, Memo, Moved, Posting, Slug
from ledger.money import Till, purse


class CancelledNote(Struct, frozen=True, forbid_unknown_fields=True):
    """`amount` of the notes of `debtor` that `creditor` holds; they go back to the debtor."""

    debtor: Slug
    creditor: Slug
    amount: Moved


class PlannedSettlement(Struct, frozen=True, forbid_unknown_fields=True):
    """`debtor` pays `creditor`. `cancels`: the debtor's own notes that this clears, and those of who stands between."""

    debtor: Slug
    creditor: Slug
    asset: Slug
    amount: Moved
    cancels: tuple[CancelledNote, ...]


class Circle(Struct, frozen=True, forbid_unknown_fields=True):
    """Notes of characters who owe one another in a circle: they cancel out and nobody pays."""

    asset: Slug
    cancels: tuple[CancelledNote, ...]


class SettlePlan(Command, frozen=True, kw_only=True, tag_field="command", tag="settlement_plan"):
    """Carry out a plan in one event, all of it or nothing. `plan` and `circles` as the simplified debts have them."""

    plan: tuple[PlannedSettlement, ...]
    circles: tuple[Circle, ...] = ()
    memo: Memo | None = None


class NotePlanSettled(Event, frozen=True, kw_only=True):
    """Notes were settled by a plan. The postings are the payments in its order, then the notes that went back."""

    TYPE: ClassVar[str] = "note.plan_settled.v1"
    plan: tuple[PlannedSettlement, ...]
    circles: tuple[Circle, ...]
    memo: str | None


# ---- decide ----


def require_balanced(command: SettlePlan) -> None:
    """Raises Malformed for what is no plan: nothing to cancel, or somebody's net position would change."""
    cancelled = list(_cancelled(command))
    if not cancelled:
        raise Malformed("the plan cancels no notes: there is nothing to carry out", "/plan")
    gains: dict[tuple[str, str], int] = {}

    def gain(asset: str, character: str, amount: int) -> None:
        gains[asset, character] = gains.get((asset, character), 0) + amount

    for line in command.plan:
        gain(line.asset, line.debtor, -line.amount)
        gain(line.asset, line.creditor, line.amount)
    for asset, note in cancelled:
        gain(asset, note.debtor, note.amount)
        gain(asset, note.creditor, -note.amount)
    for (asset, character), gained in gains.items():
        if gained:
            how = f"{gained} better" if gained > 0 else f"{-gained} worse"
            raise Malformed(
                f"{character} would be {how} off in {asset}: a plan takes from nobody and gives to nobody",
                "/plan",
            )


def characters(command: SettlePlan) -> Iterator[str]:
    """Everybody whom the plan names."""
    for line in command.plan:
        yield from (line.debtor, line.creditor)
    for _, note in _cancelled(command):
        yield from (note.debtor, note.creditor)


def settled(till: Till, command: SettlePlan) -> Draft:
    """What comes of a balanced plan of known characters.

    Raises UnknownAsset; SameAccount; WrongKind; InsufficientFunds and BalanceOverflow; NotOwed.
    """
    cancelled = list(_cancelled(command))
    kinds = {asset: till.kind(asset) for asset in [line.asset for line in command.plan] + [a for a, _ in cancelled]}
    for one, other in [*((line.debtor, line.creditor) for line in command.plan), *_ends(cancelled)]:
        if one == other:
            raise SameAccount(f"{one} stands on both sides: two different characters are needed")
    for asset, kind in kinds.items():
        if kind == "internal":
            raise WrongKind(f"{asset} cannot be owed: only the service moves it")
    paid = [
        till.move(purse(line.debtor), purse(line.creditor), line.asset, line.amount, why="the plan takes")
        for line in command.plan
        if kinds[line.asset] == "token"
    ]
    event = NotePlanSettled(plan=command.plan, circles=command.circles, memo=command.memo)
    return Draft(event, (*paid, *_taken_back(till, cancelled)))


def _taken_back(till: Till, cancelled: Iterable[tuple[str, CancelledNote]]) -> tuple[Posting, ...]:
    """One posting for all notes of one debtor, creditor and asset, in the order in which they are named first."""
    sums: dict[tuple[str, str, str], int] = {}
    for asset, note in cancelled:
        key = (note.creditor, note.debtor, asset)
        sums[key] = sums.get(key, 0) + note.amount
    return tuple(till.take_back(*key, amount) for key, amount in sums.items())


def _cancelled(command: SettlePlan) -> Iterator[tuple[str, CancelledNote]]:
    parts: tuple[PlannedSettlement | Circle, ...] = (*command.plan, *command.circles)
    return ((part.asset, note) for part in parts for note in part.cancels)


def _ends(cancelled: Iterable[tuple[str, CancelledNote]]) -> Iterator[tuple[str, str]]:
    return ((note.debtor, note.creditor) for _, note in cancelled)
