"""How a game decides: one action unfolding, event by event, and the guards and payments that all games share.

A `Play` is the notebook of one pure decision. It starts from a state that it never changes, takes chance and
balances as they came with the command, and ends as a `Decision`; whoever throws it away has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from msgspec import Meta, Struct

from ledger import money, sealing
from ledger.errors import (
    AlreadyExists,
    DiceNotAccepted,
    DiceRequired,
    HiddenValueLost,
    InvalidRules,
    NotSeated,
    NotYourTurn,
    UnknownCharacter,
    WrongPhase,
)
from ledger.games import table as tables
from ledger.games.table import Movement, Opening, TableClosed, TableOpened, TableState, TableVoided
from ledger.messages import Decision, Draft, Event, Posting, Sealed, Secret, Uncovered

if TYPE_CHECKING:
    from ledger.games.game import Game

S = TypeVar("S", bound=TableState)
V = TypeVar("V")


class People(money.Holdings, Protocol):
    """What a decision needs to know of the LARP."""

    def has_character(self, character: str) -> bool: ...

    def has_table(self, table: str) -> bool: ...


class Setting(Struct, frozen=True):
    """What comes with an action besides its words: the LARP, chance, and the hidden values of the table."""

    larp: People
    chance: sealing.Chance
    secrets: Mapping[str, Secret]


class Play(Generic[S]):
    """One action unfolding at one table."""

    def __init__(self, game: Game[S], state: S | None, setting: Setting) -> None:
        self._game = game
        self._state = state
        self.larp = setting.larp
        self.till = money.Till(setting.larp)
        self.chance = setting.chance
        self._known = dict(setting.secrets)
        self._drafts: list[Draft] = []
        self._secrets: list[Secret] = []

    @property
    def state(self) -> S:
        """The table after all that was recorded so far."""
        assert self._state is not None, "the first event of a table opens it"
        return self._state

    def record(self, event: Event, postings: Iterable[Posting] = ()) -> None:
        """What happened next. The postings were made with `self.till` (see the payments below)."""
        made = tuple(postings)
        self._state = self._game.fold(self._state, event, made)
        self._drafts.append(Draft(event, made, self._state.table))

    def decision(self) -> Decision:
        return Decision(tuple(self._drafts), tuple(self._secrets), self.chance.rolled)

    # ---- guards, in the order in which they apply (rules/README.md) ----

    def require_seat(self, seat: str) -> None:
        """Raises NotSeated for who has no seat and for who has left."""
        if seat not in self.state.seats:
            raise NotSeated(f"{seat} has no seat at {self.state.table}: {', '.join(self.state.seats)} have one")
        if seat in self.state.left:
            raise NotSeated(f"{seat} has left {self.state.table}")

    def require_phase(self, *phases: str) -> None:
        if self.state.phase not in phases:
            raise WrongPhase(f"{self.state.table} is in phase {self.state.phase}, this takes {' or '.join(phases)}")

    def require_turn(self, seat: str, turn: str | None) -> None:
        if seat != turn:
            raise NotYourTurn(
                f"it is {turn}'s turn, not {seat}'s" if turn else f"it is nobody's turn, {seat}'s neither"
            )

    def thrown(self, brought: V | None, roll: Callable[[sealing.Chance], V], what: str) -> V:
        """What the dice show: as brought at a reported table, rolled here at a service table.

        Raises DiceRequired and DiceNotAccepted; `what` names the key of the action, such as "number".
        """
        if self.state.dice == "service":
            if brought is not None:
                raise DiceNotAccepted(f"the service rolls at {self.state.table}: leave {what} out")
            return roll(self.chance)
        if brought is None:
            raise DiceRequired(f"real dice are rolled at {self.state.table}: {what} must say what they show")
        return brought

    # ---- payments; each returns the postings for `record` ----

    def pay_stake(self, seat: str, amount: int | None = None, why: str = "the stake is") -> tuple[Posting, ...]:
        """`amount` (default: one stake) of the stake's asset into the pot; on credit where the table gives it."""
        stake = self.state.stake
        assert stake is not None, "a game that asks for a stake requires one at opening"
        return self.till.pay(
            seat,
            money.pot(self.state.table),
            stake.asset,
            stake.amount if amount is None else amount,
            credit=self.state.credit,
            why=why,
        )

    def require_stake(self, seat: str, why: str = "the stake is") -> None:
        """Raises what paying one stake would raise."""
        stake = self.state.stake
        assert stake is not None, "a game that asks for a stake requires one at opening"
        self.till.require_cover(seat, stake.asset, stake.amount, credit=self.state.credit, why=why)

    def moved(self, movements: Iterable[Movement]) -> tuple[Posting, ...]:
        return tuple(self.till.move(*movement) for movement in movements)

    def emptied(self, account: str, character: str) -> tuple[Posting, ...]:
        """All that lies in `account` goes to `character`, notes of its own go home."""
        amounts = self.state.held.get(account, {})
        return tuple(self.till.give(account, character, asset, n) for asset, n in sorted(amounts.items()))

    def undone(self, postings: Iterable[Posting]) -> tuple[Posting, ...]:
        """A payment goes back as it was paid."""
        return self.moved(money.turned_round(postings))

    # ---- hidden values ----

    def seal(self, seat: str | None, what: str, value: Any) -> Sealed:
        """Hide `value` (JSON builtins); the event that is recorded next carries what is returned."""
        sealed, secret = self.chance.seal(self.state.table, seat, what, value)
        self._secrets.append(secret)
        self._known[secret.commitment] = secret
        return sealed

    def uncover(self, sealed: Sealed) -> Uncovered:
        """The value behind a commitment, for the event that shows it. Raises HiddenValueLost."""
        return sealing.uncover(self._hidden(sealed))

    def peek(self, sealed: Sealed) -> Any:
        """The value behind a commitment, for judging; it must not get into an event or a refusal."""
        return self._hidden(sealed).value

    def _hidden(self, sealed: Sealed) -> Secret:
        """A LARP that was imported from a journal has none of what its tables hid at that moment."""
        if (secret := self._known.get(sealed.commitment)) is None:
            raise HiddenValueLost(f"a hidden {sealed.what} was not in the journal that was imported: void the table")
        return secret

    # ---- the end ----

    def win(self, winner: str) -> None:
        """The winner takes the whole pot, tokens and notes, and the table closes."""
        postings = self.emptied(money.pot(self.state.table), winner)
        self.record(TableClosed(how="won", winner=winner), postings)

    def draw(self) -> None:
        """Each seat takes back what it paid in, as it was paid, and the table closes."""
        self.record(TableClosed(how="drawn", winner=None), self.moved(tables.all_given_back(self.state)))

    def void(self, reason: str) -> None:
        """Everything goes back to whoever paid it, what was burnt included, and the table closes."""
        self.record(TableVoided(reason=reason), self.moved(tables.all_given_back(self.state)))


