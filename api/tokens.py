"""Tokens: 256 random bits, shown once, kept only as SHA-256 (what is random needs no slow hash).

A token belongs to one LARP and has one role; an admin's belongs to none. It can expire and be revoked, and each
request looks it up, so that a revoked one is refused from the next request on, in every process.
"""

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec
import uuid_utils.compat as uuid
from msgspec import Meta, Struct
from psycopg.rows import class_row

from ledger import sql
from ledger.arrays import Byteas
from ledger.database import Connection, Database
from ledger.errors import IdempotencyMismatch, Malformed, NotFound, UnknownCharacter, UnknownLarp
from ledger.messages import Actor, Command, Instant, Name, Role, Slug, in_utc
from ledger.settings import Settings

SQL = sql.load("api", "tokens.sql")

PREFIX = "skb_"
TOKEN_BYTES = 32
GATHER_S = 0.002
"""Where some have come while tokens were looked up, so long is waited for more of them before the next look."""
_ADMIN_LOCK = 0x736B6274  # "skbt": the key of the advisory lock
_FIRST_ADMIN = "first admin"


class Asker(Struct, frozen=True):
    """Who shows a valid token: its id, its role, its LARP (None: an admin) and the character it is bound to."""

    token: str
    role: Role
    larp: str | None
    character: str | None

    @property
    def actor(self) -> Actor:
        return Actor(role=self.role, token=self.token, character=self.character)


class NewToken(Command, frozen=True, kw_only=True):
    """A token that is to be made. `character`: for players and nobody else. `expires_at`: never, if left out."""

    role: Role
    label: Name
    character: Slug | None = None
    expires_at: Instant | None = None


class Token(Struct, frozen=True, kw_only=True):
    """A token, without what would let anybody use it."""

    id: Annotated[str, Meta(description="tok_ and 32 hex digits; it stands as `actor.token` in the events")]
    role: Role
    character: str | None
    label: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


class MadeToken(Token, frozen=True, kw_only=True):
    """A token that was just made. `token` is shown this once and nowhere kept."""

    token: str


