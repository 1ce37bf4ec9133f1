"""Webhooks as organisers see them: making, changing and ending them. Their secrets are shown once and kept nowhere.

A secret is derived from a random salt and the database's own key; neither of them is in any answer, event or log.
Whoever has the whole database, or a backup of it, has the secrets, as with everything else that is hidden.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta

import msgspec
import uuid_utils.compat as uuid
from msgspec import UNSET, Struct, UnsetType
from psycopg.rows import class_row

from api.answers import given
from api.tokens import Once
from api.webhooks import message
from api.webhooks.model import (
    WEBHOOKS_MAX,
    MadeWebhook,
    NewWebhook,
    Replay,
    Rotation,
    TooManyWebhooks,
    Webhook,
    WebhookChange,
    WebhookRow,
)
from api.webhooks.targets import require_public, target_of
from ledger import sql
from ledger.book import EVENTS
from ledger.database import Connection
from ledger.errors import IdempotencyMismatch, Malformed, NotFound, UnknownLarp, UnknownPosition
from ledger.listener import CHANGED, WEBHOOKS
from ledger.recorded import split_tag

SQL = sql.load("api.webhooks", "store.sql")

_SALT_BYTES = 32
_LOCK = 0x77686B  # "whk": the first half of the advisory lock's key, a LARP's number the second
_KNOWN_TYPES = frozenset(split_tag(event.TYPE)[0] for event in EVENTS)


class Keeper(Struct, frozen=True):
    """What making webhooks takes: the database's own key, and whether private targets are allowed."""

    key: bytes
    private: bool

    def require(self, url: str | UnsetType, types: Sequence[str] | UnsetType | None) -> None:
        """Raises Malformed for a target that is not to be reached, and for types that no event has."""
        if not isinstance(url, UnsetType):
            target = target_of(url)
            if not self.private:
                require_public(target)
        if not isinstance(types, UnsetType):
            for at, type_ in enumerate(types or ()):
                if type_ not in _KNOWN_TYPES:
                    raise Malformed(f"{type_!r} is no type of event; types are without their version", f"/types/{at}")

    async def create(
        self, connection: Connection, slug: str, new: NewWebhook, once: Once | None
    ) -> tuple[MadeWebhook, bool]:
        """The webhook, and whether it was made before with the same key.

        Raises Malformed, UnknownLarp, UnknownPosition, TooManyWebhooks, IdempotencyMismatch.
        """
        self.require(new.url, new.types)
        larp, head = await _larp(connection, slug)
        position = _position(new.from_position, head) if new.from_position else None
        async with connection.transaction():
            await connection.execute(SQL["lock"], {"lock": _LOCK, "larp": larp})
            if made := await self._made_once(connection, larp, once):
                return made, True
            id_ = f"whk_{uuid.uuid7().hex}"
            values = {"larp": larp, "id": id_, "url": new.url, "types": _types(new.types), "label": new.label}
            if not await _did(connection, "create", values | {"position": position, "most": WEBHOOKS_MAX}):
                raise TooManyWebhooks(f"this LARP has {WEBHOOKS_MAX} webhooks: delete one first")
            await _notify(connection)
            return await self._with_secret(connection, larp, id_, once), False

    async def rotate(
        self, connection: Connection, slug: str, id_: str, rotation: Rotation, once: Once | None
    ) -> tuple[MadeWebhook, bool]:
        """The same with a new secret; earlier ones sign beside it for a while. Raises NotFound, IdempotencyMismatch."""
        larp, _ = await _larp(connection, slug)
        async with connection.transaction():
            await connection.execute(SQL["lock"], {"lock": _LOCK, "larp": larp})
            if not await _did(connection, "touch", {"larp": larp, "id": id_}):
                raise _unknown()
            if made := await self._made_once(connection, larp, once):
                return made, True
            overlap = timedelta(seconds=rotation.overlap_s)
            await connection.execute(SQL["retire_secrets"], {"larp": larp, "webhook": id_, "overlap": overlap})
            return await self._with_secret(connection, larp, id_, once), False

    async def _made_once(self, connection: Connection, larp: int, once: Once | None) -> MadeWebhook | None:
        """What an idempotency key has made before. Raises IdempotencyMismatch."""
        if once is None:
            return None
        cursor = await connection.execute(SQL["made_once"], {"larp": larp, "once_hash": once.key_hash})
        row = await cursor.fetchone()
        if row is None:
            return None
        id_, salt, said_hash = row
        if said_hash != once.said_hash:
            raise IdempotencyMismatch("the key was used for another webhook before: take a new one")
        return await self._made(connection, larp, id_, salt)

    async def _with_secret(self, connection: Connection, larp: int, id_: str, once: Once | None) -> MadeWebhook:
        """With a key the salt comes from it, as a token does; hashed, for the token itself may come from the same."""
        salt = secrets.token_bytes(_SALT_BYTES) if once is None else hashlib.sha256(b"webhook" + once.secret).digest()
        values = {"larp": larp, "webhook": id_, "salt": salt}
        values |= {"once_hash": once and once.key_hash, "said_hash": once and once.said_hash}
        await connection.execute(SQL["create_secret"], values)
        return await self._made(connection, larp, id_, salt)

    async def _made(self, connection: Connection, larp: int, id_: str, salt: bytes) -> MadeWebhook:
        secret = message.secret_text(message.secret_of(self.key, id_, salt))
        return MadeWebhook(**msgspec.structs.asdict(await _one(connection, larp, id_)), secret=secret)

    async def change(self, connection: Connection, slug: str, id_: str, change: WebhookChange) -> Webhook:
        """Raises Malformed, NotFound."""
        self.require(change.url, change.types)
        values: dict[str, object] = {
            "url": given(change.url),
            "types": _types(given(change.types)),
            "has_types": change.types is not UNSET,
            "label": given(change.label),
            "has_label": change.label is not UNSET,
            "enabled": given(change.enabled),
        }
        return await _changed(connection, slug, id_, "change", values)


