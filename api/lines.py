"""One line of a batch: which command it is, whether its sender may, and the request that it stands for."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from api import money, tables
from api.access import Access, NamesOwnCharacter
from api.conditions import idempotency_key, said_with
from api.directory import create_asset, create_character
from api.operations import operation_of
from api.requests import require_each_key_once
from api.tokens import Asker
from ledger import purses, wire
from ledger.book import ActRequest, Request, Void, VoidTable
from ledger.errors import Forbidden, Malformed
from ledger.games import GAMES
from ledger.plans import SettlePlan
from ledger.sending import Sent

LINE_BYTES_MAX = 100_000
COMMANDS: Mapping[str, tuple[Any, Any]] = {
    "asset": (create_asset, purses.DefineAsset),
    "character": (create_character, purses.AddCharacter),
    "grant": (money.create_grant, purses.Grant),
    "collection": (money.create_collection, purses.Collect),
    "transfer": (money.create_transfer, purses.Transfer),
    "iou": (money.create_iou, purses.IssueNote),
    "settlement": (money.create_settlement, purses.Settle),
    "forgival": (money.create_forgival, purses.Forgive),
    "assignment": (money.create_assignment, purses.Assign),
    "reversal": (money.create_reversal, purses.Reverse),
    "table": (tables.open_table, None),
    "action": (tables.act, None),
    "void": (tables.void_table, None),
}
_ACCESS: Mapping[str, Access] = {
    name: access for name, (route, _) in COMMANDS.items() if (access := operation_of(route).access) is not None
}
_DECODERS = {name: msgspec.json.Decoder(type_) for name, (_, type_) in COMMANDS.items() if type_ is not None}
_openings = wire.decoder_of(*(game.opening for game in GAMES))
_void = msgspec.json.Decoder(VoidTable)
_plan = msgspec.json.Decoder(SettlePlan)
_keys = msgspec.json.Decoder(dict[str, Raw])
_word = msgspec.json.Decoder(str)


class Line(Struct, frozen=True):
    """A line that may be carried out."""

    request: Request
    key: str | None
    said: bytes

    def sent(self, asker: Asker) -> Sent:
        return Sent(request=self.request, actor=asker.actor, key=self.key, said=self.said)


def read(line: bytes, asker: Asker) -> Line:
    """Raises Malformed, and Forbidden for what the asker's role may not do by itself either."""
    keys = wire.decode(_keys, line)
    if line.count(b":") != len(keys):  # nested objects, a time, or the same key twice
        require_each_key_once(line)
    name = _said(keys, "command")
    if name is None or name not in COMMANDS:
        raise Malformed(f"command must be one of {', '.join(COMMANDS)}", pointer="/command")
    _require_allowed(name, keys, asker)
    key = _said(keys, "key")
    body = {k: v for k, v in keys.items() if k not in ("command", "key")}
    request = _request(name, line if key is None else None, body)
    if key is None:
        return Line(request, None, b"")
    return Line(request, idempotency_key(f"{key}"), said_with(name, msgspec.json.encode(keys)))


def _said(keys: Mapping[str, Raw], key: str) -> str | None:
    if key not in keys:
        return None
    try:
        return _word.decode(keys[key])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise Malformed(f"{key} must be a string", pointer=f"/{key}") from None


def _require_allowed(name: str, keys: Mapping[str, Raw], asker: Asker) -> None:
    access = _ACCESS[name]
    if asker.role not in access.roles:
        raise Forbidden(f"{name} takes a token with the role {' or '.join(access.roles)}, this one is {asker.role}")
    own = access.restricted.get(asker.role)
    if own is None:
        return
    assert isinstance(own, NamesOwnCharacter), "every command that a player may send says whose doing it is"
    own.require(asker, {key: _peeked(raw) for key, raw in keys.items() if key in own.keys})


def _peeked(raw: Raw) -> Any:
    """`...` for what nobody can read: it will be malformed."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ...


def _request(name: str, line: bytes | None, body: Mapping[str, Raw]) -> Request:
    """`line`: as it came, where nothing had to be taken out of it."""
    match name:
        case "table":
            opening: Request = wire.decode(_openings, msgspec.json.encode(body))
            return opening
        case "action" | "void":
            table = _said(body, "table")
            if table is None:
                raise Malformed(f"{name} needs the key table", pointer="/table")
            rest = msgspec.json.encode({k: v for k, v in body.items() if k != "table"})
            return ActRequest(table, rest) if name == "action" else Void(table, wire.decode(_void, rest))
        case "settlement" if "plan" in body:
            plan: Request = wire.decode(_plan, msgspec.json.encode(body))
            return plan
        case _:  # the others are one Struct each, tagged with their name
            whole = line if line is not None else msgspec.json.encode({"command": name, **body})
            request: Request = wire.decode(_DECODERS[name], whole)
            return request
