"""A LARP with purses for Tåkespillet, and a table at which every step is checked.

After each accepted request money is conserved, the journal read back from its bytes gives the same table, and
nothing that is sealed has been said; after each refusal nothing has changed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from ledger import money, sealing, snapshot
from ledger.book import READER, Book, OpenTable
from ledger.errors import Refused
from ledger.games.table import SealsValues, UncoversValues
from ledger.games.takespillet.state import Piece, State
from ledger.messages import Event, Posting, Secret
from tests.support.in_memory import MemoryLarp, command_of

TABLE, POT = "t", "pot/t"
SOUTH, NORTH, OUTSIDER = "markon", "signe", "torvald"
KRONE = "krone"

HOME: Mapping[str, Mapping[str, Any]] = {
    SOUTH: {
        "regent": [1, 4],
        "house": [1, 1],
        "spear": [1, 3],
        "farmers": [{"at": [2, 2], "stake": 1}, {"at": [2, 4], "stake": 1}, {"at": [2, 6], "stake": 3}],
    },
    NORTH: {
        "regent": [8, 5],
        "house": [8, 8],
        "spear": [8, 6],
        "farmers": [{"at": [7, 7], "stake": 2}, {"at": [7, 5], "stake": 2}, {"at": [7, 3], "stake": 1}],
    },
}
"""A set-up for a stake of 5; north's is south's seen from north."""


def home(seat: str, stake: int = 5) -> dict[str, Any]:
    """The set-up for a stake of 5 or more: what is above 5 is the second farmer's."""
    one, two, three = HOME[seat]["farmers"]
    return {**HOME[seat], "farmers": [one, {**two, "stake": two["stake"] + stake - 5}, three]}


