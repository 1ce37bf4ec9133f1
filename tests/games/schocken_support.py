"""A table of Schocken in memory, played in few words: requests as JSON, whole goes and rounds, and what must hold."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from ledger import money
from ledger.book import READER, Applied, Book, OpenTable
from ledger.errors import Refused
from ledger.games.table import UncoversValues
from ledger.messages import Event
from ledger.sealing import holds
from tests.support.in_memory import MemoryLarp, command_of

FOUR = ("anna", "bernd", "carla", "dieter")
EIGHT = (*FOUR, "emil", "frida", "gerd", "hanna")
SCHNAPPS = {"asset": "schnapps", "amount": 2}
MARKS = {"asset": "mark", "amount": 3}
HIGH, LOW = (6, 6, 5), (2, 2, 1)
"""Normal hands: the highest and the lowest."""
Dice = Sequence[int]


class Table:
    """One LARP with one table, `t`. Each action is decoded from JSON, as the service does."""

    def __init__(
        self,
        *,
        seats: Sequence[str] = FOUR,
        marks: Mapping[str, int] | None = None,
        limits: Mapping[str, int] | None = None,
        opened: bool = True,
        entropy: bytes = b"",
        **keys: Any,
    ) -> None:
        self.larp = MemoryLarp(entropy=entropy)
        self.seats = tuple(seats)
        self.post("assets", asset="mark", kind="token", name="Mark")
        for character in EIGHT:
            limit = {"mark": limits[character]} if limits and character in limits else {}
            self.post("characters", character=character, name=character.title(), credit_limit=limit)
        for character, amount in (marks or {}).items():
            self.post("grants", to=character, asset="mark", amount=amount)
        self.before = self.larp.balances()
        if opened:
            self.open(**keys)

    # ---- asking ----

    def post(self, path: str, **body: Any) -> Sequence[Applied]:
        return self.larp.do(command_of(self.larp.book, "POST", path, body))

    def open(self, **keys: Any) -> list[Event]:
        return events(self.post("tables", **{"table": "t", "game": "schocken", "seats": self.seats, **keys}))

    def act(self, action: str, seat: str | None = None, **keys: Any) -> list[Event]:
        named = {} if seat is None else {"seat": seat}
        return events(self.post("tables/t/actions", action=action, **named, **keys))

    def throw(self, seat: str, *dice: int, keep: Dice = ()) -> list[Event]:
        """No dice: the service rolls, or the throw is blind."""
        return self.act("throw", seat, keep=keep, **({"dice": dice} if dice else {}))

    def stand(self, seat: str) -> list[Event]:
        return self.act("stand", seat)

    def void(self) -> list[Event]:
        return events(self.post("tables/t/void", reason="rain"))

    def round(self, hands: Mapping[str, Dice]) -> list[Event]:
        """A round of single throws, in the order of throwing; what came of the last."""
        starter, came = next(iter(hands)), []
        for seat, dice in hands.items():
            came = self.throw(seat, *dice)
            if seat == starter:
                came = self.stand(seat)
        return came

    def lose(self, loser: str, winner: str) -> list[Event]:
        """The half ends at once: a schock aus put together, and the lowest hand of all."""
        playing, came = self.state.playing, []
        for seat in playing:
            first = {loser: (2, 2, 1), winner: (1, 1, 6)}.get(seat, (6, 5, 4))
            second = {loser: (2, 2, 1), winner: (1, 1, 1)}.get(seat, (6, 6, 5))
            self.throw(seat, *first)
            keep = (1, 1) if seat == winner else ()
            came = self.throw(seat, *second[len(keep) :], keep=keep)
            if seat == playing[0]:
                came = self.stand(seat)
        return came

    # ---- seeing ----

    @property
    def view(self) -> dict[str, Any]:
        return self.larp.view("t")

    @property
    def state(self) -> Any:
        found = self.larp.book.tables.get("t")
        assert isinstance(found, OpenTable)
        return found.state

    def seat(self, character: str) -> dict[str, Any]:
        return next(s for s in self.view["seats"] if s["character"] == character)

    def lids(self) -> dict[str, int]:
        """In front of the seats, where there are any."""
        return {s["character"]: s["lids"] for s in self.view["seats"] if s["lids"]}

    def account(self, account: str) -> dict[str, int]:
        return self.larp.account(account)

    def owed(self, character: str) -> dict[str, int]:
        """The notes that a character holds, by `debtor/asset`."""
        held = self.account(money.purse(character))
        return {asset.removeprefix("iou/"): n for asset, n in held.items() if money.is_note(asset)}

    # ---- what must hold ----

    def refused(self, code: str, path: str, **body: Any) -> str:
        """The request is refused so, and nothing has changed; the detail."""
        book, found = self.larp.book, self.larp.book.tables.get("t")
        journal, balances, secrets = len(self.larp.journal), self.larp.balances(), book.secrets.get("t")
        view = self.view if found is not None else None
        with pytest.raises((Refused, msgspec.ValidationError)) as caught:
            self.post(path, **body)
        refusal = caught.value
        assert (refusal.code if isinstance(refusal, Refused) else "malformed") == code, str(refusal)
        assert len(self.larp.journal) == journal == book.position
        assert self.larp.balances() == balances
        assert book.secrets.get("t") == secrets
        assert book.tables.get("t") == found
        assert view is None or self.view == view
        return str(refusal)

    def says_no(self, code: str, action: str, seat: str | None = None, **keys: Any) -> str:
        named = {} if seat is None else {"seat": seat}
        return self.refused(code, "tables/t/actions", action=action, **named, **keys)

    def will_not_open(self, code: str, **keys: Any) -> str:
        return self.refused(code, "tables", **{"table": "t", "game": "schocken", "seats": self.seats, **keys})

    def is_sound(self) -> None:
        """Sums are zero, nothing is below zero, the bytes fold to the same, every commitment is kept, nothing leaks."""
        sums: dict[str, int] = {}
        for (account, asset), amount in self.larp.balances().items():
            sums[asset] = sums.get(asset, 0) + amount
            assert amount > 0 or money.may_go_below_zero(account), (account, asset, amount)
        assert not any(sums.values())
        self._refolds()
        self._commitments_hold()

    def _refolds(self) -> None:
        again = Book(self.larp.book.larp)
        for recorded, applied in zip(self.larp.journal, self.larp.applied, strict=True):
            read = READER.read(recorded.position, recorded.body, recorded.hash)
            assert read == recorded
            folded = again.apply(read)
            assert (folded.table, folded.view()) == (applied.table, applied.view())
        assert again.tables.get("t") == self.larp.book.tables.get("t")
        assert dict(again.balances.items()) == self.larp.balances()

    def _commitments_hold(self) -> None:
        sealed: set[str] = set()
        for recorded in self.larp.journal:
            data = json.loads(recorded.body)["data"]
            sealed |= {s["commitment"] for s in data.get("sealed", [])}
            if isinstance(recorded.event, UncoversValues):
                for uncovered in recorded.event.uncovered:
                    assert holds(uncovered)
                    assert uncovered.commitment in sealed
                    sealed.remove(uncovered.commitment)

    def is_closed_and_empty(self) -> None:
        """A closed table has an empty pot and no lids."""
        assert self.view["turn"] is None and self.view["waiting_for"] == []
        accounts = ["pot/t", "middle/t", *(money.seat("t", seat) for seat in self.seats)]
        assert [self.account(account) for account in accounts] == [{}] * len(accounts)
        assert "lid" not in self.account("mint")


def events(applied: Sequence[Applied]) -> list[Event]:
    return [a.recorded.event for a in applied]


def names(came: Sequence[Event]) -> list[str]:
    """The tags of what came, without game and version."""
    return [event.TYPE.split(".")[-2] for event in came]


def won_by(best: tuple[int, ...], *, loser: str = "carla") -> dict[str, tuple[int, ...]]:
    """A round in which anna throws `best` and `loser` the lowest."""
    return {seat: best if seat == "anna" else LOW if seat == loser else (6, 5, 3) for seat in FOUR}


def bodies(table: Table) -> str:
    """All that is recorded and all that was ever shown, as text."""
    shown = [msgspec.json.encode(a.view()).decode() for a in table.larp.applied if a.view()]
    return "\n".join([*(r.body.decode() for r in table.larp.journal), *shown])
