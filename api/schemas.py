"""JSON Schemas of the types on the wire, as msgspec gives them, with names that stay as games are added.

What msgspec cannot know is said here: which events, views and actions there are where stored bytes go out or an
action comes in that only its table's game can read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Union, get_args

import msgspec
from msgspec import UNSET, Struct, UnsetType, inspect

from api.problems import Problem
from ledger.book import EVENTS
from ledger.games import GAMES
from ledger.messages import Actor, Event, Instant, Posting
from ledger.plans import SettlePlan
from ledger.purses import CharacterChanges, Settle
from ledger.recorded import split_tag

Json = dict[str, Any]

PROBLEM = "Problem"
BODIES = (Settle, SettlePlan)
"""What one route takes either of, told apart by their keys."""
NEEDS_ONE_OF: Mapping[type[Struct], tuple[str, ...]] = {CharacterChanges: ("name", "credit_limit")}
"""What has keys of which none is required, but some one is."""
_GAME_MODULE = re.compile(r"^ledger\.games\.(\w+)\.")


class Schemas(Struct, frozen=True):
    """`named`: the schemas of the types that were asked for. `components`: what they refer to."""

    named: Mapping[str, Json]
    components: dict[str, Json]

    def properties(self, name: str) -> Mapping[str, Json]:
        """The properties of a Struct that was asked for."""
        properties: Mapping[str, Json] = self.components[self.component(name)]["properties"]
        return properties

    def component(self, name: str) -> str:
        """Under which name the components have it."""
        return str(self.named[name]["$ref"]).rpartition("/")[2]


def of(types: Mapping[str, Any]) -> Schemas:
    """The schemas of these types, by the names they are given here, and of all events, views, actions and problems."""
    events = {type_: _recorded(type_, event) for type_, event in _newest_events().items()}
    views = {game.name: game.view_type for game in GAMES}
    rounds = {game.name: game.round_type for game in GAMES if game.round_type is not None}
    actions = {game.name: Union[game.actions] for game in GAMES}  # noqa: UP007  # made of a tuple
    told_apart = [*events.values(), *views.values(), *rounds.values(), *BODIES]
    asked = [*types.values(), *told_apart, *actions.values(), Problem]
    schemas, components = msgspec.json.schema_components(asked, ref_template="{name}")
    names = _names(asked, components)
    tidy = _Tidy(names)
    named = dict(zip(types, map(tidy.schema, schemas), strict=False))
    made = {names[key]: tidy.schema(schema) for key, schema in components.items()}
    for type_, keys in NEEDS_ONE_OF.items():
        made[_name_of(type_)]["anyOf"] = [{"required": [key]} for key in keys]
    of_games = dict(zip(actions, map(tidy.schema, schemas[-1 - len(actions) : -1]), strict=True))
    return Schemas(named, made | _unions(events, views, rounds, of_games))


# ---- what msgspec cannot know ----


def _newest_events() -> Mapping[str, type[Event]]:
    """The events by type, each in its newest version."""
    return {split_tag(event.TYPE)[0]: event for event in sorted(EVENTS, key=lambda event: split_tag(event.TYPE)[1])}


def _recorded(type_: str, event: type[Event]) -> type[Struct]:
    """An event as it is shown: the envelope around its own data, and what `projections.marks` says beside it."""
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = [
        ("position", int),
        ("id", str),
        ("version", Literal[split_tag(event.TYPE)[1]]),
        ("at", Instant),
        ("recorded_at", Instant),
        ("actor", Actor),
        ("table", str | None),
        ("data", event),
        ("postings", tuple[Posting, ...]),
        ("hash", str),
        ("late", bool | UnsetType, UNSET),
        ("reversed_by", int | UnsetType, UNSET),
        ("voided_by", int | UnsetType, UNSET),
    ]
    name = f"{_name_of(event)}Event"
    return msgspec.defstruct(name, fields, tag_field="type", tag=type_, module="api.schemas")


def _unions(
    events: Mapping[str, Any], views: Mapping[str, Any], rounds: Mapping[str, Any], actions: Mapping[str, Json]
) -> dict[str, Json]:
    of_game = {f"{game.title()}Action": schema for game, schema in actions.items()}
    any_action = {
        "description": "An action in the words of the table's game. Games share some words, such as `leave`.",
        "anyOf": [{"$ref": _ref(name)} for name in of_game],
    }
    return {
        **of_game,
        "Action": any_action,
        "Event": _tagged("An event as it was recorded and hashed.", "type", events),
        "Table": _tagged("A table, as everybody may see it.", "game", views),
        "Round": _tagged("A round that is over, in whatever the game calls one.", "game", rounds),
    }


def _tagged(description: str, tag: str, types: Mapping[str, type]) -> Json:
    refs = {value: _ref(_name_of(type_)) for value, type_ in types.items()}
    return {
        "description": description,
        "oneOf": [{"$ref": ref} for ref in refs.values()],
        "discriminator": {"propertyName": tag, "mapping": refs},
    }


# ---- names ----


def _ref(name: str) -> str:
    return f"#/components/schemas/{name}"


def _name_of(type_: Any) -> str:
    """`ledger.games.skuggkast.messages.Rolled` is SkuggkastRolled, whatever other games call theirs."""
    if args := get_args(type_):
        return "".join(map(_name_of, args)) + "List"
    in_game = _GAME_MODULE.match(type_.__module__)
    name: str = type_.__name__
    prefix = in_game[1].title() if in_game else ""
    return name if prefix in name else prefix + name


def _names(types: Iterable[Any], components: Mapping[str, Json]) -> Mapping[str, str]:
    """From msgspec's keys, which are longer where two classes have one name, to names of our own."""
    classes = list(dict.fromkeys(_classes(inspect.multi_type_info(types))))
    short = [_key(cls.__name__ if not get_args(cls) else _alias(cls)) for cls in classes]
    keys = [
        _key(f"{cls.__module__}.{cls.__qualname__}") if short.count(name) > 1 else name
        for cls, name in zip(classes, short, strict=True)
    ]
    names = dict(zip(keys, map(_name_of, classes), strict=True))
    assert names.keys() == components.keys(), f"msgspec names its components otherwise: {names.keys() ^ components}"
    twice = {name for name in names.values() if list(names.values()).count(name) > 1}
    assert not twice, f"two classes on the wire have one name, give one of them another: {twice}"
    return names