class Tavern:
    """One LARP: everybody has 5 krone and may owe 5; `mead` is a promise. The table, once opened, is `t`."""

    def __init__(self, *, entropy: bytes = b"") -> None:
        self.larp = MemoryLarp(entropy=entropy)
        self.again = Book(self.larp.book.larp)
        self.arranged = False
        self.checked = 0
        self.secrets: dict[str, Secret] = {}
        self.sealed: set[str] = set()
        self.shown: dict[str, Any] = {}
        self._ask("POST", "/assets", asset=KRONE, kind="token", name="Krone")
        self._ask("POST", "/assets", asset="mead", kind="promise", name="Mead")
        for character in (SOUTH, NORTH, OUTSIDER):
            self._ask("POST", "/characters", character=character, name=character, credit_limit={KRONE: 5})
            self._ask("POST", "/grants", to=character, asset=KRONE, amount=5)
        self.before = self.larp.balances()

    # ---- requests ----

    def _ask(self, method: str, path: str, **body: Any) -> list[Event]:
        command = command_of(self.larp.book, method, path, body)
        return [applied.recorded.event for applied in self.larp.do(command)]

    def grant(self, character: str, amount: int) -> None:
        self._ask("POST", "/grants", to=character, asset=KRONE, amount=amount)

    def collect(self, character: str, amount: int) -> None:
        self._ask("POST", "/collections", **{"from": character}, asset=KRONE, amount=amount)

    def open(self, **body: Any) -> list[Event]:
        """A table for the two of them at 5 krone; `body` goes over the defaults, None leaves a key out."""
        self.before = self.larp.balances()
        return self._checked("/tables", opening(**body))

    def act(self, action: str, seat: str = SOUTH, **said: Any) -> list[Event]:
        return self._checked(f"/tables/{TABLE}/actions", {"action": action, "seat": seat, **said})

    def void(self) -> list[Event]:
        return self._checked(f"/tables/{TABLE}/void", {"reason": "a spilt drink"})

    def _checked(self, path: str, body: Mapping[str, Any]) -> list[Event]:
        events = self._ask("POST", path, **body)
        self.secrets |= self.larp.book.secrets.get(TABLE) or {}
        self._check()
        return events

    def refused(self, code: str, action: str, seat: str = SOUTH, **said: Any) -> str:
        return self.refuses(code, f"/tables/{TABLE}/actions", {"action": action, "seat": seat, **said})

    def refuses(self, code: str, path: str, body: Mapping[str, Any]) -> str:
        """It says no, and stays quiet: nothing is recorded and nothing has changed. The detail."""
        before = self._everything()
        try:
            self._ask("POST", path, **body)
        except msgspec.ValidationError as error:
            found, detail = "malformed", str(error)
        except Refused as refused:
            found, detail = refused.code, refused.detail
        else:
            pytest.fail(f"accepted, expected {code}: {body}")
        assert (found, detail != "") == (code, True), detail
        assert self._everything() == before
        assert not any(secret.nonce in detail for secret in self.secrets.values())
        return detail

    def allows(self, action: str, seat: str = SOUTH, **said: Any) -> bool:
        """Whether it would be done."""
        try:
            return bool(self.would(action, seat, **said))
        except Refused:
            return False

    def would(self, action: str, seat: str = SOUTH, *, chance: int = 0, book: Book | None = None, **said: Any) -> Any:
        """The events that would come of it; nothing is done. The same `chance` rolls the same dice."""
        body = {"action": action, "seat": seat, **said}
        command = command_of(self.larp.book, "POST", f"/tables/{TABLE}/actions", body)
        return [draft.event for draft in (book or self.larp.book).decide(command, bytes([chance] * 32)).drafts]

    # ---- what there is ----

    @property
    def state(self) -> State:
        table = self.larp.book.tables.get(TABLE)
        assert isinstance(table, OpenTable) and isinstance(table.state, State)
        return table.state

    @property
    def is_open(self) -> bool:
        return isinstance(self.larp.book.tables.get(TABLE), OpenTable)

    @property
    def view(self) -> dict[str, Any]:
        return self.larp.view(TABLE)

    def purse(self, character: str) -> dict[str, int]:
        return self.larp.account(f"purse/{character}")

    def postings(self) -> tuple[Posting, ...]:
        """Those of the last event."""
        return self.larp.journal[-1].postings

    def at(self, seat: str, piece: str) -> list[int] | None:
        """Where a piece stands; None if it is gone."""
        return next((p["at"] for p in self.view["pieces"] if (p["seat"], p["piece"]) == (seat, piece)), None)

    def _everything(self) -> Any:
        tables = dict(self.larp.book.tables.items())
        view = self.view if TABLE in tables else None
        secrets = dict(self.larp.book.secrets.items())
        return self.larp.book.position, self.larp.book.hash, self.larp.balances(), tables, view, secrets

    # ---- getting somewhere ----

    def roll_off(self, starter: str = SOUTH) -> None:
        """To phase setup; where the service rolls, chance says who begins."""
        if self.state.dice == "reported":
            self.act("roll_off", starter, number=6)
            self.act("roll_off", self.state.other(starter), number=1)
        while self.state.phase == "roll_off":
            self.act("roll_off", self.view["waiting_for"][0])

    def set_up(self, starter: str = SOUTH) -> None:
        """From any point before it to the first move."""
        if self.state.phase == "roll_off":
            self.roll_off(starter)
        while self.state.phase == "setup":
            self.act("place", self.view["turn"], **home(self.view["turn"], self.view["stake"]["amount"]))

    def set(self, **fields: Any) -> None:
        """Something that play would take long to lead to."""
        self.arranged = True
        self.larp.book.tables.put(TABLE, OpenTable("takespillet", replace(self.state, **fields)))

    def arrange(self, *pieces: tuple[str, str, tuple[int, int]], **fields: Any) -> None:
        """These pieces alone and nothing moved yet, with `fields` of the state."""
        stood = tuple(Piece(seat, name, at, 1 if name.startswith("farmer") else None) for seat, name, at in pieces)
        self.set(pieces=stood, moved=(), **fields)

    def to_fog(self, seat: str, row: int = 0, column: int = 0) -> None:
        """Roll the Sok die and allocate, at a reported table."""
        self.act("roll_sok", seat, face=row + column)
        if row + column:
            self.act("allocate", seat, row=row, column=column)

    def hit(self, seat: str, square: Sequence[int], tile: str | None = "blank") -> list[Event]:
        """Let the fog come to a square, wire coordinates, at a reported table."""
        row, column = square if seat == SOUTH else (9 - square[0], 9 - square[1])
        added_row, added_column = max(0, row - 6), max(0, column - 6)
        self.to_fog(seat, added_row, added_column)
        said = {} if tile is None else {"tile": tile}
        return self.act("roll_fog", seat, row=row - added_row, column=column - added_column, **said)

    # ---- what must hold after every step ----

    def _check(self) -> None:
        view = self.view
        self._check_money(view)
        self._check_secrecy(view)
        if not self.arranged:
            self._check_refolding()

    def _check_money(self, view: Mapping[str, Any]) -> None:
        totals: dict[str, int] = {}
        for (account, asset), amount in self.larp.balances().items():
            totals[asset] = totals.get(asset, 0) + amount
            assert amount >= 0 or money.may_go_below_zero(account), (account, asset, amount)
        assert not any(totals.values()), totals
        if self.is_open:
            assert view["pot"] == self.larp.account(POT)
        else:
            assert self.larp.account(POT) == {}

    def _check_refolding(self) -> None:
        """The journal's bytes alone give the same table; a snapshot of it is the same table."""
        book = self.again
        for applied in self.larp.applied[book.position :]:
            recorded = applied.recorded
            again = book.apply(READER.read(recorded.position, recorded.body, recorded.hash))
            assert (again.table, again.view()) == (applied.table, applied.view())
        assert dict(book.tables.items()) == dict(self.larp.book.tables.items())
        restored = snapshot.restore(book.larp, snapshot.take(book))
        assert dict(restored.tables.items()) == dict(book.tables.items())

    def _check_secrecy(self, view: Mapping[str, Any]) -> None:
        """What was uncovered just now was sealed before and keeps its commitment; no other nonce is said."""
        fresh = self.larp.journal[self.checked :]
        self.checked = len(self.larp.journal)
        shown: dict[str, Any] = {}
        for recorded in fresh:
            if isinstance(recorded.event, SealsValues):
                self.sealed |= {sealed.commitment for sealed in recorded.event.sealed}
            if isinstance(recorded.event, UncoversValues):
                assert all(sealing.holds(value) for value in recorded.event.uncovered)
                shown |= {value.commitment: value.value for value in recorded.event.uncovered}
        assert shown.keys() <= self.sealed - self.shown.keys()
        self.shown |= shown
        said = b"".join(recorded.body for recorded in fresh) + msgspec.json.encode(view)
        for secret in self.secrets.values():
            assert (secret.nonce.encode() in said) == (secret.commitment in shown)


