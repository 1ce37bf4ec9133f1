"""Which branches of a game's rules were reached, and which there are: events, their outcomes, refusals.

A branch is a text: `skuggkast.claim_judged.v1 verdict=lie`, or `refused own_claim`.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct

from ledger.errors import (
    AlreadyExists,
    CreditExceeded,
    DiceNotAccepted,
    DiceRequired,
    InsufficientFunds,
    InvalidRules,
    Malformed,
    NotSeated,
    NotYourTurn,
    Refused,
    TableClosed,
    UnknownAsset,
    UnknownCharacter,
    WrongPhase,
)
from ledger.games.game import Game
from ledger.games.rolloff import AlreadyRolled
from ledger.messages import Event

EVERYWHERE = (
    AlreadyExists,
    InvalidRules,
    Malformed,
    NotSeated,
    TableClosed,
    UnknownAsset,
    UnknownCharacter,
)
BY_HELPER: Mapping[str, tuple[type[Refused], ...]] = {
    "require_phase": (WrongPhase,),
    "require_turn": (NotYourTurn,),
    "thrown": (DiceRequired, DiceNotAccepted),
    "RollOff": (AlreadyRolled,),
    "open_with_stakes": (InsufficientFunds, CreditExceeded),
    "pay_stake": (InsufficientFunds, CreditExceeded),
    "pay": (InsufficientFunds, CreditExceeded),
}
"""What the helpers that games share refuse."""


class Branches:
    """How often each branch of one game was reached."""

    def __init__(self, game: Game[Any], unreachable: Iterable[str] = ()) -> None:
        self.game = game
        self.reached: Counter[str] = Counter()
        there = branches_of(game)
        assert set(unreachable) <= there, f"no branches of {game.name}: {sorted(set(unreachable) - there)}"
        self.all = there - set(unreachable)

    def happened(self, event: Event) -> None:
        self.reached[event.TYPE] += 1
        for name, value in _fields(event):
            for outcome in _shown(value):
                self.reached[f"{event.TYPE} {name}={outcome}"] += 1

    def refused(self, code: str) -> None:
        self.reached[f"refused {code}"] += 1

    @property
    def missing(self) -> list[str]:
        return sorted(self.all - set(self.reached))

    def table(self) -> str:
        """What was reached how often, and what never."""
        lines = [f"{self.game.name}: {len(self.all) - len(self.missing)} of {len(self.all)} branches"]
        lines += [f"{self.reached[branch]:>9}  {branch}" for branch in sorted(self.all)]
        return "\n".join(lines)


@cache
def branches_of(game: Game[Any]) -> frozenset[str]:
    """All that the types of the game's events and the words of its modules tell of."""
    return frozenset({*_of_events(game), *_of_refusals(game)})


def _fields(event: Event) -> list[tuple[str, Any]]:
    """The outcomes of an event, and of the rules it was opened with."""
    rules = getattr(event, "rules", None)
    inner = [(f"rules.{name}", getattr(rules, name)) for name in rules.__struct_fields__] if rules else []
    return [(name, getattr(event, name)) for name in event.__struct_fields__] + inner


def _shown(value: Any) -> list[str]:
    """A word or a truth by itself, also one of several; of anything else only whether it is there."""
    if value is None or isinstance(value, bool | str | int):
        return [str(value)]
    words = [str(inner) for inner in value if isinstance(inner, str)] if isinstance(value, tuple) else []
    return [type(value).__name__, *words]


def _of_events(game: Game[Any]) -> Iterable[str]:
    for event in game.events:
        yield event.TYPE
        hints = _hints(event)
        if "rules" in hints:
            hints |= {f"rules.{name}": hint for name, hint in _hints(hints.pop("rules")).items()}
        for name, hint in hints.items():
            yield from (f"{event.TYPE} {name}={outcome}" for outcome in _outcomes(hint))


def _hints(struct: type[Struct]) -> dict[str, Any]:
    hints = get_type_hints(struct, include_extras=True)
    return {name: hints[name] for name in struct.__struct_fields__}


def _outcomes(hint: Any) -> list[str]:
    """The outcomes that a type tells apart: words, truths, and whether there is anything."""
    if get_origin(hint) is Annotated:
        base, *extra = get_args(hint)
        words = [meta.extra_json_schema["enum"] for meta in extra if isinstance(meta, Meta) and meta.extra_json_schema]
        return list(words[0]) if words else _outcomes(base)
    if get_origin(hint) is Literal:
        return [str(value) for value in get_args(hint)]
    if hint is bool:
        return ["True", "False"]
    if get_origin(hint) is tuple and get_args(hint)[-1] is Ellipsis:
        return _outcomes(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint):
        kinds = [kind for kind in get_args(hint) if kind is not NoneType]
        return ["None", *(outcome for kind in kinds for outcome in _outcomes(kind) or _present(kind))]
    return []


def _present(kind: Any) -> list[str]:
    """How a value that is merely there is shown; of texts and numbers there are too many."""
    kind = get_origin(kind) or kind
    return [kind.__name__] if isinstance(kind, type) and issubclass(kind, Struct | tuple) else []


def _of_refusals(game: Game[Any]) -> set[str]:
    codes = {refused.code for refused in EVERYWHERE}
    for module in _modules(game):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Refused) and value is not Refused:
                codes.add(value.code)
        for node in ast.walk(ast.parse(Path(module.__file__ or "").read_text())):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            codes |= {refused.code for refused in BY_HELPER.get(name, ())}
    return {f"refused {code}" for code in codes}


def _modules(game: Game[Any]) -> list[ModuleType]:
    """The modules that the game is written in."""
    home = game.open.__module__.rpartition(".")[0] or game.open.__module__
    if not home.startswith("ledger.games."):
        home = game.open.__module__
    return [module for name, module in sys.modules.items() if name == home or name.startswith(f"{home}.")]
