"""From JSON to commands: strict decoding whose errors say where and what would have been right."""

import re
from typing import Any, TypeVar

import msgspec

from ledger.errors import Malformed
from ledger.explain import explained

T = TypeVar("T")

_AT = re.compile(r" - at `(?:key in )?\$(.*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


def decode(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """Raises Malformed, with a JSON pointer (RFC 6901) to the value that is wrong and what would have been right."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise explained(malformed(error), decoder.type) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"the body is not JSON: {error}") from None


def malformed(error: msgspec.ValidationError) -> Malformed:
    """msgspec's `Expected ..., got ... - at `$.dice.number`` as a Malformed with pointer /dice/number."""
    text = str(error)
    found = _AT.search(text)
    if not found:
        return Malformed(text)
    return Malformed(text[: found.start()], pointer(found.group(1)))


def pointer(path: str) -> str:
    """`.dice[0].number` is /dice/0/number."""
    return "".join(f"/{_escaped(name or index)}" for name, index in _STEP.findall(path))


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def decoder_of(*types: Any) -> msgspec.json.Decoder[Any]:
    """A strict decoder for any one of `types`, told apart by their tag."""
    union = types[0]
    for other in types[1:]:
        union = union | other
    return msgspec.json.Decoder(union)
