"""One LARP with one table, at which every step of whatever game is checked.

What is checked holds for all games: see `World._check_...`. The money is modelled from the recorded bytes alone,
and a second Book follows the journal by reading those bytes, as another process would.
"""

import json
import random
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from ledger import money, purses, sealing, wire
from ledger.book import READER, ActRequest, Applied, Book, OpenTable, Request, Void, VoidTable
from ledger.errors import Refused
from ledger.games import GAMES
from ledger.games.game import Game
from ledger.games.table import SealsValues, UncoversValues
from ledger.messages import Actor, Decision, Draft, Secret
from ledger.recorded import Recorded, record
from ledger.sealing import ENTROPY_BYTES
from tests.games.every_game_branches import Branches
from tests.games.every_game_twin import DIGEST, Twin, all_but_secrets, copy_of, looking_back, outcome_of
from tests.games.players import Json, Player

TABLE = "t"
CHARACTERS = ("alva", "birk", "disa", "embla", "frej", "gaute", "hilde", "ivar")
STRANGER = "kurt"
ASSETS = {"krona": "token", "drink": "promise", "schnapps": "promise"}
WORDS = (*CHARACTERS, *CHARACTERS, STRANGER, "nobody", *ASSETS, "lid", "gold", TABLE)
"""Names for `every_game_fuzz`: some mean something here."""

_OPENINGS = wire.decoder_of(*(game.opening for game in GAMES))
_ORGANISER = Actor(role="organiser", token="tok_test")


