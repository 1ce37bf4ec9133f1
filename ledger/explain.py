"""From what a decoder says to what would have been right: the allowed words, the missing key, the form of a name.

Asked only when something is malformed already, so it may take its time.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import inspect

from ledger.errors import Malformed

_MISSING = re.compile(r"Object missing required field `(.*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_NONE_OF = re.compile(r"Invalid (?:enum )?value (.*)", re.DOTALL)
_PATTERN = "matching regex"
_SHOWN_MAX = 80
"""Characters of what was sent that are said back."""


def explained(error: Malformed, type_: Any) -> Malformed:
    """The same fault of a value that should have been a `type_`, in words that help; keys are pointed at."""
    at = list(_at([inspect.type_info(type_)], _parts(error.pointer)))
    # The decoder does not say under which key of a mapping it was: then the mapping is pointed at.
    pointer = error.pointer.partition("/...")[0]
    if found := _MISSING.fullmatch(error.detail):
        key = found[1]
        wanted = _wanted(_at(at, [key]))
        return Malformed(f"{key} is missing{': ' + wanted if wanted else ''}", f"{pointer}/{_escaped(key)}")
    if found := _UNKNOWN.fullmatch(error.detail):
        key, known = found[1], ", ".join(dict.fromkeys(_keys(at)))
        return Malformed(f"there is no key {_shown(key)} here, there are {known}", f"{pointer}/{_escaped(key)}")
    if found := _NONE_OF.fullmatch(error.detail):
        return Malformed(f"{_shown(found[1])} is none of {', '.join(dict.fromkeys(_words(at)))}", pointer)
    if _PATTERN in error.detail and (wanted := _wanted(at)):
        return Malformed(f"it must be {wanted}", pointer)
    return Malformed(error.detail, pointer)


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "..."


def _parts(pointer: str) -> Sequence[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _at(types: Iterable[inspect.Type | str], parts: Sequence[str]) -> Iterator[inspect.Type | str]:
    """What may stand at the end of a path: a type, or the word of a tag. More than one where a union leaves it open."""
    for type_ in types:
        if not parts:
            yield type_
        elif not isinstance(type_, str):
            yield from _at(_below(type_, parts[0]), parts[1:])


def _below(type_: inspect.Type, part: str) -> Iterator[inspect.Type | str]:
    if isinstance(type_, inspect.Metadata):
        yield from _below(type_.type, part)
    elif isinstance(type_, inspect.UnionType):
        for each in type_.types:
            yield from _below(each, part)
    elif isinstance(type_, inspect.StructType):
        if part == type_.tag_field:
            yield str(type_.tag)
        yield from (field.type for field in type_.fields if field.encode_name == part)
    elif isinstance(type_, inspect.CollectionType):
        yield type_.item_type
    elif isinstance(type_, inspect.DictType):
        yield type_.value_type


def _keys(types: Iterable[inspect.Type | str]) -> Iterator[str]:
    """The keys of the objects among some types."""
    for type_ in types:
        if isinstance(type_, inspect.StructType):
            yield from (field.encode_name for field in type_.fields)
        elif isinstance(type_, inspect.UnionType):
            yield from _keys(type_.types)
        elif isinstance(type_, inspect.Metadata):
            yield from _keys([type_.type])


def _words(types: Iterable[inspect.Type | str]) -> Iterator[str]:
    """The words that are allowed."""
    for type_ in types:
        if isinstance(type_, str):
            yield type_
        elif isinstance(type_, inspect.LiteralType):
            yield from map(str, type_.values)
        elif isinstance(type_, inspect.UnionType):
            yield from _words(type_.types)
        elif isinstance(type_, inspect.Metadata):
            yield from _words([type_.type])


def _wanted(types: Iterable[inspect.Type | str]) -> str:
    """What a type's own description says, or the words that are allowed; empty if there is neither."""
    for type_ in types:
        said = _description(type_) or ", ".join(_words([type_]))
        if said:
            return said
    return ""


def _description(type_: inspect.Type | str) -> str:
    if isinstance(type_, inspect.Metadata):
        own = (type_.extra_json_schema or {}).get("description")
        return str(own) if own else _description(type_.type)
    if isinstance(type_, inspect.UnionType):
        return next(filter(None, map(_description, type_.types)), "")
    return ""
