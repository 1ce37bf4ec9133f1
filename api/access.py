"""Who may do what: every request is admitted here, or refused, before anything else of it is looked at.

The order is that of design/API.md: 401, another LARP's things as if they did not exist, 403. What is malformed,
unknown or against the rules comes later. Because 403 comes before 400, a player's body is peeked at leniently.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from litestar.types import HTTPScope
from msgspec import Raw, Struct

from api import tokens
from api.errors import Unauthenticated
from api.limits import Allowance, Kind
from api.requests import ApiRequest
from api.tokens import Asker
from ledger import sql
from ledger.errors import Forbidden, UnknownLarp
from ledger.messages import Role

SQL = sql.load("api", "access.sql")

Check = Callable[[ApiRequest], Awaitable[None]]
"""Raises Forbidden unless this request is one that a role with restrictions may make."""

INSIDE: tuple[Role, ...] = ("organiser", "banker", "keeper", "player", "tool")
"""Every role that belongs to a LARP."""

_TOKEN_BYTES_MAX = 500
_keys = msgspec.json.Decoder(dict[str, Raw])


class Access(Struct, frozen=True):
    """The roles that are let in, and for some of them a check of what exactly they ask for."""

    roles: tuple[Role, ...]
    restricted: Mapping[Role, Check] = {}


async def admit(request: ApiRequest, access: Access) -> None:
    """Let the request in as `request.auth`. Raises Unauthenticated, RateLimited, UnknownLarp, Forbidden, in
    this order."""
    asker = await _asker(request)
    request.scope["auth"] = asker
    larp = request.path_params.get("larp")
    if larp is not None and asker.larp is not None and asker.larp != larp:
        raise UnknownLarp(f"there is no LARP {str(larp)[:64]!r} for this token")
    if asker.role not in access.roles:
        raise Forbidden(f"this takes a token with the role {' or '.join(access.roles)}, this one is {asker.role}")
    if check := access.restricted.get(asker.role):
        await check(request)


async def _asker(request: ApiRequest) -> Asker:
    """The same answer for every token that is not valid: nothing tells whether it ever was.

    Raises Unauthenticated, RateLimited.
    """
    token = _bearer(request.scope)
    if token:
        limits, kind, peer = request.services.limits, _kind(request.scope), _peer(request.scope)
        whose = tokens.hash_of(token)
        limits.require_room(whose, kind, peer)
        if asker := await request.services.askers.of(whose):
            request.scope["state"]["allowance"] = Allowance(limits, whose, asker.role, kind)
            return asker
        limits.guessed(peer)
    raise Unauthenticated("the request needs the header `Authorization: Bearer TOKEN` with a token that is valid")


def _kind(scope: HTTPScope) -> Kind:
    return "reads" if scope["method"] in ("GET", "HEAD") else "writes"


def _peer(scope: HTTPScope) -> str:
    return scope["client"][0] if scope["client"] else ""


def _bearer(scope: HTTPScope) -> bytes:
    """The token as sent, empty if there is none."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, token = value.partition(b" ")
            return token.strip() if scheme.lower() == b"bearer" and len(token) <= _TOKEN_BYTES_MAX else b""
    return b""


# ---- what a role may do only for its own ----


def path_names_own_character(name: str = "character") -> Check:
    """For players: the character in the path is theirs."""

    async def check(request: ApiRequest) -> None:
        own = request.auth.character
        if request.path_params[name] != own:
            raise Forbidden(f"a player's token reads what is {own}'s and no other character's")

    return check


class NamesOwnCharacter(Struct, frozen=True):
    """For players: the body's `key` names their character.

    `needed`: without the key it is not theirs to do. `never`: a key with which it is never theirs.
    """

    key: str
    needed: bool = False
    never: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """What has to be known of the body."""
        return (self.key,) if self.never is None else (self.key, self.never)

    async def __call__(self, request: ApiRequest) -> None:
        known = {key: await _peek(request, key) for key in self.keys}
        self.require(request.auth, {key: value for key, value in known.items() if value is not None})

    def require(self, asker: Asker, known: Mapping[str, Any]) -> None:
        """Raises Forbidden. `known`: what the body says under `keys`; what is no name will be malformed."""
        if self.never is not None and known.get(self.never, ...) is not ...:
            raise Forbidden(f"{self.never} concerns others: it is the banker's and the organiser's")
        given = known.get(self.key)
        if (given is None and self.needed) or (isinstance(given, str) and given != asker.character):
            raise Forbidden(f"a player's token acts for its own character: {self.key} must be {asker.character!r}")


body_names_own_character = NamesOwnCharacter
settles_its_own_note = NamesOwnCharacter("debtor", never="plan")
"""For players: what their character owes is settled, and not a plan carried out, which concerns others."""


async def seat_at_open_table(request: ApiRequest) -> None:
    """For keepers: the character in the path sits at a table that is not over."""
    values = {"larp": request.auth.larp, "character": request.slug("character", Forbidden)}
    async with request.services.database.connection() as connection:
        cursor = await connection.execute(SQL["sits"], values)
        if await cursor.fetchone() != (True,):
            raise Forbidden("a keeper's token reads the purses of those who sit at an open table")


async def makes_no_admin(request: ApiRequest) -> None:
    """For organisers: the token to be made is not an admin's."""
    if await _peek(request, "role") == "admin":
        raise Forbidden("only an admin makes tokens with the role admin")


async def _peek(request: ApiRequest, key: str) -> Any:
    """What the body says under `key`, if it is an object at all; `...` if nobody can tell: it will be malformed."""
    try:
        keys = _keys.decode(await request.body())
        return msgspec.json.decode(keys[key]) if key in keys else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ...
