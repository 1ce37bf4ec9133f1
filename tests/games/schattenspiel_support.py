"""A LARP with purses for Schattenspiel, and a table at which every step is checked.

After each accepted request money is conserved and the journal, read back from its bytes, gives the same table;
after each refusal nothing has changed.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from ledger import money, sealing
from ledger.book import READER, Book, OpenTable
from ledger.errors import Refused
from ledger.games.table import SealsValues, TableState, UncoversValues
from ledger.messages import Event, Posting, Sealed, Uncovered
from tests.support.in_memory import MemoryLarp, command_of

TABLE = "t"
POT = f"pot/{TABLE}"
SEAT_A, SEAT_B = f"seat/{TABLE}/anselm", f"seat/{TABLE}/brunhild"
PURSE_A, PURSE_B = "purse/anselm", "purse/brunhild"

SIGNS = {"s": "shadow", "r": "rift", "l": "light"}
CALLS = {"L": "low", "H": "high"}


def hand(short: str) -> dict[str, str]:
    """`rH`: rift, high."""
    return {"sign": SIGNS[short[0]], "call": CALLS[short[1]]}


class Tavern:
    """One LARP: anselm with 10 schraube, brunhild with 10, kurt with 10 and no seat; `pint` is a promise."""

    def __init__(self) -> None:
        self.larp = MemoryLarp()
        self.ask("assets", asset="schraube", kind="token", name="Schraube")
        self.ask("assets", asset="pint", kind="promise", name="Pint")
        for character in ("anselm", "brunhild", "kurt"):
            self.ask("characters", character=character, name=character.title())
            self.ask("grants", to=character, asset="schraube", amount=10)

    def ask(self, path: str, **body: Any) -> Sequence[Event]:
        command = command_of(self.larp.book, "POST", f"/{path}", body)
        events = [applied.recorded.event for applied in self.larp.do(command)]
        self._check()
        return events

    # ---- requests ----

    def credit(self, character: str, limit: int) -> None:
        changes = {"credit_limit": {"schraube": limit}}
        self.larp.do(command_of(self.larp.book, "PATCH", f"/characters/{character}", changes))

    def collect(self, character: str, amount: int) -> None:
        self.ask("collections", **{"from": character}, asset="schraube", amount=amount)

    def open(self, stake: int | None = None, asset: str = "schraube", **body: Any) -> Sequence[Event]:
        """A table for anselm and brunhild; `body` goes over the defaults."""
        opening: dict[str, Any] = {"table": TABLE, "game": "schattenspiel", "seats": ["anselm", "brunhild"]}
        if stake is not None:
            opening["stake"] = {"asset": asset, "amount": stake}
        return self.ask("tables", **{**opening, **body})

    def act(self, **action: Any) -> Sequence[Event]:
        return self.ask(f"tables/{TABLE}/actions", **action)

    def show(self, seat: str, short: str) -> Sequence[Event]:
        return self.act(action="show", seat=seat, **hand(short))

    def round(self, of_a: str, of_b: str) -> Sequence[Event]:
        return self.act(action="round", shows={"anselm": hand(of_a), "brunhild": hand(of_b)})

    def shown_round(self, of_a: str, of_b: str) -> Sequence[Event]:
        """The same, one hand after the other; brunhild first."""
        return [*self.show("brunhild", of_b), *self.show("anselm", of_a)]

    def resign(self, seat: str) -> Sequence[Event]:
        return self.act(action="resign", seat=seat)

    def void(self) -> Sequence[Event]:
        return self.ask(f"tables/{TABLE}/void", reason="rain")

    def refused(self, code: str, path: str, **body: Any) -> str:
        """Asserts that a request is refused with `code` and changes nothing; gives the detail."""
        before = self.all_that_is()
        with pytest.raises((msgspec.ValidationError, Refused)) as caught:
            self.ask(path, **body)
        refusal = caught.value
        got = refusal.code if isinstance(refusal, Refused) else "malformed"
        assert got == code, refusal
        assert self.all_that_is() == before, "a refusal changed something"
        return str(refusal)

    def refuses(self, code: str, **action: Any) -> str:
        return self.refused(code, f"tables/{TABLE}/actions", **action)

    def refuses_opening(self, code: str, **body: Any) -> str:
        opening = {"table": TABLE, "game": "schattenspiel", "seats": ["anselm", "brunhild"]}
        return self.refused(code, "tables", **{**opening, **body})

    # ---- reading ----

    def all_that_is(self) -> Any:
        tables = dict(self.larp.book.tables.items())
        views = [self.view] if TABLE in tables else []
        secrets = dict(self.larp.book.secrets.items())
        return [r.body for r in self.larp.journal], self.larp.balances(), tables, secrets, views

    @property
    def view(self) -> dict[str, Any]:
        return self.larp.view(TABLE)

    @property
    def points(self) -> list[int]:
        return [seat["points"] for seat in self.view["seats"]]

    @property
    def markers(self) -> list[int]:
        return [seat["markers"] for seat in self.view["seats"]]

    @property
    def state(self) -> TableState:
        found = self.larp.book.tables.get(TABLE)
        assert isinstance(found, OpenTable)
        return found.state

    @property
    def last_postings(self) -> tuple[Posting, ...]:
        return self.larp.journal[-1].postings

    def account(self, account: str) -> dict[str, int]:
        return self.larp.account(account)

    def sealed(self) -> list[Sealed]:
        """Every commitment of the journal, in order."""
        events = [r.event for r in self.larp.journal]
        return [sealed for event in events if isinstance(event, SealsValues) for sealed in event.sealed]

    def uncovered(self) -> list[Uncovered]:
        events = [r.event for r in self.larp.journal]
        return [shown for event in events if isinstance(event, UncoversValues) for shown in event.uncovered]

    # ---- what always holds ----

    def _check(self) -> None:
        self._check_money()
        self._check_refolds()
        self._check_commitments()

    def _check_money(self) -> None:
        sums: dict[str, int] = {}
        for (account, asset), balance in self.larp.balances().items():
            sums[asset] = sums.get(asset, 0) + balance
            assert balance > 0 or money.may_go_below_zero(account), f"{account} has {balance} {asset}"
        assert not any(sums.values()), sums
        found = self.larp.book.tables.get(TABLE)
        if found is not None and not isinstance(found, OpenTable):
            assert not any(self.account(account) for account in (POT, SEAT_A, SEAT_B)), "a closed table is empty"

    def _check_refolds(self) -> None:
        """The journal from its bytes gives the same tables, balances and view."""
        book, last = Book(self.larp.book.larp), None
        for recorded in self.larp.journal:
            last = book.apply(READER.read(recorded.position, recorded.body, recorded.hash))
        assert last is not None and last.view() == self.larp.applied[-1].view()
        assert dict(book.tables.items()) == dict(self.larp.book.tables.items())
        assert dict(book.balances.items()) == self.larp.balances()

    def _check_commitments(self) -> None:
        """What was uncovered was sealed before, and is what was committed to."""
        commitments = [sealed.commitment for sealed in self.sealed()]
        for shown in self.uncovered():
            assert shown.commitment in commitments and sealing.holds(shown)
        assert len(set(commitments)) == len(commitments)


def names(events: Sequence[Event]) -> list[str]:
    return [type(event).__name__ for event in events]
