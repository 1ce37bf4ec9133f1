"""A LARP in memory: the real Book and the real events, without a database or a server."""

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from ledger import purses
from ledger.book import Act, Applied, Book, LarpCommand, Void, VoidTable
from ledger.games import GAMES
from ledger.messages import Actor, Draft
from ledger.recorded import Recorded, record
from ledger.sealing import ENTROPY_BYTES
from ledger.wire import decoder_of

ORGANISER = Actor(role="organiser", token="tok_test")
COMMANDS = {
    "assets": purses.DefineAsset,
    "characters": purses.AddCharacter,
    "grants": purses.Grant,
    "collections": purses.Collect,
    "transfers": purses.Transfer,
    "ious": purses.IssueNote,
    "settlements": purses.Settle,
    "forgivals": purses.Forgive,
    "assignments": purses.Assign,
    "reversals": purses.Reverse,
}
OPENINGS = decoder_of(*(game.opening for game in GAMES))
ACTIONS = {game.name: decoder_of(*game.actions) for game in GAMES}


class MemoryLarp:
    """Decides, records and applies, one command after the other, and remembers everything."""

    def __init__(self, name: str = "test", *, entropy: bytes = b"") -> None:
        self.book = Book(name)
        self.journal: list[Recorded] = []
        self.applied: list[Applied] = []
        self._entropy = entropy
        self._clock = datetime(2026, 11, 1, 20, 0, tzinfo=UTC)
        self._record(Draft(purses.LarpFounded(larp=name, name=name, language="en")))

    def do(self, command: LarpCommand) -> Sequence[Applied]:
        """Carry a command out. Raises a Refused, and then nothing has changed."""
        original = None
        if isinstance(command, purses.Reverse) and command.position <= len(self.journal):
            original = self.journal[command.position - 1]
        decision = self.book.decide(command, self._next_entropy(), original)
        self.book.keep(decision.secrets)
        return [self._record(draft) for draft in decision.drafts]

    def _next_entropy(self) -> bytes:
        import hashlib

        self._entropy = hashlib.sha256(b"entropy" + self._entropy).digest()
        assert len(self._entropy) == ENTROPY_BYTES
        return self._entropy

    def _record(self, draft: Draft) -> Applied:
        self._clock += timedelta(seconds=1)
        recorded = record(
            draft,
            larp=self.book.larp,
            position=self.book.position + 1,
            previous=self.book.hash,
            id=str(uuid.UUID(int=self.book.position + 1)),
            at=self._clock,
            recorded_at=self._clock,
            actor=ORGANISER,
        )
        applied = self.book.apply(recorded)
        self.journal.append(recorded)
        self.applied.append(applied)
        return applied

    # ---- reading ----

    def balances(self) -> dict[tuple[str, str], int]:
        return dict(self.book.balances.items())

    def account(self, account: str) -> dict[str, int]:
        return {asset: n for (a, asset), n in self.book.balances.items() if a == account}

    def view(self, table: str) -> dict[str, Any]:
        """The table's view as JSON, as of its last event."""
        applied = next(a for a in reversed(self.applied) if a.recorded.table == table)
        return json.loads(msgspec.json.encode(applied.view()))


def command_of(book: Book, method: str, path: str, body: Mapping[str, Any]) -> LarpCommand:
    """The command that a request stands for. Raises msgspec.ValidationError for a malformed body."""
    raw, parts = json.dumps(body).encode(), path.strip("/").split("/")
    match method, parts:
        case "PATCH", ["characters", character]:
            return purses.ChangeCharacter(character, msgspec.json.decode(raw, type=purses.CharacterChanges))
        case "POST", ["tables"]:
            return OPENINGS.decode(raw)
        case "POST", ["tables", table, "actions"]:
            game = book.game_of(table)
            return Act(table, ACTIONS[game.name if game else GAMES[0].name].decode(raw))
        case "POST", ["tables", table, "void"]:
            return Void(table, msgspec.json.decode(raw, type=VoidTable))
        case "POST", [what]:
            named = {"command": COMMANDS[what].__struct_config__.tag, **body}
            return msgspec.json.decode(json.dumps(named).encode(), type=COMMANDS[what])
    raise AssertionError(f"no such request: {method} {path}")