def hash_of(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


async def find(connection: Connection, hashes: Iterable[bytes]) -> Mapping[bytes, Asker]:
    """Who shows the tokens with these hashes. Those that are unknown, expired or revoked are left out."""
    cursor = await connection.numbered.execute(SQL["find"], [Byteas(hashes)], prepare=True, binary=True)
    return {hash_: Asker(*who) for hash_, *who in await cursor.fetchall()}


class Askers:
    """Who shows a token, looked up for each request after it came.

    Requests that come while a query is on its way share the next one, so that many at once cost little more than one.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[tuple[bytes, asyncio.Future[Asker | None]]] = []
        self._running: asyncio.Task[None] | None = None

    async def of(self, hash_: bytes) -> Asker | None:
        """None if the token with this hash is unknown, expired or revoked. Raises Unavailable."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Asker | None] = loop.create_future()
        self._waiting.append((hash_, answer))
        if self._running is None or self._running.done():
            self._running = loop.create_task(self._look_up())
        return await answer

    async def _look_up(self) -> None:
        while self._waiting:
            asked, self._waiting = self._waiting, []
            try:
                async with self._database.connection() as connection:
                    found = await find(connection, {hash_ for hash_, _ in asked})
            except Exception as error:  # whoever waits must hear of any fault at all: nobody else would tell them
                for _, answer in asked:
                    if not answer.done():
                        answer.set_exception(error)
            else:
                for hash_, answer in asked:
                    if not answer.done():  # whoever asked may be gone
                        answer.set_result(found.get(hash_))
            if self._waiting:
                await asyncio.sleep(GATHER_S)


async def is_valid(connection: Connection, id_: str) -> bool:
    """Whether the token with this id is neither expired nor revoked."""
    return await _is(connection, "is_valid", id=id_)


class _MadeOnce(Token, frozen=True, kw_only=True):
    said_hash: bytes


class Once(Struct, frozen=True):
    """A token that is to be made once only: what it is derived from, and keyed hashes of the key and of the rest."""

    secret: bytes
    key_hash: bytes
    said_hash: bytes


def once(secret_key: bytes, asker: str, key: str, said: bytes) -> Once:
    """From an idempotency key of the token with the id `asker`. Without the key nobody can derive it again."""

    def keyed(purpose: bytes, value: bytes) -> bytes:
        return hmac.digest(secret_key, b"\0".join((purpose, asker.encode(), value)), "sha256")

    return Once(keyed(b"token", key.encode()), keyed(b"token-key", key.encode()), keyed(b"token-said", said))


async def create(connection: Connection, larp: str, new: NewToken, once: Once | None = None) -> tuple[MadeToken, bool]:
    """The token, and whether it was made before with the same key.

    Raises Malformed for a character that a role must not or does not name, then UnknownLarp, UnknownCharacter,
    IdempotencyMismatch.
    """
    if new.role == "player" and new.character is None:
        raise Malformed("a player's token needs a character", pointer="/character")
    if new.role != "player" and new.character is not None:
        raise Malformed(f"only a player's token has a character, not a token with role {new.role}", "/character")
    expires_at = in_utc(new.expires_at, "/expires_at")
    key = await _key(connection, larp)
    if new.character is not None:
        if not await _is(connection, "has_character", larp=key, character=new.character):
            raise UnknownCharacter(f"there is no character {new.character!r} in this LARP")
    values = msgspec.structs.asdict(new) | {"larp": None if new.role == "admin" else key, "expires_at": expires_at}
    if once is None:
        return await _insert(connection, values), False
    token = PREFIX + base64.urlsafe_b64encode(once.secret).decode().rstrip("=")
    keyed = {"once_hash": once.key_hash, "said_hash": once.said_hash}
    if made := await _inserted(connection, values | keyed, token):
        return made, False
    async with connection.cursor(row_factory=class_row(_MadeOnce)) as cursor:
        await cursor.execute(SQL["made_once"], keyed)
        before = await cursor.fetchone()
    assert before is not None, "a conflict is with something"
    fields = msgspec.structs.asdict(before)
    if fields.pop("said_hash") != once.said_hash:
        raise IdempotencyMismatch("the key was used for another token before: take a new one")
    return MadeToken(token=token, **fields), True


async def listed(connection: Connection, larp: str, after: str | None, limit: int) -> list[Token]:
    """The tokens of a LARP in the order in which they were made, revoked ones too. Raises UnknownLarp."""
    key = await _key(connection, larp)
    async with connection.cursor(row_factory=class_row(Token)) as cursor:
        await cursor.execute(SQL["list"], {"larp": key, "after": after, "limit": limit})
        return await cursor.fetchall()


async def revoke(connection: Connection, larp: str, id_: str, *, admins: bool) -> None:
    """End a token of the LARP, or with `admins` an admin's. Raises UnknownLarp and NotFound."""
    key = await _key(connection, larp)
    cursor = await connection.execute(SQL["revoke"], {"larp": key, "id": id_, "admins": admins})
    if await cursor.fetchone() is None:
        raise NotFound("there is no such token in this LARP")


async def ensure_admin(connection: Connection, settings: Settings) -> str | None:
    """See to it that there is an admin token; a newly made one is returned, to be printed once.

    With `settings.admin_token` that one is made known, and nothing printed. Otherwise one is made if there has
    never been any: of several processes that start at once, by exactly one.
    """
    if settings.admin_token is not None:
        values = {"id": _new_id(), "hash": hash_of(settings.admin_token.encode()), "label": "SKUGGBOK_ADMIN_TOKEN"}
        await connection.execute(SQL["given_admin"], values)
        return None
    async with connection.transaction():
        await connection.execute(SQL["lock"], {"key": _ADMIN_LOCK})
        if await _is(connection, "has_admin"):
            return None
        admin = {"larp": None, "role": "admin", "character": None, "label": _FIRST_ADMIN, "expires_at": None}
        return (await _insert(connection, admin)).token


async def make_admin(connection: Connection, label: str, lives: timedelta) -> MadeToken:
    """An admin's token for somebody who has the database already, such as the command that runs the service."""
    values = {"larp": None, "role": "admin", "character": None, "label": label}
    return await _insert(connection, values | {"expires_at": datetime.now(UTC) + lives})


async def _insert(connection: Connection, values: Mapping[str, object]) -> MadeToken:
    token = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    made = await _inserted(connection, {**values, "once_hash": None, "said_hash": None}, token)
    assert made is not None, "what is random is new"
    return made


async def _inserted(connection: Connection, values: Mapping[str, object], token: str) -> MadeToken | None:
    """None if its idempotency key was used before."""
    async with connection.cursor(row_factory=class_row(Token)) as cursor:
        await cursor.execute(SQL["create"], {**values, "id": _new_id(), "hash": hash_of(token.encode())})
        made = await cursor.fetchone()
    return None if made is None else MadeToken(token=token, **msgspec.structs.asdict(made))


def _new_id() -> str:
    """In the order of time, so that lists are too."""
    return f"tok_{uuid.uuid7().hex}"


async def _key(connection: Connection, larp: str) -> int:
    cursor = await connection.execute(SQL["larp"], {"larp": larp})
    row = await cursor.fetchone()
    if row is None:
        raise UnknownLarp(f"there is no LARP {larp!r}")
    return int(row[0])


async def _is(connection: Connection, query: str, **values: object) -> bool:
    cursor = await connection.execute(SQL[query], values)
    return await cursor.fetchone() == (True,)
