"""A new game is one module and one line in the list of games: here is the module, and a test adds the line.

High Card: two seats, a stake each. Both draw a number from 1 to 6 under the cup; the higher takes the pot, a tie
is drawn again. Everything that holds for every game then holds for it, without a word about it anywhere else.
"""

import importlib
import random
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import Annotated, Any, ClassVar, assert_never

import pytest
from msgspec import Meta, Struct
from msgspec.structs import replace

import ledger
import ledger.games
from ledger.errors import Refused
from ledger.games.game import Game
from ledger.games.play import (
    Play,
    open_with_stakes,
    opened_fields,
    require_new_table,
    require_opening,
    require_rule,
    require_stake_rules,
)
from ledger.games.table import (
    Opening,
    SealsValues,
    SeatAction,
    TableClosed,
    TableOpened,
    TableState,
    TableView,
    TableVoided,
    UncoversValues,
    begun,
    shown,
)
from ledger.messages import Posting, Sealed
from ledger.sealing import Chance
from tests.games.every_game_branches import Branches
from tests.games.players import Json, player_of

# ---- the module ----


class Rules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rounds: int = 1


class OpenHighCard(Opening, frozen=True, kw_only=True, tag="high_card"):
    rules: Rules = Rules()


class DrawCard(SeatAction, frozen=True, kw_only=True, tag="draw_card"):
    number: Annotated[int, Meta(ge=1, le=6)] | None = None


class Opened(TableOpened, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "high_card.opened.v1"
    rules: Rules


class CardDrawn(SealsValues, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "high_card.card_drawn.v1"
    seat: str


class CardsShown(UncoversValues, frozen=True, kw_only=True):
    TYPE: ClassVar[str] = "high_card.cards_shown.v1"
    winner: str | None


class AlreadyDrawn(Refused):
    """Each seat draws once"""

    code = "already_drawn"


class State(TableState, frozen=True, kw_only=True):
    rules: Rules
    drawn: Mapping[str, Sealed] = {}


class View(TableView, frozen=True, kw_only=True, tag="high_card"):
    rules: Rules
    seats: tuple[Mapping[str, str], ...]


def open_table(play: Play[State], opening: OpenHighCard) -> None:
    require_opening(play.larp, opening, seats_min=2, seats_max=2)
    require_stake_rules(play.larp, opening, required=True)
    require_rule(opening.rules.rounds == 1, "rounds", "1")
    require_new_table(play.larp, opening)
    open_with_stakes(play, Opened(**opened_fields(opening, "high_card"), rules=opening.rules))


def begin(opened: Opened) -> State:
    return State(**begun(opened), phase="drawing", rules=opened.rules)


def decide(play: Play[State], action: DrawCard) -> None:
    play.require_seat(action.seat)
    number = play.thrown(action.number, Chance.die, "number")
    if action.seat in play.state.drawn:
        raise AlreadyDrawn(f"{action.seat} has drawn; the other seat is awaited")
    play.record(CardDrawn(seat=action.seat, sealed=(play.seal(action.seat, "card", number),)))
    drawn = play.state.drawn
    if len(drawn) == 2:
        numbers = {seat: play.peek(sealed) for seat, sealed in drawn.items()}
        best = [seat for seat, number in numbers.items() if number == max(numbers.values())]
        winner = best[0] if len(best) == 1 else None
        play.record(CardsShown(winner=winner, uncovered=tuple(map(play.uncover, drawn.values()))))
        if winner:
            play.win(winner)


def evolve(state: State, event: CardDrawn | CardsShown, postings: tuple[Posting, ...]) -> State:
    match event:
        case CardDrawn():
            return replace(state, drawn={**state.drawn, event.seat: event.sealed[0]})
        case CardsShown():
            return replace(state, drawn={})
        case _:
            assert_never(event)


def view(state: State) -> View:
    waiting_for = () if state.is_over else tuple(seat for seat in state.seats if seat not in state.drawn)
    seats = tuple({"character": seat} for seat in state.seats)
    return View(**shown(state), turn=None, waiting_for=waiting_for, rules=state.rules, seats=seats)


HIGH_CARD = Game[State](
    name="high_card",
    opening=OpenHighCard,
    actions=(DrawCard,),
    events=(Opened, CardDrawn, CardsShown, TableClosed, TableVoided),
    state=State,
    view_type=View,
    open=open_table,
    begin=begin,
    decide=decide,
    evolve=evolve,
    view=view,
)

# ---- its bot ----


def _opening(rng: random.Random, table: str, characters: Sequence[str]) -> Json:
    return {
        "table": table,
        "game": "high_card",
        "seats": rng.sample(list(characters), 2),
        "stake": {"asset": "krona", "amount": 2},
        "dice": rng.choice(["reported", "service"]),
        "credit": rng.random() < 0.5,
    }


def _propose(view: Json, seat: str, sealed: Sequence[Json], rng: random.Random) -> Json | None:
    if seat not in view["waiting_for"] and rng.random() < 0.9:
        return None
    brings = view["dice"] == "reported" or rng.random() < 0.2
    return {"action": "draw_card", "seat": seat, **({"number": rng.randint(1, 6)} if brings else {})}


BOT: Any = SimpleNamespace(
    UNREACHABLE={
        "high_card.opened.v1 dice=None",
        "high_card.opened.v1 stake=None",
        "table.closed.v1 how=drawn",
        "table.closed.v1 how=lost",
        "table.closed.v1 how=burnt",
        "table.closed.v1 winner=None",
    },
    opening=_opening,
    propose=_propose,
    keeper=lambda view, rng: None,
    disguised=lambda action, view, rng: {**action, "number": rng.randint(1, 6)} if "number" in action else action,
)

# ---- the line ----


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`every_game_play`, with all that it is built on, as it would be with one more game in the list."""
    monkeypatch.setattr(ledger.games, "GAMES", (*ledger.games.GAMES, HIGH_CARD))
    for name in (
        "ledger.book",
        "ledger.snapshot",
        *(f"tests.games.every_game_{part}" for part in ("twin", "world", "play")),
    ):
        importlib.import_module(name)
        package, _, attribute = name.rpartition(".")
        monkeypatch.delattr(sys.modules[package], attribute)
        monkeypatch.delitem(sys.modules, name)
    return importlib.import_module("tests.games.every_game_play")


def test_a_new_game_takes_one_module_and_one_line(plays: ModuleType) -> None:
    branches = Branches(HIGH_CARD, BOT.UNREACHABLE)
    for seed in range(100):
        plays.play(HIGH_CARD, BOT, f"toy {seed}", branches)
    assert branches.missing == []


def test_the_other_games_go_on_beside_it(plays: ModuleType) -> None:
    for game in ledger.games.GAMES[:-1]:
        player = player_of(game.name)
        plays.play(game, player, "beside a toy", Branches(game, player.UNREACHABLE))


def test_nothing_of_the_toy_stays() -> None:
    from ledger.book import BY_NAME

    assert "high_card" not in BY_NAME and HIGH_CARD not in ledger.games.GAMES
