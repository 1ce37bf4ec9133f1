"""What comes in: a request whose body and query are decoded strictly, and what it may use to answer.

Litestar decodes loosely ("1" is 1, any content type will do); a ledger must not.
"""

import functools
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl

import msgspec
from litestar import Request
from litestar.datastructures import State
from litestar.exceptions.http_exceptions import RequestEntityTooLarge
from litestar.types import HTTPScope
from msgspec import Struct, inspect

from api.errors import UnsupportedMediaType
from api.limits import Limits
from api.tokens import Asker, Askers
from ledger import wire
from ledger.database import Database
from ledger.errors import Malformed, Refused
from ledger.explain import explained
from ledger.messages import Slug
from ledger.settings import Settings
from ledger.writer import Writers
from projections.checkpoints import Notary

T = TypeVar("T")

_QUERY_KEYS_MAX = 20
_WHOLE = re.compile(r"-?[0-9]{1,20}")
_decoder = functools.cache(msgspec.json.Decoder)
_keys = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Services(Struct, frozen=True):
    """What a request works with; one of each per process."""

    database: Database
    writers: Writers
    settings: Settings
    notary: Notary
    limits: Limits
    askers: Askers


class ApiRequest(Request[Any, Asker, State]):
    """`auth` is who asks, once the request was admitted."""

    _whole: bytes | None = None

    @functools.cached_property
    def services(self) -> Services:
        return cast(Services, self.app.state.services)

    async def body(self) -> bytes:
        """All of it. Raises Malformed when the connection ends before it does: that is no fault of ours."""
        if self._whole is None:
            self._whole = await self._read()
        return self._whole

    async def _read(self) -> bytes:
        """Raises RequestEntityTooLarge. The framework's own takes four times as long for a body that is there already,
        as most are."""
        most = self.route_handler.resolve_request_max_body_size() or math.inf
        parts, size = list[bytes](), 0
        if _announced(self.scope) > most:
            raise RequestEntityTooLarge
        while True:
            message: Any = await self.receive()
            if message["type"] == "http.disconnect":
                raise Malformed("the body ended before it was complete")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise RequestEntityTooLarge
            if not message.get("more_body"):
                return b"".join(parts)

    async def require_json(self) -> None:
        """Raises UnsupportedMediaType, and Malformed for a body that is empty or names a key twice."""
        if not self._says_json and self.content_type[0] not in ("", "application/json"):
            raise UnsupportedMediaType(f"the body is {self.content_type[0]}, it must be application/json")
        body = await self.body()
        if not body:
            raise Malformed("the body is empty, it must be a JSON object")
        require_each_key_once(body)

    @property
    def _says_json(self) -> bool:
        """Whether it says so as most do, in so many words: they need no parsing."""
        return [value for name, value in self.scope["headers"] if name == b"content-type"] == [b"application/json"]

    async def json(self) -> Any:
        """The body as what the handler's `data` is annotated with. Raises Malformed."""
        field = self.route_handler.parsed_data_field
        assert field is not None, "only a handler with data asks for it"
        return await self.body_as(field.annotation)

    async def names(self, key: str) -> bool:
        """Whether the body is an object with this key; what is wrong with it otherwise is found later."""
        try:
            return key in _keys.decode(await self.body())
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return False

    async def body_as(self, type_: Any) -> Any:
        """The body as a `type_`, for a route that takes one of several. Raises Malformed."""
        body = await self.body()
        decoded = wire.decode(_decoder(type_), body)
        _require_no_tag(type_, body)
        return decoded

    @property
    def slug_of_larp(self) -> str:
        """The LARP of whoever asks, which is the one in the path."""
        larp = self.auth.larp
        assert larp is not None, "only a token of a LARP is let in here"
        return larp

    def slug(self, name: str, unknown: type[Refused]) -> str:
        """A name in the path. Raises `unknown` for what cannot be a name: nothing is called that."""
        value = str(self.path_params[name])
        try:
            return msgspec.convert(value, Slug)
        except msgspec.ValidationError:
            raise unknown(f"{value[:64]!r} is no name: names are 1 to 64 of a-z 0-9 - _") from None

    def query_as(self, type_: Callable[..., T]) -> T:
        """The query parameters as a Struct. Raises Malformed for unknown, repeated and impossible ones."""
        raw = self.scope["query_string"]
        return _query(raw, type_) if raw else type_()


def _announced(scope: HTTPScope) -> int:
    """How long the body will be, 0 if nobody says."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[:20])
    return 0


def _query(raw: bytes, type_: Callable[..., T]) -> T:
    try:
        pairs = parse_qsl(
            raw.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=_QUERY_KEYS_MAX,
        )
    except ValueError:  # UnicodeDecodeError is one
        raise Malformed("the query is not name=value&name=value, percent-encoded UTF-8") from None
    if len(dict(pairs)) < len(pairs):
        raise Malformed("the query names a parameter twice")
    # A query knows only texts. Numbers and yes-or-no are read from them, and nothing else: 0.5 is no time.
    simple = _simple_parameters(type_)
    given = {name: _simple(value) if name in simple else value for name, value in pairs}
    try:
        return msgspec.convert(given, cast("type[T]", type_))
    except msgspec.ValidationError as error:
        malformed = explained(wire.malformed(error), type_)
        raise Malformed(f"query parameters: {malformed.detail}", malformed.pointer) from None


@functools.cache
def _simple_parameters(type_: Callable[..., Any]) -> frozenset[str]:
    """The parameters that are numbers or yes-or-no."""
    info = inspect.type_info(type_)
    assert isinstance(info, inspect.StructType), "a query is read as a Struct"
    return frozenset(field.encode_name for field in info.fields if _is_simple(field.type))


def _is_simple(type_: inspect.Type) -> bool:
    if isinstance(type_, inspect.Metadata):
        return _is_simple(type_.type)
    if isinstance(type_, inspect.UnionType):
        return any(map(_is_simple, type_.types))
    return isinstance(type_, inspect.IntType | inspect.BoolType)


def _simple(text: str) -> object:
    """What the text says, or the text itself, which then is of the wrong type."""
    if _WHOLE.fullmatch(text):
        return int(text)
    return {"true": True, "false": False}.get(text, text)


def require_each_key_once(body: bytes) -> None:
    """I-JSON (RFC 7493): of two equal keys nobody knows which one counts. Whatever else is wrong is found later."""
    try:
        if len(_keys.decode(body)) < body.count(b":"):  # nested objects, a time, or the same key twice
            json.loads(body.decode(), object_pairs_hook=_once, parse_int=_ignored, parse_float=_ignored)
    except (ValueError, RecursionError):
        return


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise Malformed(f"the key {twice[:64]!r} is there twice, once is right")


def _ignored(digits: str) -> None:
    return None


def _require_no_tag(type_: Any, body: bytes) -> None:
    """The path says which command it is: a key `command` is unknown here, though the Struct has it for batches."""
    config = getattr(type_, "__struct_config__", None)
    if config is not None and config.tag_field == "command" and b'"command"' in body:
        if "command" in msgspec.json.decode(body, type=dict[str, msgspec.Raw]):
            raise Malformed("Object contains unknown field `command`")