class World:
    """Sends requests to one table and checks whatever comes of them."""

    def __init__(self, game: Game[Any], player: Player, seed: object, branches: Branches) -> None:
        self.game, self.player, self.branches = game, player, branches
        self.rng = random.Random(str(seed))
        self.book, self.follower = Book("test"), Book("test")
        self.restored: Book | None = None
        self.twin: Twin | None = None
        self.journal: list[Recorded] = []
        self.hidden: dict[str, Secret] = {}
        self.model: dict[tuple[str, str], int] = {}
        self.outside: dict[tuple[str, str], int] = {}
        """What every account would hold had there been no table; what a void must give."""
        self.shown: bytes = b"null"
        self.phases: set[str] = set()
        self._clock = datetime(2026, 11, 1, 20, 0, tzinfo=UTC)
        self._settle_down()

    def _settle_down(self) -> None:
        """Some characters are rich, some poor; some may owe something."""
        self._record(Draft(purses.LarpFounded(larp="test", name="test", language="en")))
        for asset, kind in ASSETS.items():
            if kind == "token":
                self.command(purses.DefineAsset(asset=asset, kind="token", name=asset))
        for name in (*CHARACTERS, STRANGER):
            limits = {"krona": self.rng.choice([0, 3, 30])}
            self.command(purses.AddCharacter(character=name, name=name.title(), credit_limit=limits))
            if has := self.rng.choice([0, 4, 20, 60, 60]):
                self.command(purses.Grant(to=name, asset="krona", amount=has))

    # ---- requests; each answers None, or the code of the refusal ----

    def opening(self, body: Json) -> str | None:
        try:
            command = wire.decode(_OPENINGS, msgspec.json.encode(body))
        except Refused as refused:
            return self._refused(refused.code, refused.detail)
        return self.command(command)

    def act(self, body: Json) -> str | None:
        return self.command(ActRequest(TABLE, msgspec.json.encode(body)), body)

    def void(self) -> str | None:
        return self.command(Void(TABLE, VoidTable(reason="time to sleep")))

    def spend(self) -> None:
        """Somebody's purse or limit changes, whatever the table is doing."""
        who, amount = self.rng.choice(CHARACTERS), self.rng.choice([1, 5, 20])
        match self.rng.randrange(5):
            case 0:
                self.command(purses.Reverse(position=self.rng.randint(1, len(self.journal)), reason="a slip"))
            case 1:
                self.command(purses.Grant(to=who, asset="krona", amount=amount))
            case 2:
                self.command(purses.Collect(from_=who, asset="krona", amount=amount))
            case 3:
                self.command(purses.Transfer(from_=who, to=self.rng.choice(CHARACTERS), asset="krona", amount=amount))
            case _:
                changes = purses.CharacterChanges(credit_limit={"krona": self.rng.choice([0, 3, 30])})
                self.command(purses.ChangeCharacter(who, changes))

    def command(self, request: Request, body: Json | None = None) -> str | None:
        entropy = self.rng.randbytes(ENTROPY_BYTES)
        before = self._everything()
        try:
            command = self.book.resolve(request)
        except Refused as refused:
            return self._refused(refused.code, refused.detail, before)
        original = self.journal[command.position - 1] if isinstance(command, purses.Reverse) else None
        outcome = outcome_of(self.book, command, entropy, original)
        if self.rng.random() < 0.2:
            state = self._state()
            assert outcome_of(self.book, command, entropy, original) == outcome, "deciding is not pure"
            assert self._state() == state, "deciding changed the state"
        assert self._everything() == before, "deciding changed something"
        if self.restored is not None:
            restored = outcome_of(self.restored, command, entropy, original)
            assert restored == outcome, "a restored Book decides otherwise"
        if self.twin is not None:
            self.twin.decide(request, body, self.view, entropy, outcome, original)
        if not isinstance(outcome, Decision):
            return self._refused(*outcome, before)
        applied = self._record_all(outcome)
        self._check_all()
        if self.twin is not None and not self.twin.follows(applied, self._recorded_in):
            self.disguise()
        return None

    # ---- what bots may know ----

    @property
    def view(self) -> Json:
        view: Json = json.loads(self.shown)
        return view

    @property
    def is_open(self) -> bool:
        return isinstance(self.book.tables.get(TABLE), OpenTable)

    def sealed_for(self, seat: str) -> list[Json]:
        """What GET .../sealed shows to the player of `seat`."""
        mine = [secret for secret in self.hidden.values() if secret.seat == seat]
        return [{"seat": secret.seat, "what": secret.what, "value": secret.value} for secret in mine]

    # ---- recording ----

    def _record_all(self, decision: Decision) -> list[Applied]:
        """As the writer does: on a fork that is merged, at times after one that is dropped."""
        root, before = self.book, self._everything()
        if self.rng.random() < 0.1:
            dropped = root.fork()
            dropped.keep(decision.secrets)
            for draft in decision.drafts:
                dropped.apply(self._recorded_in(dropped, draft))
            assert self._everything() == before, "a fork that was dropped has been"
        self.book = root.fork() if self.rng.random() < 0.5 else root
        self._keep(decision.secrets)
        applied = [self._record(draft) for draft in decision.drafts]
        if self.book is not root:
            self.book.merge()
            self.book = root
        return applied

    def _record(self, draft: Draft) -> Applied:
        self._clock += timedelta(seconds=1)
        recorded = self._recorded_in(self.book, draft)
        applied = self.book.apply(recorded)
        self.journal.append(recorded)
        read = READER.read(recorded.position, recorded.body, recorded.hash)
        assert read == recorded, "an event is not what its bytes say"
        again = self.follower.apply(read)
        assert again == applied, "the journal, read from bytes, gives another state"
        if self.restored is not None:
            assert self.restored.apply(read).table == applied.table, "a restored Book evolves otherwise"
        if recorded.table is not None:
            self.shown = msgspec.json.encode(applied.view())
            assert msgspec.json.encode(again.view()) == self.shown
            self.branches.happened(recorded.event)
        self._check_hidden(recorded, looking_back(applied))
        self._model_money(recorded)
        return applied

    def _recorded_in(self, book: Book, draft: Draft) -> Recorded:
        return record(
            draft,
            larp=book.larp,
            position=book.position + 1,
            previous=book.hash,
            id=str(uuid.UUID(int=book.position + 1)),
            at=self._clock,
            recorded_at=self._clock,
            actor=_ORGANISER,
        )

    def _keep(self, secrets: Sequence[Secret]) -> None:
        self.hidden |= {secret.commitment: secret for secret in secrets}
        for book in (self.book, self.restored):
            if book is not None:
                book.keep(secrets)

    def read_again(self) -> None:
        """The whole journal, folded once more from its bytes, gives the Book as it is."""
        again = Book(self.book.larp)
        for recorded in self.journal:
            again.apply(READER.read(recorded.position, recorded.body, recorded.hash))
        assert again.hash == self.book.hash
        assert all_but_secrets(again) == all_but_secrets(self.book)

    def restore(self) -> None:
        """From here on a Book that was restored from a snapshot decides and evolves along."""
        self.restored = copy_of(self.book, TABLE)

    def disguise(self) -> None:
        """From here on there is a twin."""
        self.twin = Twin(self.book, TABLE, self.player, self.rng)

    # ---- checks ----

    def _everything(self) -> tuple[Any, ...]:
        book = self.book
        secrets = book.secrets.get(TABLE)
        return (book.position, book.hash, dict(book.balances.items()), book.tables.get(TABLE), secrets)

    def _state(self) -> bytes:
        """The table's state as bytes: frozen as it is, a mapping in it could still be changed."""
        table = self.book.tables.get(TABLE)
        return msgspec.json.encode(table.state) if isinstance(table, OpenTable) else b""

    def _refused(self, code: str, detail: str, before: tuple[Any, ...] | None = None) -> str:
        """A refusal changes nothing and tells nothing."""
        assert detail and not set(DIGEST.findall(detail.encode())) & self._nonces()
        assert before is None or self._everything() == before, f"{code} changed something"
        self.branches.refused(code)
        return code

    def _nonces(self) -> set[bytes]:
        return {secret.nonce.encode() for secret in self.hidden.values()}

    def _check_hidden(self, recorded: Recorded, told: bytes) -> None:
        event = recorded.event
        if isinstance(event, UncoversValues):
            for uncovered in event.uncovered:
                secret = self.hidden.pop(uncovered.commitment)
                assert sealing.holds(uncovered)
                assert (uncovered.value, uncovered.nonce) == (secret.value, secret.nonce)
        if isinstance(event, SealsValues):
            assert {sealed.commitment for sealed in event.sealed} <= set(self.hidden)
        digests = set(DIGEST.findall(recorded.body + self.shown + told))
        assert not digests & self._nonces(), "the nonce of a hidden value"

    def _model_money(self, recorded: Recorded) -> None:
        """`model` and `outside` from the bytes; `outside` without what moved to, from or at the table."""
        for posting in json.loads(recorded.body)["postings"]:
            asset, amount = posting["asset"], posting["amount"]
            assert isinstance(amount, int) and amount > 0 and posting["from"] != posting["to"]
            at_table = any(_is_of_table(posting[end]) for end in ("from", "to"))
            for account, change in ((posting["from"], -amount), (posting["to"], amount)):
                _add(self.model, (account, asset), change)
                if not at_table:
                    _add(self.outside, (account, asset), change)

    def _check_all(self) -> None:
        balances = dict(self.book.balances.items())
        assert balances == self.model, "balances are not the sums of the postings"
        sums: dict[str, int] = {}
        for (account, asset), amount in balances.items():
            sums[asset] = sums.get(asset, 0) + amount
            assert amount >= 0 or money.may_go_below_zero(account), f"{account} has {amount} {asset}"
            assert asset == "lid" or not account.startswith("middle/")
            came_home = money.is_note(asset) and account == money.purse(money.note_parts(asset)[0])
            assert not came_home, f"{account} holds its own {asset}"
        assert not any(sums.values()), f"sums are not 0: {sums}"
        if self.book.tables.get(TABLE) is not None:
            self._check_table(balances)

    def _check_table(self, balances: Mapping[tuple[str, str], int]) -> None:
        view = self.view
        self.phases.add(view["phase"])
        here = {key: n for key, n in balances.items() if _is_of_table(key[0]) and key[0] != money.BURNT}
        lids = sum(n for (_, asset), n in here.items() if asset == "lid")
        characters = [seat["character"] for seat in view["seats"]]
        assert view["pot"] == {asset: n for (account, asset), n in here.items() if account == money.pot(TABLE)}
        assert {account.split("/")[2] for account, _ in here if account.startswith("seat/")} <= set(characters)
        assert view["position"] <= self.book.position
        if self.is_open:
            assert lids == view["rules"].get("lids", 0) == -balances.get(("mint", "lid"), 0)
            assert {view["turn"], *view["waiting_for"]} <= {None, *characters}
            assert view["waiting_for"], "an open table waits for somebody"
            assert (view["winner"], view["closed_at"]) == (None, None)
            self._check_void_would_give_back_everything(balances)
            return
        assert here == {} and ("mint", "lid") not in balances, "a closed table keeps something"
        assert view["phase"] in ("closed", "voided")
        assert (view["turn"], view["waiting_for"]) == (None, [])
        if view["phase"] == "voided":
            assert balances == self.outside, "a void gave back something else than what was paid in"

    def _check_void_would_give_back_everything(self, balances: Mapping[tuple[str, str], int]) -> None:
        """At any point: purses, debts, the mint and what was burnt are as if there had been no table."""
        after = dict(balances)
        for draft in self.book.decide(Void(TABLE, VoidTable(reason="a probe")), bytes(ENTROPY_BYTES)).drafts:
            for posting in draft.postings:
                _add(after, (posting.from_, posting.asset), -posting.amount)
                _add(after, (posting.to, posting.asset), posting.amount)
        assert after == self.outside, "a void would give back something else than what was paid in"


def _is_of_table(account: str) -> bool:
    kind = account.partition("/")[0]
    return kind in ("pot", "middle", "seat", money.BURNT)


def _add(amounts: dict[tuple[str, str], int], key: tuple[str, str], change: int) -> None:
    total = amounts.get(key, 0) + change
    if total:
        amounts[key] = total
    else:
        amounts.pop(key, None)
