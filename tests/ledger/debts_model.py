"""The money by the sentences of rules/ledger.md, written once more and plainly: what a random evening must agree with.

Accounts are (address, asset) to amount. Every method makes the movements that the rules ask for, or names the code
of the refusal; nothing here knows how the service decides.
"""

from collections.abc import Iterable, Sequence

Move = tuple[str, str, str, int]
"""From, to, asset, amount."""

TOKENS = ("krona", "skruv")
PROMISE = "pint"


class No(Exception):
    """Refused, with this code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Model:
    """Balances, limits and, per position, what moved and whether it can be reversed."""

    def __init__(self, characters: Sequence[str]) -> None:
        self.characters = characters
        self.balances: dict[tuple[str, str], int] = {}
        self.limits: dict[tuple[str, str], int] = {}
        self.moved: dict[int, Sequence[Move]] = {}
        self.reversed: set[int] = set()
        self.tables: dict[str, Table] = {}

    # ---- what is asked ----

    def has(self, account: str, asset: str) -> int:
        return self.balances.get((account, asset), 0)

    def held(self, holder: str, debtor: str, asset: str) -> int:
        return self.has(f"purse/{holder}", f"iou/{debtor}/{asset}")

    def owes(self, debtor: str, asset: str) -> int:
        """All of its notes, wherever they lie."""
        note = f"iou/{debtor}/{asset}"
        return sum(
            n for (account, what), n in self.balances.items() if what == note and not account.startswith("debtor/")
        )

    def room(self, debtor: str, asset: str) -> int:
        return max(0, self.limits.get((debtor, asset), 0) - self.owes(debtor, asset))

    def notes_in_purses(self) -> Iterable[tuple[str, str, str, int]]:
        """Debtor, creditor, asset, amount."""
        for (account, what), n in self.balances.items():
            if account.startswith("purse/") and what.startswith("iou/"):
                _, debtor, asset = what.split("/")
                yield debtor, account.removeprefix("purse/"), asset, n

    # ---- by hand ----

    def transfer(self, giver: str, taker: str, asset: str, n: int) -> list[Move]:
        if giver == taker:
            raise No("same_account")
        if asset == PROMISE:
            raise No("wrong_kind")
        self._needs(f"purse/{giver}", asset, n)
        return [(f"purse/{giver}", f"purse/{taker}", asset, n)]

    def grant(self, taker: str, asset: str, n: int) -> list[Move]:
        if asset == PROMISE:
            raise No("wrong_kind")
        return [("mint", f"purse/{taker}", asset, n)]

    def collection(self, giver: str, asset: str, n: int) -> list[Move]:
        if asset == PROMISE:
            raise No("wrong_kind")
        self._needs(f"purse/{giver}", asset, n)
        return [(f"purse/{giver}", "mint", asset, n)]

    def iou(self, debtor: str, creditor: str, asset: str, n: int) -> list[Move]:
        if debtor == creditor:
            raise No("same_account")
        return [self._new_note(debtor, f"purse/{creditor}", asset, n)]

    def settlement(self, debtor: str, creditor: str, asset: str, n: int) -> list[Move]:
        if debtor == creditor:
            raise No("same_account")
        paid = []
        if asset != PROMISE:
            self._needs(f"purse/{debtor}", asset, n)
            paid = [(f"purse/{debtor}", f"purse/{creditor}", asset, n)]
        return [*paid, *self.forgival(debtor, creditor, asset, n)]

    def forgival(self, debtor: str, creditor: str, asset: str, n: int) -> list[Move]:
        if debtor == creditor:
            raise No("same_account")
        if self.held(creditor, debtor, asset) < n:
            raise No("not_owed")
        return [(f"purse/{creditor}", f"debtor/{debtor}", f"iou/{debtor}/{asset}", n)]

    def assignment(self, debtor: str, giver: str, taker: str, asset: str, n: int) -> list[Move]:
        if giver == taker:
            raise No("same_account")
        if self.held(giver, debtor, asset) < n:
            raise No("not_owed")
        return [(f"purse/{giver}", self._place(taker, f"iou/{debtor}/{asset}"), f"iou/{debtor}/{asset}", n)]

    def plan(self, payments: Iterable[Move], notes: Iterable[tuple[str, str, str, int]]) -> list[Move]:
        """Payments (payer, receiver, asset, amount) one after the other, then notes (debtor, creditor, ...)."""
        trial = Model(self.characters)
        trial.balances = dict(self.balances)
        made: list[Move] = []
        for payer, receiver, asset, n in payments:
            if asset != PROMISE:
                trial._needs(f"purse/{payer}", asset, n)
                made.append((f"purse/{payer}", f"purse/{receiver}", asset, n))
                trial._move(made[-1:])
        for debtor, creditor, asset, n in notes:
            made += trial.forgival(debtor, creditor, asset, n)
            trial._move(made[-1:])
        return made

    def reversal(self, position: int) -> list[Move]:
        if position not in self.moved:
            raise No("not_reversible")
        if position in self.reversed:
            raise No("already_reversed")
        back = [(to, from_, asset, n) for from_, to, asset, n in reversed(self.moved[position])]
        trial = Model(self.characters)
        trial.balances = dict(self.balances)
        for move in back:
            if not move[0].startswith("debtor/") and move[0] != "mint":
                trial._needs(move[0], move[2], move[3])
            trial._move([move])
        return back

    # ---- at tables ----

    def stake(self, payer: str, table: "Table", n: int) -> list[Move]:
        """Own tokens first, then new notes of one's own where the table gives credit."""
        has = 0 if table.asset == PROMISE else self.has(f"purse/{payer}", table.asset)
        if has < n and not table.credit:
            raise No("insufficient_funds")
        if table.asset != PROMISE and has < n and has + self.room(payer, table.asset) < n:
            raise No("credit_exceeded")
        tokens = min(has, n)
        moves: list[Move] = [(f"purse/{payer}", table.pot, table.asset, tokens)] if tokens else []
        if n > tokens:
            moves.append((f"debtor/{payer}", table.pot, f"iou/{payer}/{table.asset}", n - tokens))
        return moves

    def won(self, winner: str, table: "Table") -> list[Move]:
        """Everything in the pot; the winner's own notes go home."""
        return [
            (account, self._place(winner, asset), asset, n)
            for (account, asset), n in self.balances.items()
            if account == table.pot
        ]

    # ---- what happened ----

    def happened(self, moves: Iterable[Move], position: int | None = None) -> None:
        """`position`: of an event that can be reversed."""
        moves = list(moves)
        self._move(moves)
        if position is not None:
            self.moved[position] = moves

    def _move(self, moves: Iterable[Move]) -> None:
        for from_, to, asset, n in moves:
            for account, change in ((from_, -n), (to, n)):
                total = self.has(account, asset) + change
                self.balances[account, asset] = total
                if not total:
                    del self.balances[account, asset]

    def _needs(self, account: str, asset: str, n: int) -> None:
        if self.has(account, asset) < n:
            raise No("insufficient_funds")

    def _new_note(self, debtor: str, to: str, asset: str, n: int) -> Move:
        if asset != PROMISE and n > self.room(debtor, asset):
            raise No("credit_exceeded")
        return (f"debtor/{debtor}", to, f"iou/{debtor}/{asset}", n)

    def _place(self, taker: str, asset: str) -> str:
        return f"debtor/{taker}" if asset.startswith(f"iou/{taker}/") else f"purse/{taker}"


class Table:
    """A table of Skuggkast as far as money goes: what each seat paid in, and who is still there."""

    def __init__(
        self, name: str, asset: str, stake: int, seats: Sequence[str], *, credit: bool, turn_raise: int
    ) -> None:
        self.name, self.asset, self.amount, self.credit, self.turn_raise = name, asset, stake, credit, turn_raise
        self.pot = f"pot/{name}"
        self.seats = list(seats)
        self.active = seats[0]
        self.raised = False
        self.paid: list[Move] = []

    def next_seat(self, after: str, seats: Sequence[str]) -> str:
        """Clockwise from `after`, in the order in which `seats` sat before somebody left."""
        order = [*seats[seats.index(after) + 1 :], *seats[: seats.index(after)]]
        return next(seat for seat in order if seat in self.seats)

    def given_back(self) -> list[Move]:
        """A void: everything as it was paid, by whoever paid it."""
        sums: dict[tuple[str, str], int] = {}
        for from_, _, asset, n in self.paid:
            sums[from_, asset] = sums.get((from_, asset), 0) + n
        return [(self.pot, payer, asset, n) for (payer, asset), n in sums.items()]
