"""Requests that nobody would send: whatever the types of a command allow, and JSON that they do not.

What is legal is left to the games; `sample` follows the types alone, so that any game's words come out of it.
"""

import copy
import random
from collections.abc import Sequence
from typing import Any

from msgspec import inspect

NUMBERS = (0, 1, 1, 2, 2, 3, 5, 13, -1, 19, 61, 10**15, 10**15 + 1)
ODD_VALUES: tuple[Any, ...] = (None, True, "", "dragon", "Alva", 0, 7, -1, 3.5, 10**30, [], [9, 1], {}, {"seat": 1})


def request_of(command: type[Any], rng: random.Random, words: Sequence[str]) -> dict[str, Any]:
    """A body that decodes as `command`, or nearly; `words` are names that may mean something here."""
    return {key: value for key, value in sample(inspect.type_info(command), rng, words).items() if key != "at"}


def sample(node: Any, rng: random.Random, words: Sequence[str]) -> Any:
    """Any value of the type that `node` describes."""
    match node:
        case inspect.Metadata():
            known = (node.extra_json_schema or {}).get("enum")
            return rng.choice([*known, *known, "unheard"]) if known else sample(node.type, rng, words)
        case inspect.LiteralType():
            return rng.choice(node.values)
        case inspect.UnionType():
            return sample(rng.choice(node.types), rng, words)
        case inspect.StructType():
            return _struct(node, rng, words)
        case inspect.IntType():
            return _number(node, rng)
        case inspect.StrType():
            return rng.choice(words)
        case inspect.BoolType():
            return rng.random() < 0.5
        case inspect.VarTupleType() | inspect.ListType():
            return [sample(node.item_type, rng, words) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]
        case inspect.TupleType():
            return [sample(item, rng, words) for item in node.item_types]
        case inspect.DictType():
            keys = [sample(node.key_type, rng, words) for _ in range(rng.choice([0, 1, 2, 2, 2, 3]))]
            return {key: sample(node.value_type, rng, words) for key in keys}
        case inspect.DateTimeType():
            return "2026-11-01T20:00:00Z"
        case _:
            return None


def _struct(node: inspect.StructType, rng: random.Random, words: Sequence[str]) -> dict[str, Any]:
    values = {node.tag_field: node.tag} if node.tag_field else {}
    for field in node.fields:
        if field.required or rng.random() < 0.5:
            values[field.encode_name] = sample(field.type, rng, words)
    return values


def _number(node: inspect.IntType, rng: random.Random) -> int:
    if node.ge is not None and node.le is not None and node.le - node.ge < 300:
        return rng.randint(node.ge, node.le)
    return rng.choice([number for number in NUMBERS if node.ge is None or number >= node.ge])


def slipped(body: dict[str, Any], rng: random.Random, words: Sequence[str]) -> dict[str, Any]:
    """The same with a small mistake: somebody else's seat, or something left out or brought along."""
    seat = {"seat": rng.choice(words)} if "seat" in body else {}
    droppable = [key for key in body if key not in ("action", "seat")]
    match rng.randrange(3):
        case 0 if droppable:
            gone = rng.choice(droppable)
            return {key: value for key, value in body.items() if key != gone}
        case 1 if droppable:
            flags = [key for key in droppable if isinstance(body[key], bool)]
            return body | {key: not body[key] for key in flags} if flags else body | seat
        case _:
            return body | seat


def corrupted(body: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The same with one thing wrong somewhere: a value, a key too few or a key too many."""
    body = copy.deepcopy(body)
    place: Any = body
    while True:
        inner = [value for value in _values(place) if isinstance(value, dict | list) and value]
        if not inner or rng.random() < 0.5:
            break
        place = rng.choice(inner)
    key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
    match rng.randrange(4):
        case 0:
            del place[key]
        case 1 if isinstance(place, dict):
            place[rng.choice(["dragon", "dice", "seat", "at", "tile", "show"])] = rng.choice(ODD_VALUES)
        case _:
            place[key] = rng.choice(ODD_VALUES)
    return body


def _values(place: Any) -> list[Any]:
    return list(place.values()) if isinstance(place, dict) else list(place)
