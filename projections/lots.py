"""How old a debt is: notes as lots that remember the event which issued them, whatever hands they go through.

The rules, in the order in which they apply (pure, from the postings and from which event a reversal names):

1. A posting out of `debtor/D` issues a lot; its origin is that event. Lots of one origin in one account are one.
2. What leaves an account leaves the oldest first, by the position of its origin. So what is settled or forgiven in
   part is the oldest part, and what is handed on, staked or won keeps its age.
3. A reversal takes back the very lots that its original moved, as far as they still lie where it put them, and the
   oldest for the rest; what it brings back from `debtor/D` has the age that it had.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ledger.money import debtor, note_parts

Lying = Mapping[tuple[str, str], Mapping[int, int]]
"""By asset (`iou/D/ASSET`) and account: amounts by the position of the event that issued them, oldest first."""


class NoteMove(Struct, frozen=True):
    """A posting of notes. `reverses`: the position of the event that this one reverses, None if it is no reversal."""

    position: int
    asset: str
    from_: str
    to: str
    amount: int
    reverses: int | None = None


def lying(moves: Iterable[NoteMove]) -> Lying:
    """Where the notes lie after all `moves`, which come in the order of the journal from its first on."""
    moves = list(moves)
    fold = _Fold({move.reverses for move in moves if move.reverses is not None})
    for move in moves:
        fold.add(move)
    return {key: dict(sorted(lots.items())) for key, lots in fold.lots.items() if lots}


class _Fold:
    """`lots` as far as the moves were added. What events moved is remembered of those that are reversed later."""

    def __init__(self, reversed_: set[int]) -> None:
        self.lots: dict[tuple[str, str], dict[int, int]] = {}
        self._reversed = reversed_
        self._moved: dict[tuple[int, str, str, str], dict[int, int]] = {}

    def add(self, move: NoteMove) -> None:
        home = debtor(note_parts(move.asset)[0])
        # What the original moved the other way, and has not been taken back by a posting before this one.
        original = self._moved.get((move.reverses, move.asset, move.to, move.from_), {}) if move.reverses else {}
        if move.from_ == home:
            taken = _taken(original, move.amount, original)
            if rest := move.amount - sum(taken.values()):
                taken[move.position] = rest
        else:
            taken = _taken(self.lots.setdefault((move.asset, move.from_), {}), move.amount, original)
        if move.to != home:
            _put(self.lots.setdefault((move.asset, move.to), {}), taken)
        if move.position in self._reversed:
            _put(self._moved.setdefault((move.position, move.asset, move.from_, move.to), {}), taken)


def _taken(lots: dict[int, int], amount: int, preferred: Mapping[int, int]) -> dict[int, int]:
    """Up to `amount` out of `lots`: the preferred first, as far as they go, then the oldest."""
    taken: dict[int, int] = {}

    def take(origin: int, most: int) -> None:
        nonlocal amount
        part = min(amount, most, lots.get(origin, 0))
        if part:
            amount -= part
            taken[origin] = taken.get(origin, 0) + part
            lots[origin] -= part
            if not lots[origin]:
                del lots[origin]

    for origin, most in sorted(preferred.items()):
        take(origin, most)
    for origin in sorted(lots) if amount else ():
        take(origin, amount)
        if not amount:
            break
    return taken


def _put(lots: dict[int, int], more: Mapping[int, int]) -> None:
    for origin, amount in more.items():
        lots[origin] = lots.get(origin, 0) + amount
