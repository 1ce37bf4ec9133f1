"""Accounts, assets and what a decision may spend. Source: rules/ledger.md.

Amounts are whole units. Everything that moves is a posting; balances are nothing but the sum of postings,
so for each asset the sum over all accounts is 0 after every event.
"""

from collections.abc import Iterable
from typing import Literal, Protocol

from msgspec import Struct

from ledger.errors import BalanceOverflow, CreditExceeded, InsufficientFunds, NotOwed, UnknownAsset
from ledger.messages import Posting

BALANCE_MAX = 2**53 - 1
"""No balance leaves -(2^53 - 1) to 2^53 - 1: what JSON numbers carry exactly."""

MINT = "mint"
BURNT = "burnt"

Kind = Literal["token", "promise", "internal"]


class Asset(Struct, frozen=True):
    """token: minted, then a fixed number; promise: only ever owed; internal: lids, moved by Schocken alone."""

    asset: str
    kind: Kind
    name: str


BUILT_IN_ASSETS = (
    Asset("drink", "promise", "Drink"),
    Asset("lid", "internal", "Lid"),
    Asset("schnapps", "promise", "Schnapps"),
)


def purse(character: str) -> str:
    return f"purse/{character}"


def debtor(character: str) -> str:
    return f"debtor/{character}"


def pot(table: str) -> str:
    return f"pot/{table}"


def seat(table: str, character: str) -> str:
    return f"seat/{table}/{character}"


def middle(table: str) -> str:
    return f"middle/{table}"


def note(character: str, asset: str) -> str:
    """The asset that is `character`'s promise of one unit of `asset`."""
    return f"iou/{character}/{asset}"


def is_note(asset: str) -> bool:
    return asset.startswith("iou/")


def note_parts(asset: str) -> tuple[str, str]:
    """The debtor and the asset promised by a note."""
    _, character, promised = asset.split("/")
    return character, promised


def may_go_below_zero(account: str) -> bool:
    return account == MINT or account.startswith("debtor/")


def home(character: str, asset: str) -> str:
    """Where `asset` goes when `character` gets it: the purse, but a note of its own is void and goes home."""
    return debtor(character) if asset.startswith(f"iou/{character}/") else purse(character)


class Holdings(Protocol):
    """What is in the accounts, as far as a decision needs to know."""

    def balance(self, account: str, asset: str) -> int: ...

    def kind(self, asset: str) -> Kind | None:
        """None for an asset that the LARP does not know."""
        ...

    def credit_limit(self, character: str, asset: str) -> int: ...