def _key(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9.\-_]", "_", name)


def _alias(cls: Any) -> str:
    return f"{cls.__origin__.__name__}[{', '.join(arg.__name__ for arg in get_args(cls))}]"


def _classes(infos: Iterable[inspect.Type]) -> Iterator[Any]:
    """Every Struct within some types."""
    waiting, seen = list(infos), set()
    while waiting:
        info = waiting.pop(0)
        if isinstance(info, inspect.StructType) and info.cls not in seen:
            seen.add(info.cls)
            yield info.cls
            waiting += [field.type for field in info.fields]
        elif isinstance(info, inspect.Metadata):
            waiting.append(info.type)
        elif isinstance(info, inspect.CollectionType):
            waiting.append(info.item_type)
        elif isinstance(info, inspect.TupleType):
            waiting += info.item_types
        elif isinstance(info, inspect.UnionType):
            waiting += info.types
        elif isinstance(info, inspect.DictType):
            waiting += [info.key_type, info.value_type]


# ---- tidying ----


def _mixed(schema: Json) -> Json:
    """Numbers and words beside each other, as a choice between the two: few generators of clients know it otherwise."""
    values = schema.pop("enum")
    numbers, words = ([value for value in values if isinstance(value, type_)] for type_ in (int, str))
    return {**schema, "anyOf": [{"type": "integer", "enum": numbers}, {"type": "string", "enum": words}]}


class _Tidy:
    """msgspec's schemas as OpenAPI wants them."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def schema(self, schema: Json) -> Json:
        """A copy: our names; `oneOf` where a tag tells; no titles; no tag that the path says already."""
        tidied = {key: self._value(key, value) for key, value in schema.items() if key != "title"}
        if len({type(value) for value in tidied.get("enum", ())}) > 1:
            return _mixed(tidied)
        if tidied.get("items") is False:  # `maxItems` says it too, in words that all generators of clients know
            del tidied["items"]
        if "discriminator" in tidied:
            tidied["oneOf"] = tidied.pop("anyOf")
        properties = tidied.get("properties", {})
        if tidied.get("type") == "object" and "command" in properties:
            del properties["command"]
            tidied["required"].remove("command")
        return tidied

    def _value(self, key: str, value: Any) -> Any:
        if key in ("default", "enum", "const", "required", "examples"):
            return value
        if key == "$ref":
            return _ref(self._names[value]) if value in self._names else value
        if key == "discriminator":
            return value | {"mapping": {tag: _ref(self._names[name]) for tag, name in value["mapping"].items()}}
        if key == "properties":
            return {name: self._property(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self.schema(each) if isinstance(each, dict) else each for each in value]
        return self.schema(value) if isinstance(value, dict) else value

    def _property(self, schema: Json) -> Json:
        """A tag has one value: that is a constant."""
        values = schema.get("enum", ())
        if len(values) != 1:
            return self.schema(schema)
        return {"type": "integer" if isinstance(values[0], int) else "string", "const": values[0]}