async def replay(connection: Connection, slug: str, id_: str, replay: Replay) -> Webhook:
    """Send again from a position on. Raises NotFound, UnknownPosition."""
    await one(connection, slug, id_)
    _, head = await _larp(connection, slug)
    return await _changed(connection, slug, id_, "replay", {"position": _position(replay.from_position, head)})


async def listed(connection: Connection, slug: str, after: str | None, limit: int) -> Sequence[Webhook]:
    """The webhooks of a LARP in the order in which they were made."""
    larp, _ = await _larp(connection, slug)
    return await _shown(connection, {"larp": larp, "after": after or "", "only": None, "limit": limit})


async def one(connection: Connection, slug: str, id_: str) -> Webhook:
    """Raises NotFound."""
    larp, _ = await _larp(connection, slug)
    return await _one(connection, larp, id_)


async def delete(connection: Connection, slug: str, id_: str) -> None:
    """Raises NotFound."""
    larp, _ = await _larp(connection, slug)
    if not await _did(connection, "delete", {"larp": larp, "id": id_}):
        raise _unknown()
    await _notify(connection)


# ---- what they share ----


async def _changed(connection: Connection, slug: str, id_: str, query: str, values: Mapping[str, object]) -> Webhook:
    larp, _ = await _larp(connection, slug)
    async with connection.transaction():
        if not await _did(connection, query, {**values, "larp": larp, "id": id_}):
            raise _unknown()
        await _notify(connection)
        return await _one(connection, larp, id_)


async def _larp(connection: Connection, slug: str) -> tuple[int, int]:
    """A LARP's number and where its journal ends."""
    row = await (await connection.execute(SQL["larp"], {"slug": slug})).fetchone()
    if row is None:
        raise UnknownLarp(f"there is no LARP {slug!r}")
    return int(row[0]), int(row[1])


async def _one(connection: Connection, larp: int, id_: str) -> Webhook:
    found = await _shown(connection, {"larp": larp, "after": "", "only": id_, "limit": 1})
    if not found:
        raise _unknown()
    return found[0]


async def _shown(connection: Connection, values: Mapping[str, object]) -> Sequence[Webhook]:
    async with connection.cursor(row_factory=class_row(WebhookRow)) as cursor:
        await cursor.execute(SQL["shown"], values)
        return [row.shown() for row in await cursor.fetchall()]


async def _did(connection: Connection, query: str, values: Mapping[str, object]) -> bool:
    """Whether a statement found its row, or made it."""
    return await (await connection.execute(SQL[query], values)).fetchone() is not None


async def _notify(connection: Connection) -> None:
    await connection.execute(SQL["notify"], {"channel": WEBHOOKS, "payload": CHANGED})


def _position(first: int, head: int) -> int:
    """The position before the first one to be sent. Raises UnknownPosition beyond the next one."""
    if first > head + 1:
        raise UnknownPosition(f"the journal ends at position {head}, the next one is {head + 1}")
    return first - 1


def _types(types: Sequence[str] | None) -> list[str] | None:
    """As an array; each once."""
    return None if types is None else list(dict.fromkeys(types))


def _unknown() -> NotFound:
    return NotFound("there is no such webhook in this LARP")