def opening(**body: Any) -> dict[str, Any]:
    """The request's body; `stake` is a number of krone or a whole stake."""
    whole = {"table": TABLE, "game": "takespillet", "seats": [SOUTH, NORTH], "stake": 5, **body}
    if isinstance(whole["stake"], int):
        whole["stake"] = {"asset": KRONE, "amount": whole["stake"]}
    return {key: value for key, value in whole.items() if value is not None}


def opened(*, set_up: bool = False, entropy: bytes = b"", **body: Any) -> Tavern:
    """A tavern with an open table; with `set_up`, at south's first move."""
    tavern = Tavern(entropy=entropy)
    tavern.open(**body)
    if set_up:
        tavern.set_up()
    return tavern


PHASES = ("roll_off", "setup", "move", "allocate", "fog")


def in_phase(phase: str, **body: Any) -> Tavern:
    """A table half-way through a phase, where dice are reported; from `setup` on south is the one to act."""
    tavern = opened(**body)
    if phase == "roll_off":
        tavern.act("roll_off", NORTH, number=3)
        return tavern
    tavern.roll_off(NORTH)
    tavern.act("place", NORTH, **home(NORTH, tavern.view["stake"]["amount"]))
    if phase != "setup":
        tavern.set_up()
        tavern.act("roll_sok", NORTH, face="sok")
        tavern.act("move", piece="farmer1", to=[3, 3])
    if phase in ("allocate", "fog"):
        tavern.act("roll_sok", face=2)
    if phase == "fog":
        tavern.act("allocate", row=1, column=1)
    assert tavern.view["phase"] == phase
    return tavern
