"""The fewest settlements that clear the debts of an asset, and which notes each of them cancels. Pure.

Whoever owes more than it is owed pays, whoever is owed more is paid; everybody else only stood between. Groups of
payers and paid that come out even among themselves need one settlement less than they have members, so the fewest
settlements come from the most such groups. Finding them is hard in general (it is a subset-sum problem): it is done
exactly for up to `EXACT_MAX` characters after those who come out even in twos, and the largest pays the largest
beyond. Either way an asset takes at most as many settlements as there are such characters, less one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from ledger.plans import CancelledNote, Circle, PlannedSettlement
from projections.explained import Explained

EXACT_MAX = 16
"""Characters for whom all groups are looked at: 2^16 of them, about 0.1 s."""


class Owing(Struct, frozen=True):
    """What `debtor` owes `creditor`: notes in its purse."""

    debtor: str
    creditor: str
    asset: str
    amount: int


class AssetPlan(Struct, frozen=True):
    """How one asset's debts are cleared. `fewest`: it is certain that no fewer settlements would do."""

    asset: str
    settlements: tuple[PlannedSettlement, ...]
    circles: tuple[Circle, ...]
    fewest: bool


def simplified(debts: Iterable[Owing]) -> Sequence[AssetPlan]:
    """A plan for each asset, by name."""
    by_asset: dict[str, list[Owing]] = {}
    for debt in debts:
        by_asset.setdefault(debt.asset, []).append(debt)
    return [_plan(asset, by_asset[asset]) for asset in sorted(by_asset)]


def _plan(asset: str, debts: Sequence[Owing]) -> AssetPlan:
    nets: dict[str, int] = {}
    for debt in debts:
        nets[debt.debtor] = nets.get(debt.debtor, 0) - debt.amount
        nets[debt.creditor] = nets.get(debt.creditor, 0) + debt.amount
    known = {(debt.debtor, debt.creditor) for debt in debts}
    groups, fewest = _groups({character: net for character, net in sorted(nets.items()) if net}, known)
    payments = sorted(payment for group in groups for payment in _payments(group, known))
    # Everybody who pays does so once, and everybody who is paid: it never takes less.
    fewest |= len(payments) == max(len({payer for payer, _, _ in payments}), len({paid for _, paid, _ in payments}))
    explained = Explained(_notes(debts), payments)
    settlements = [
        PlannedSettlement(payer, receiver, asset, amount, _cancelled(notes))
        for (payer, receiver, amount), notes in zip(payments, explained.lines, strict=True)
    ]
    circles = [Circle(asset, _cancelled(notes)) for notes in explained.circles]
    return AssetPlan(asset, tuple(settlements), tuple(circles), fewest)


def _notes(debts: Iterable[Owing]) -> Mapping[tuple[str, str], int]:
    notes: dict[tuple[str, str], int] = {}
    for debt in debts:
        notes[debt.debtor, debt.creditor] = notes.get((debt.debtor, debt.creditor), 0) + debt.amount
    return notes


def _cancelled(notes: Mapping[tuple[str, str], int]) -> tuple[CancelledNote, ...]:
    return tuple(CancelledNote(debtor, creditor, amount) for (debtor, creditor), amount in notes.items())


# ---- who belongs together ----

Nets = Mapping[str, int]
Pairs = set[tuple[str, str]]


def _groups(nets: Nets, known: Pairs) -> tuple[list[Nets], bool]:
    """Groups that come out even, as many as can be found, and whether there can be no more.

    Two that come out even are always a group of their own in some best grouping: parting them from others leaves
    those even too.
    """
    left = dict(nets)
    groups: list[Nets] = []
    for payer, receiver in _even_pairs(nets, known):
        if payer in left and receiver in left:
            groups.append({payer: left.pop(payer), receiver: left.pop(receiver)})
    if len(left) <= EXACT_MAX:
        return [*groups, *_most_groups(left)], True
    return [*groups, left], False


def _even_pairs(nets: Nets, known: Pairs) -> Iterator[tuple[str, str]]:
    """Who owes what another is owed; those first who hold each other's notes."""
    owed: dict[int, list[str]] = {}
    for character, net in nets.items():
        owed.setdefault(net, []).append(character)
    yield from sorted(pair for pair in known if nets.get(pair[0], 0) < 0 and nets[pair[0]] == -nets.get(pair[1], 0))
    for net, payers in owed.items():
        if net < 0:
            for payer in payers:
                yield from ((payer, receiver) for receiver in owed.get(-net, ()))


def _most_groups(nets: Nets) -> Iterator[Nets]:
    """All subsets, each a bit a character: the most groups into which a subset and its predecessors fall."""
    names = list(nets)
    count = 1 << len(names)
    sums, most, last = [0] * count, [0] * count, [0] * count
    for subset in range(1, count):
        low = subset & -subset
        sums[subset] = sums[subset ^ low] + nets[names[low.bit_length() - 1]]
        rest = subset
        best, without = -1, 0
        while rest:
            bit = rest & -rest
            rest ^= bit
            if most[subset ^ bit] > best:
                best, without = most[subset ^ bit], bit
        most[subset], last[subset] = best + (sums[subset] == 0), without
    group: dict[str, int] = {}
    subset = count - 1
    while subset:
        bit = last[subset]
        name = names[bit.bit_length() - 1]
        group[name] = nets[name]
        subset ^= bit
        if sums[subset] == 0:
            yield group
            group = {}


# ---- who pays whom ----


def _payments(group: Nets, known: Pairs) -> Iterator[tuple[str, str, int]]:
    """One less than the group has members, at most: each payment makes at least one of the two quit."""
    left = dict(group)
    while left:
        payer = min(left, key=lambda character: (left[character], character))
        # Whoever holds the payer's notes, if there is one: people like to pay whom they owe.
        receiver = max(
            (character for character in left if left[character] > 0),
            key=lambda character: ((payer, character) in known, left[character], character),
        )
        amount = min(-left[payer], left[receiver])
        yield payer, receiver, amount
        for character, change in ((payer, amount), (receiver, -amount)):
            left[character] += change
            if not left[character]:
                del left[character]