class Till:
    """Balances as one decision finds them and as its own postings leave them; nothing else ever sees it."""

    def __init__(self, holdings: Holdings) -> None:
        self._holdings = holdings
        self._moved: dict[tuple[str, str], int] = {}

    def balance(self, account: str, asset: str) -> int:
        return self._holdings.balance(account, asset) + self._moved.get((account, asset), 0)

    def kind(self, asset: str) -> Kind:
        """Raises UnknownAsset."""
        kind = self._holdings.kind(asset)
        if kind is None:
            raise UnknownAsset(f"there is no asset {asset!r} in this LARP")
        return kind

    def credit_limit(self, character: str, asset: str) -> int:
        return self._holdings.credit_limit(character, asset)

    def owed_by(self, character: str, asset: str) -> int:
        """All notes of `character` in `asset`, wherever they lie."""
        return -self.balance(debtor(character), note(character, asset))

    def room(self, character: str, asset: str) -> int:
        """How much more `character` may owe in `asset`. Promises have no limit of their own."""
        if self.kind(asset) == "promise":
            return BALANCE_MAX - self.owed_by(character, asset)
        return max(0, self.credit_limit(character, asset) - self.owed_by(character, asset))

    def move(self, from_: str, to: str, asset: str, amount: int, *, why: str = "") -> Posting:
        """One posting. Raises InsufficientFunds and BalanceOverflow; `why` ends the sentence that says so."""
        left = self.balance(from_, asset) - amount
        if left < 0 and not may_go_below_zero(from_):
            raise InsufficientFunds(f"{_owner(from_)} has {left + amount} {asset}, {why or 'it would take'} {amount}")
        if left < -BALANCE_MAX or self.balance(to, asset) + amount > BALANCE_MAX:
            raise BalanceOverflow(_beyond(asset))
        self._moved[from_, asset] = self._moved.get((from_, asset), 0) - amount
        self._moved[to, asset] = self._moved.get((to, asset), 0) + amount
        return Posting(from_, to, asset, amount)

    def give(self, from_: str, character: str, asset: str, amount: int) -> Posting:
        """`character` gets `amount`; a note of its own that comes home is void."""
        return self.move(from_, home(character, asset), asset, amount)

    def issue(self, character: str, to: str, asset: str, amount: int) -> Posting:
        """A new note. Raises CreditExceeded past the limit of a token; `to` is an account."""
        room = self.room(character, asset)
        if amount > room and self.kind(asset) != "promise":
            limit = self.credit_limit(character, asset)
            raise CreditExceeded(
                f"{character} may owe {limit} {asset} and owes {self.owed_by(character, asset)}: "
                f"{room} more would be within the limit, not {amount}"
            )
        return self.move(debtor(character), to, note(character, asset), amount)

    def require_note(self, holder: str, character: str, asset: str, amount: int) -> None:
        """Raises NotOwed unless `holder` has that much of `character`'s notes in its purse."""
        held = self.balance(purse(holder), note(character, asset))
        if held < amount:
            raise NotOwed(f"{holder} holds {held} {asset} of {character}'s notes, {amount} would be needed")

    def take_back(self, holder: str, character: str, asset: str, amount: int) -> Posting:
        """`character`'s note goes home. Raises NotOwed."""
        self.require_note(holder, character, asset, amount)
        return self.move(purse(holder), debtor(character), note(character, asset), amount)

    def can_cover(self, character: str, asset: str, amount: int, *, credit: bool) -> bool:
        """Whether tokens in the purse and, where credit is given, room under the limit are enough."""
        has = self.balance(purse(character), asset) if self.kind(asset) == "token" else 0
        return has >= amount or (credit and has + self.room(character, asset) >= amount)

    def require_cover(self, character: str, asset: str, amount: int, *, credit: bool, why: str) -> None:
        """Raises what `pay` would raise, and moves nothing."""
        if self.can_cover(character, asset, amount, credit=credit):
            return
        has = self.balance(purse(character), asset)
        if not credit:
            raise InsufficientFunds(f"{character} has {has} {asset}, {why} {amount}")
        if self.kind(asset) == "promise":  # has no limit but the range of balances
            raise BalanceOverflow(_beyond(asset))
        raise CreditExceeded(
            f"{character} has {has} {asset} and may owe {self.room(character, asset)} more, {why} {amount}"
        )

    def pay(self, character: str, to: str, asset: str, amount: int, *, credit: bool, why: str) -> tuple[Posting, ...]:
        """Own tokens first, then, where credit is given, a new note of one's own for the rest.

        Raises InsufficientFunds without and CreditExceeded with credit. `why`: such as "the stake is".
        """
        self.require_cover(character, asset, amount, credit=credit, why=why)
        has = self.balance(purse(character), asset) if self.kind(asset) == "token" else 0
        tokens = min(has, amount)
        postings = []
        if tokens:
            postings.append(self.move(purse(character), to, asset, tokens))
        if amount > tokens:
            postings.append(self.issue(character, to, asset, amount - tokens))
        return tuple(postings)


def turned_round(postings: Iterable[Posting]) -> tuple[tuple[str, str, str, int], ...]:
    """What undoes `postings`, the last first, as (from, to, asset, amount)."""
    return tuple((p.to, p.from_, p.asset, p.amount) for p in reversed(tuple(postings)))


def _beyond(asset: str) -> str:
    return f"no balance of {asset} may go beyond {BALANCE_MAX} units"


def _owner(account: str) -> str:
    return account.removeprefix("purse/")
