"""A tavern with one table of Skuggkast, at which every step is checked.

After each accepted request: money is conserved, the journal read back from its bytes gives the same table and
view, nothing hidden is in them, and a void would give everybody back what they paid in. After each refusal:
nothing has changed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from ledger import money, sealing
from ledger.book import READER, Applied, Book, OpenTable, Void, VoidTable
from ledger.errors import Refused
from ledger.games.skuggkast.state import State
from ledger.games.table import SealsValues, UncoversValues
from ledger.messages import Event, Secret
from tests.support.in_memory import MemoryLarp, command_of

TABLE, POT = "t", "pot/t"
THREE = ("alva", "birk", "embla")
Postings = list[tuple[str, str, str, int]]


def dice(cast: str) -> dict[str, Any]:
    """`star-5-neutral` as the wire has it."""
    symbol, number, shadow = cast.split("-")
    return {"symbol": symbol, "number": int(number), "shadow": shadow}


def named(number: int, shadow: str, bonus: int = 1) -> dict[str, Any]:
    return {"name": "Gyllene", "number": number, "shadow": shadow, "bonus": bonus}


class Tavern:
    """alva, birk, embla and frej with 20 krona each and no credit; kurt is there and has no seat.

    `pint` is a promise. Whatever an opening does not say: alva begins, real dice, a stake of 5 krona, no credit.
    """

    def __init__(self, *, krona: Mapping[str, int] = {}, limits: Mapping[str, int] = {}, entropy: bytes = b"") -> None:
        self.larp = MemoryLarp(entropy=entropy)
        self._follower = Book("test")
        self._follower.apply(self.larp.journal[0])
        self.hidden: dict[str, Secret] = {}
        self.postings: Postings = []
        self._before_table: dict[tuple[str, str], int] = {}
        self._send("/assets", asset="krona", kind="token", name="Krona")
        self._send("/assets", asset="pint", kind="promise", name="Pint")
        for name in (*THREE, "frej", "kurt"):
            limit = {"krona": limits[name]} if name in limits else {}
            self._send("/characters", character=name, name=name.title(), credit_limit=limit)
            if krona.get(name, 20):
                self._send("/grants", to=name, asset="krona", amount=krona.get(name, 20))

    # ---- requests ----

    def open(self, *seats: str, stake: int = 5, asset: str = "krona", **more: Any) -> Sequence[Event]:
        """Open the table; what is no key of an opening is a rule."""
        keys = {key: more.pop(key) for key in ("dice", "credit", "place") if key in more}
        self._before_table = self.larp.balances()
        body = {"table": TABLE, "game": "skuggkast", "seats": seats or THREE, "rules": {"starter": "alva", **more}}
        return self._send("/tables", **body, stake={"asset": asset, "amount": stake}, **keys)

    def do(self, action: str, seat: str | None = None, cast: str = "", **more: Any) -> Sequence[Event]:
        """An action. `cast` stands for the dice of a roll and of a reveal, and for the words of a claim."""
        return self._send(f"/tables/{TABLE}/actions", **self._body(action, seat, cast, more))

    def refused(self, code: str, action: str, seat: str | None = None, cast: str = "", **more: Any) -> str:
        """That the action is refused with that code and changes nothing; what the refusal says."""
        return self.refuses(code, f"/tables/{TABLE}/actions", self._body(action, seat, cast, more))

    def refuses(self, code: str, path: str, body: dict[str, Any]) -> str:
        before = self._everything()
        try:
            self.larp.do(command_of(self.larp.book, "POST", path, body))
        except msgspec.ValidationError as error:
            got, detail = "malformed", str(error)
        except Refused as refused:
            got, detail = refused.code, refused.detail
        else:
            pytest.fail(f"{body} was accepted, not refused with {code}")
        assert got == code, f"{body}: {got} ({detail}), expected {code}"
        assert self._everything() == before, f"{code} changed something"
        self._assert_hides(detail.encode())
        return detail

    def void(self) -> Sequence[Event]:
        return self._send(f"/tables/{TABLE}/void", reason="time to sleep")

    def spend(self, character: str, amount: int) -> None:
        """The character's krona leave the play."""
        for account, change in ((f"purse/{character}", -amount), ("mint", amount)):
            self._before_table[account, "krona"] = self._before_table.get((account, "krona"), 0) + change
        self._send("/collections", **{"from": character}, asset="krona", amount=amount)

    @staticmethod
    def _body(action: str, seat: str | None, cast: str, more: dict[str, Any]) -> dict[str, Any]:
        body: dict[str, Any] = {"action": action, **({"seat": seat} if seat else {})}
        if cast:
            body |= dice(cast) if action == "claim" else {"dice": dice(cast)}
        if isinstance(more.get("dice"), str):
            more = {**more, "dice": dice(more["dice"])}
        return body | more

    def _send(self, path: str, **body: Any) -> Sequence[Event]:
        command = command_of(self.larp.book, "POST", path, body)
        seen = len(self.larp.journal)
        applied = self.larp.do(command)
        assert len(self.larp.journal) == seen + len(applied)
        self.postings = [(p.from_, p.to, p.asset, p.amount) for a in applied for p in a.recorded.postings]
        for secret in (self.larp.book.secrets.get(TABLE) or {}).values():
            self.hidden[secret.commitment] = secret
        for one in applied:
            self._check(one)
        self._check_money()
        if isinstance(self.larp.book.tables.get(TABLE), OpenTable):
            self._check_void()
        return [one.recorded.event for one in applied]

    # ---- what is there ----

    @property
    def state(self) -> State:
        table = self.larp.applied[-1].table
        assert isinstance(table, State)
        return table

    @property
    def view(self) -> dict[str, Any]:
        return self.larp.view(TABLE)

    def seat(self, character: str) -> dict[str, Any]:
        return next(seat for seat in self.view["seats"] if seat["character"] == character)

    def counted(self) -> dict[str, int]:
        return {seat["character"]: seat["count"] for seat in self.view["seats"]}

    def purse(self, character: str) -> int:
        return self.larp.account(f"purse/{character}").get("krona", 0)

    def cup(self) -> str:
        """What lies under the cup, by the secrets that only its owner and the organisers see."""
        cup = self.state.cup
        assert cup is not None
        value = self.hidden[cup.commitment].value
        return f"{value['symbol']}-{value['number']}-{value['shadow']}"

    # ---- checks ----

    def _everything(self) -> Any:
        book = self.larp.book
        table = book.tables.get(TABLE)
        state = msgspec.json.encode(table.state) if isinstance(table, OpenTable) else table
        return len(self.larp.journal), book.hash, self.larp.balances(), state, book.secrets.get(TABLE)

    def _check(self, applied: Applied) -> None:
        recorded = applied.recorded
        read = READER.read(recorded.position, recorded.body, recorded.hash)
        assert read == recorded
        again = self._follower.apply(read)
        assert again.table == applied.table
        shown = msgspec.json.encode(applied.view())
        assert msgspec.json.encode(again.view()) == shown
        if isinstance(recorded.event, UncoversValues):
            for uncovered in recorded.event.uncovered:
                assert sealing.holds(uncovered)
                secret = self.hidden.pop(uncovered.commitment)
                assert (uncovered.value, uncovered.nonce) == (secret.value, secret.nonce)
        if isinstance(recorded.event, SealsValues):
            assert {sealed.commitment for sealed in recorded.event.sealed} <= set(self.hidden)
        self._assert_hides(recorded.body + shown + repr(recorded).encode())

    def _assert_hides(self, text: bytes) -> None:
        for secret in self.hidden.values():
            assert secret.nonce.encode() not in text, "a nonce of something hidden"

    def _check_money(self) -> None:
        sums: dict[str, int] = {}
        for (account, asset), amount in self.larp.balances().items():
            sums[asset] = sums.get(asset, 0) + amount
            assert amount >= 0 or money.may_go_below_zero(account), f"{account} has {amount} {asset}"
        assert not any(sums.values()), sums

    def _check_void(self) -> None:
        """Rule of rules/ledger.md: a void gives back exactly what was paid in, whatever the phase."""
        decision = self.larp.book.decide(Void(TABLE, VoidTable(reason="a probe")), bytes(32))
        after = self.larp.balances()
        for posting in decision.drafts[0].postings:
            for account, change in ((posting.from_, -posting.amount), (posting.to, posting.amount)):
                after[account, posting.asset] = after.get((account, posting.asset), 0) + change
        assert {key: n for key, n in after.items() if n} == {k: n for k, n in self._before_table.items() if n}


def pass_turn(tavern: Tavern, *seats: str) -> None:
    """Each of them claims something that does not count, and is believed."""
    for seat in seats:
        tavern.do("claim", seat, "sun-1-neutral")
        tavern.do("accept")
