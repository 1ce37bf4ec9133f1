"""The state of one LARP in memory: a fold of its journal, from which commands are decided.

It can be thrown away and loaded again at any time. A batch is decided on a `fork`, whose changes reach the
Book only by `merge`, after the commit; a fork that is dropped has never been.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Generic, TypeVar, cast

from msgspec import Struct

from ledger import chain, money, plans, purses, wire
from ledger.errors import AlreadyExists, Damaged, Malformed, TableClosed, UnknownLarp, UnknownTable
from ledger.games import GAMES
from ledger.games.game import Game
from ledger.games.play import Setting
from ledger.games.table import Action, Opening, TableOpened, TableState, TableView, UncoversValues
from ledger.messages import Command, Decision, Draft, Event, Secret
from ledger.recorded import Reader, Recorded
from ledger.sealing import Chance

K = TypeVar("K")
V = TypeVar("V")

BY_NAME: Mapping[str, Game[Any]] = {game.name: game for game in GAMES}
EVENTS: tuple[type[Event], ...] = tuple(
    dict.fromkeys([*purses.EVENTS, *(event for game in GAMES for event in game.events)])
)
READER = Reader(EVENTS, (upcaster for game in GAMES for upcaster in game.upcasters))
_ACTIONS = {game.name: wire.decoder_of(*game.actions) for game in GAMES}


class ActRequest(Struct, frozen=True):
    """An action as it was sent. Which game's words it must be in depends on the table, so the Book decodes it."""

    table: str
    body: bytes


class Act(Struct, frozen=True):
    """An action at the table that the path names."""

    table: str
    action: Action

    @property
    def at(self) -> datetime | None:
        return self.action.at


class VoidTable(Command, frozen=True, kw_only=True):
    """Give everything back and close the table."""

    reason: purses.Reason


class Void(Struct, frozen=True):
    """The table that the path names, and why it is voided."""

    table: str
    void: VoidTable

    @property
    def at(self) -> datetime | None:
        return self.void.at


LarpCommand = purses.MoneyCommand | purses.FoundLarp | Opening | Act | Void
Request = LarpCommand | ActRequest


class Character(Struct, frozen=True):
    name: str
    credit_limit: Mapping[str, int]


class OpenTable(Struct, frozen=True):
    """A table that is played, with its game."""

    game: str
    state: TableState


class Over(Struct, frozen=True):
    """What is left of a table that is over: its game, and the position of its last event."""

    game: str
    position: int


class Entry(Struct, frozen=True, gc=False):
    """What one posting did to one account: the change (below 0: out) and the balance after it."""

    account: str
    asset: str
    change: int
    balance: int


class Applied(Struct, frozen=True, gc=False):
    """An event and all that projections need to know of it: entries in the order of postings, from before to.

    `table`: after the event; `before`: before it, None if it opened the table.
    """

    recorded: Recorded
    entries: tuple[Entry, ...]
    game: Game[Any] | None
    table: TableState | None
    before: TableState | None = None

    def view(self) -> TableView | None:
        """The table after the event, as everybody may see it."""
        if self.game is None or self.table is None:
            return None
        return self.game.view(self.table)


_UNCHANGED: Final[Any] = object()


class Layer(Generic[K, V]):
    """A mapping whose changes lie on top of another until they are merged. Setting None removes a key."""

    def __init__(self, below: "Layer[K, V] | None" = None) -> None:
        self._below = below
        self._own: dict[K, V | None] = {}

    def get(self, key: K) -> V | None:
        layer: Layer[K, V] | None = self
        while layer is not None:
            found = layer._own.get(key, _UNCHANGED)
            if found is not _UNCHANGED:
                return found
            layer = layer._below
        return None

    def put(self, key: K, value: V | None) -> None:
        if value is None and self._below is None:
            self._own.pop(key, None)
        else:
            self._own[key] = value

    def merge(self) -> None:
        """Let what lies below have the changes."""
        assert self._below is not None, "only a fork has something to merge into"
        for key, value in self._own.items():
            self._below.put(key, value)
        self._own.clear()

    def lie_on(self, below: "Layer[K, V]") -> None:
        """Lie on another layer from now on."""
        self._below = below

    def items(self) -> Iterable[tuple[K, V]]:
        """What is there, in no order; for a layer with nothing below it."""
        assert self._below is None, "a fork is merged or dropped, never listed"
        return cast("Iterable[tuple[K, V]]", self._own.items())