# ---- opening ----


def require_opening(
    larp: People, opening: Opening, *, seats_min: int, seats_max: int | None, assets: Iterable[str] = ()
) -> None:
    """What all games ask of an opening, before the game's own rules: known characters and assets, seats.

    `assets`: those that the game's rules name. Raises UnknownCharacter and UnknownAsset, then InvalidRules.
    """
    for seat in opening.seats:
        if not larp.has_character(seat):
            raise UnknownCharacter(f"there is no character {seat!r} in this LARP")
    for asset in (*((opening.stake.asset,) if opening.stake else ()), *assets):
        money.Till(larp).kind(asset)
    count = len(opening.seats)
    if count < seats_min or (seats_max is not None and count > seats_max):
        many = f"exactly {seats_min}" if seats_min == seats_max else f"{seats_min} to {seats_max or 'any number of'}"
        raise InvalidRules(f"seats names {count} characters, the game takes {many}")
    if len(set(opening.seats)) != count:
        raise InvalidRules("seats names a character twice")


def require_stake_rules(larp: People, opening: Opening, *, required: bool) -> None:
    """What all games that know a stake ask of it. Raises InvalidRules."""
    stake = opening.stake
    if stake is None:
        if required:
            raise InvalidRules("stake is missing: {asset, amount}, what each seat puts in")
        return
    match money.Till(larp).kind(stake.asset):
        case "internal":
            raise InvalidRules(f"a stake in {stake.asset} is not possible: only the service moves it")
        case "promise" if not opening.credit:
            raise InvalidRules(f'{stake.asset} is a promise: a stake in it needs "credit": true')
        case "promise" | "token":
            return


def require_no_stake(opening: Opening) -> None:
    if opening.stake is not None:
        raise InvalidRules("the game has no stake: leave it out")


def words(*allowed: str) -> Meta:
    """Marks a rule's word that is checked when a table is opened (`invalid_rules`, not `malformed`)."""
    return Meta(extra_json_schema={"enum": list(allowed)})


def require_rule(allowed: bool, rule: str, wanted: str) -> None:
    """Raises InvalidRules, naming the rule and what it takes."""
    if not allowed:
        raise InvalidRules(f"rules.{rule} must be {wanted}")


def require_new_table(larp: People, opening: Opening) -> None:
    if larp.has_table(opening.table):
        raise AlreadyExists(f"there has been a table {opening.table!r} in this LARP already")


def opened_fields(opening: Opening, game: str, *, has_dice: bool = True) -> dict[str, Any]:
    """The fields of `TableOpened` that come from the opening; the game adds its rules."""
    if not has_dice and opening.dice is not None:
        raise InvalidRules("the game has no dice: leave dice out")
    return {
        "table": opening.table,
        "game": game,
        "seats": opening.seats,
        "stake": opening.stake,
        "dice": (opening.dice or "reported") if has_dice else None,
        "credit": opening.credit,
        "place": opening.place,
    }


def open_with_stakes(play: Play[S], opened: TableOpened, *, account: Callable[[str], str] | None = None) -> None:
    """Open the table with every seat's stake paid, all or none, into the pot or into the account of each seat."""
    require_cover = play.till.require_cover
    postings: list[Posting] = []
    if opened.stake is not None:
        for seat in opened.seats:
            require_cover(seat, opened.stake.asset, opened.stake.amount, credit=opened.credit, why="the stake is")
            to = account(seat) if account else money.pot(opened.table)
            postings += play.till.pay(
                seat, to, opened.stake.asset, opened.stake.amount, credit=opened.credit, why="the stake is"
            )
    play.record(opened, postings)
