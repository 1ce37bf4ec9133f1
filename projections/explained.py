"""Which notes each settlement of a plan cancels, so that every note is cancelled exactly once. Pure.

Notes and payments of a plan come out even for everybody, so the notes fall into chains from somebody who pays to
somebody who is paid, and into circles. A settlement is explained by chains that begin with its payer: those that end
with whom it pays first, and, where the fewest settlements make strangers pay each other, those that end with others.
"""

from collections import deque
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise

Pair = tuple[str, str]
"""Debtor and creditor."""

Notes = Mapping[Pair, int]


class Explained:
    """`lines`: the notes of each payment (payer, receiver, amount), in their order; `circles`: those of no payment."""

    def __init__(self, notes: Notes, payments: Sequence[tuple[str, str, int]]) -> None:
        self._held: dict[str, dict[str, int]] = {}
        for (debtor, creditor), amount in sorted(notes.items()):
            self._held.setdefault(debtor, {})[creditor] = amount
        self._due: dict[str, int] = {}
        for _, receiver, amount in payments:
            self._due[receiver] = self._due.get(receiver, 0) + amount
        lines: list[dict[Pair, int]] = [{} for _ in payments]
        left = []
        for line, (payer, receiver, amount) in zip(lines, payments, strict=True):
            left.append(self._explain(line, payer, amount, {receiver}))
        for line, (payer, _, _), amount in zip(lines, payments, left, strict=True):
            rest = self._explain(line, payer, amount, self._due)
            assert not rest, "from whoever owes more than it is owed a chain leads to whoever is owed more"
        self.lines: Sequence[Notes] = lines
        self.circles: Sequence[Notes] = list(self._circles())

    def _explain(self, line: dict[Pair, int], payer: str, amount: int, ends: Container[str]) -> int:
        """Cancel chains from `payer` to `ends`, up to `amount`. What is left of it."""
        while amount and (chain := self._chain(payer, ends)):
            end = chain[-1][1]
            part = self._cancel(chain, min(amount, self._due[end]))
            amount -= part
            _take(self._due, end, part)
            for pair in chain:
                line[pair] = line.get(pair, 0) + part
        return amount

    def _chain(self, start: str, ends: Container[str]) -> list[Pair]:
        """The shortest way along notes to somebody in `ends` who is still due something; empty if there is none."""
        came_from: dict[str, str] = {start: start}
        waiting = deque([start])
        while waiting:
            debtor = waiting.popleft()
            for creditor in self._held.get(debtor, ()):
                if creditor in came_from:
                    continue
                came_from[creditor] = debtor
                if creditor in ends and creditor in self._due:
                    return list(_way(came_from, creditor))[::-1]
                waiting.append(creditor)
        return []

    def _circles(self) -> Iterator[Notes]:
        """What no chain needed comes out even for everybody: from note to note one always gets back."""
        while self._held:
            way = [next(iter(self._held))]
            while (creditor := next(iter(self._held[way[-1]]))) not in way:
                way.append(creditor)
            around = [*way[way.index(creditor) :], creditor]
            circle = list(pairwise(around))
            amount = self._cancel(circle, min(self._held[debtor][creditor] for debtor, creditor in circle))
            yield dict.fromkeys(circle, amount)

    def _cancel(self, chain: Sequence[Pair], most: int) -> int:
        """Cancel as much as every note of the chain has, up to `most`."""
        amount = min(most, *(self._held[debtor][creditor] for debtor, creditor in chain))
        for debtor, creditor in chain:
            _take(self._held[debtor], creditor, amount)
            if not self._held[debtor]:
                del self._held[debtor]
        return amount


def _way(came_from: Mapping[str, str], end: str) -> Iterator[Pair]:
    """Back from the end to the start."""
    while came_from[end] != end:
        yield came_from[end], end
        end = came_from[end]


def _take(amounts: dict[str, int], key: str, amount: int) -> None:
    amounts[key] -= amount
    if not amounts[key]:
        del amounts[key]