class Book:
    """One LARP. `position` 0 is a LARP that has not been founded."""

    def __init__(self, larp: str, *, below: "Book | None" = None) -> None:
        self.larp = larp
        self._below = below
        self.position: int = below.position if below else 0
        self.hash: bytes = below.hash if below else chain.GENESIS
        self.recorded_at: datetime | None = below.recorded_at if below else None
        self.kinds: Layer[str, money.Kind] = Layer(below.kinds if below else None)
        self.characters: Layer[str, Character] = Layer(below.characters if below else None)
        self.balances: Layer[tuple[str, str], int] = Layer(below.balances if below else None)
        self.tables: Layer[str, OpenTable | Over] = Layer(below.tables if below else None)
        self.reversed: Layer[int, bool] = Layer(below.reversed if below else None)
        self.secrets: Layer[str, Mapping[str, Secret]] = Layer(below.secrets if below else None)
        if below is None:
            for asset in money.BUILT_IN_ASSETS:
                self.kinds.put(asset.asset, asset.kind)

    # ---- forks ----

    def fork(self) -> "Book":
        """The same LARP, to try something on."""
        return Book(self.larp, below=self)

    def merge(self) -> None:
        """What was tried on this fork has happened."""
        assert self._below is not None, "only a fork is merged"
        for layer in self._layers():
            layer.merge()
        self._below.position, self._below.hash, self._below.recorded_at = self.position, self.hash, self.recorded_at

    def lie_on(self, book: "Book") -> None:
        """Let this fork, of a fork that has been merged into `book`, be the book's own."""
        self._below = book
        for own, below in zip(self._layers(), book._layers(), strict=True):
            own.lie_on(below)

    def _layers(self) -> Sequence[Layer[Any, Any]]:
        return (self.kinds, self.characters, self.balances, self.tables, self.reversed, self.secrets)

    # ---- what decisions ask (money.Holdings, play.People, purses.Ledger) ----

    def balance(self, account: str, asset: str) -> int:
        return self.balances.get((account, asset)) or 0

    def kind(self, asset: str) -> money.Kind | None:
        return self.kinds.get(asset)

    def credit_limit(self, character: str, asset: str) -> int:
        found = self.characters.get(character)
        return found.credit_limit.get(asset, 0) if found else 0

    def has_character(self, character: str) -> bool:
        return self.characters.get(character) is not None

    def has_table(self, table: str) -> bool:
        return self.tables.get(table) is not None

    def is_reversed(self, position: int) -> bool:
        return self.reversed.get(position) is not None

    def position_of(self, request: "Request") -> int:
        """The position that a conditional write refers to: the table's for what is done at a table, else the head.

        Raises UnknownTable.
        """
        if not isinstance(request, ActRequest | Act | Void):
            return self.position
        match self.tables.get(request.table):
            case OpenTable(state=state):
                return state.position
            case Over(position=position):
                return position
            case None:
                raise UnknownTable(f"there is no table {request.table!r} in this LARP")

    def game_of(self, table: str) -> Game[Any] | None:
        """The game of an open or ended table, None for a table that has never been."""
        found = self.tables.get(table)
        return BY_NAME[found.game] if found else None

    # ---- decide ----

    def resolve(self, request: Request) -> LarpCommand:
        """The command that was sent. Raises Malformed, or UnknownTable for what would be well-formed elsewhere."""
        if not isinstance(request, ActRequest):
            return request
        if (game := self.game_of(request.table)) is not None:
            return Act(request.table, wire.decode(_ACTIONS[game.name], request.body))
        for at, decoder in enumerate(_ACTIONS.values(), start=1):
            try:
                wire.decode(decoder, request.body)
                break
            except Malformed:
                if at == len(_ACTIONS):
                    raise
        raise UnknownTable(f"there is no table {request.table!r} in this LARP")

    def _found(self, command: purses.FoundLarp) -> Decision:
        if self.position:
            raise AlreadyExists(f"there is a LARP {self.larp!r} already")
        founded = purses.LarpFounded(larp=command.larp, name=command.name, language=command.language)
        return Decision((Draft(founded),))

    def decide(self, command: LarpCommand, entropy: bytes, original: Recorded | None = None) -> Decision:
        """What comes of a command; nothing is changed. `entropy`: 32 unpredictable bytes for dice and nonces.

        `original`: the event at the position that a reversal names. Raises a Refused.
        """
        if isinstance(command, purses.FoundLarp):
            return self._found(command)
        if self.position == 0:
            raise UnknownLarp(f"there is no LARP {self.larp!r}")
        match command:
            case Opening():
                game = next(game for game in GAMES if isinstance(command, game.opening))
                return game.decide_opening(command, self._setting(command.table, entropy))
            case Act():
                game, state = self._open_table(command.table)
                return game.decide_action(state, command.action, self._setting(command.table, entropy))
            case Void():
                game, state = self._open_table(command.table)
                return game.decide_void(state, command.void.reason, self._setting(command.table, entropy))
            case money_command:
                return Decision(purses.decide(self, money_command, original))

    def _setting(self, table: str, entropy: bytes) -> Setting:
        return Setting(larp=self, chance=Chance(entropy), secrets=self.secrets.get(table) or {})

    def _open_table(self, table: str) -> tuple[Game[Any], TableState]:
        match self.tables.get(table):
            case OpenTable(game=game, state=state):
                return BY_NAME[game], state
            case Over():
                raise TableClosed(f"the game at {table} is over")
            case None:
                raise UnknownTable(f"there is no table {table!r} in this LARP")

    # ---- evolve ----

    def apply(self, recorded: Recorded) -> Applied:
        """What happened. It never refuses; it raises Damaged for an event that does not follow this one."""
        if recorded.position != self.position + 1:
            raise Damaged(f"position {recorded.position} follows {self.position}")
        entries = tuple(self._moved(recorded))
        game, before, table = self._evolve(recorded)
        self.position, self.hash, self.recorded_at = recorded.position, recorded.hash, recorded.recorded_at
        return Applied(recorded, entries, game, table, before)

    def _moved(self, recorded: Recorded) -> Iterable[Entry]:
        for posting in recorded.postings:
            for account, change in ((posting.from_, -posting.amount), (posting.to, posting.amount)):
                key = (account, posting.asset)
                balance = (self.balances.get(key) or 0) + change
                self.balances.put(key, balance or None)
                yield Entry(account, posting.asset, change, balance)

    def _evolve(self, recorded: Recorded) -> tuple[Game[Any] | None, TableState | None, TableState | None]:
        if recorded.table is not None:
            return self._evolve_table(recorded.table, recorded)
        match recorded.event:
            case purses.AssetDefined(asset=asset, kind=kind):
                self.kinds.put(asset, kind)
            case purses.CharacterAdded(character=character, name=name, credit_limit=limits):
                self.characters.put(character, Character(name, limits))
            case purses.CharacterChanged(character=character, name=name, credit_limit=limits):
                known = self.characters.get(character)
                assert known is not None, "only a character that was added is changed"
                self.characters.put(character, Character(name or known.name, {**known.credit_limit, **limits}))
            case purses.Reversed(position=position):
                self.reversed.put(position, True)
            case purses.LarpFounded() | purses.Granted() | purses.Collected() | purses.Transferred():
                pass
            case purses.NoteIssued() | purses.NoteSettled() | purses.NoteForgiven() | purses.NoteAssigned():
                pass
            case plans.NotePlanSettled():
                pass
            case other:
                raise Damaged(f"position {recorded.position}: {other.TYPE} belongs to a table and names none")
        return None, None, None

    def _evolve_table(self, table: str, recorded: Recorded) -> tuple[Game[Any], TableState | None, TableState]:
        event = recorded.event
        match self.tables.get(table):
            case OpenTable(game=name, state=state):
                game: Game[Any] = BY_NAME[name]
                before: TableState | None = state
            case Over() | None:
                if not isinstance(event, TableOpened):
                    raise Damaged(f"position {recorded.position}: table {table} is not open")
                game, before = BY_NAME[event.game], None
        after = game.fold(before, event, recorded.postings, at=recorded.at, position=recorded.position)
        if after.is_over:
            self.tables.put(table, Over(game.name, after.position))
            self.secrets.put(table, None)
        else:
            self.tables.put(table, OpenTable(game.name, after))
            if isinstance(event, UncoversValues):
                self._forget(table, event)
        return game, before, after

    # ---- hidden values: they come with a decision, or are loaded for open tables ----

    def keep(self, secrets: Iterable[Secret]) -> None:
        """Hidden values that deciding may need. Those of a table that is over are not kept."""
        for secret in secrets:
            if not isinstance(self.tables.get(secret.table), Over):
                known = self.secrets.get(secret.table) or {}
                self.secrets.put(secret.table, {**known, secret.commitment: secret})

    def _forget(self, table: str, event: UncoversValues) -> None:
        shown = {uncovered.commitment for uncovered in event.uncovered}
        known = self.secrets.get(table) or {}
        self.secrets.put(table, {c: secret for c, secret in known.items() if c not in shown} or None)


def table_history(events: Iterable[Recorded]) -> Iterable[Applied]:
    """The events of one table from its opening on, each with the table after it: nothing else is needed."""
    game: Game[Any] | None = None
    state: TableState | None = None
    for recorded in events:
        if isinstance(recorded.event, TableOpened):
            game = BY_NAME[recorded.event.game]
        assert game is not None, "the first event of a table opens it"
        before = state
        state = game.fold(before, recorded.event, recorded.postings, at=recorded.at, position=recorded.position)
        yield Applied(recorded, (), game, state, before)
