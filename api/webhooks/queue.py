"""What is to be delivered, as the database has it: who delivers what, up to when, and what came of it.

A webhook is delivered by whoever holds its lease. Whatever is written down is written by the holder only, and only
if no organiser changed the webhook meanwhile; so a process that comes too late writes nothing.
"""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from msgspec import Struct
from psycopg.rows import class_row

from api.webhooks.store import SQL
from ledger.database import Connection
from ledger.recorded import event_json

SwitchedOff = Literal["gone", "exhausted"]
"""Why a webhook is not delivered any more without an organiser having said so."""
LEASE_S = 60.0
"""How long a process that died keeps a webhook from the others."""
_SLEEP_MIN_S = 0.05
SECRETS_MAX = 5
"""How many sign at most, the newest first."""


class Leased(Struct, frozen=True):
    """A webhook that this process delivers from `position` on, as it was at `revision`.

    `leased_by`: the process and this one lease, so that it does not take a later lease of its own for this one.
    """

    larp: int
    slug: str
    founding_id: str
    id: str
    url: str
    types: Sequence[str] | None
    position: int
    attempts: int
    revision: int
    leased_by: str
    salts: Sequence[bytes]


class Page(Struct, frozen=True):
    """The next events for a webhook, each with its position; up to `upto` there are no others that it wants."""

    events: Sequence[tuple[int, bytes]]
    upto: int


class Backlog(Struct, frozen=True):
    """How many events all webhooks that are switched on are behind, and how many webhooks failed last."""

    events: int
    failing: int


class Queue(Struct, frozen=True):
    """`worker`: the name of this process, unlike that of any other."""

    worker: str

    async def larps(self, connection: Connection) -> set[str]:
        """The slugs of the LARPs that have webhooks which are switched on."""
        cursor = await connection.execute(SQL["larps"])
        return {slug for (slug,) in await cursor.fetchall()}

    async def claim(self, connection: Connection, limit: int) -> Sequence[Leased]:
        """Some that are due, for LEASE_S from now."""
        lease = timedelta(seconds=LEASE_S)
        leased_by = f"{self.worker}/{secrets.token_hex(8)}"
        values = {"leased_by": leased_by, "lease": lease, "limit": limit, "secrets": SECRETS_MAX}
        async with connection.cursor(row_factory=class_row(Leased)) as cursor:
            await cursor.execute(SQL["claim"], values)
            return await cursor.fetchall()

    async def next_due_s(self, connection: Connection) -> float | None:
        """When there will be something to claim, if nothing new is recorded; None: never."""
        row = await (await connection.execute(SQL["next_due"], {"worker": self.worker})).fetchone()
        return None if row is None or row[0] is None else max(_SLEEP_MIN_S, float(row[0]))

    async def page(self, connection: Connection, leased: Leased, limit: int) -> Page:
        """The end of the journal is asked for first: what is recorded meanwhile is not passed over."""
        row = await (await connection.execute(SQL["head"], {"larp": leased.larp})).fetchone()
        assert row is not None, "a LARP with webhooks has a journal"
        types = None if leased.types is None else list(leased.types)
        values = {"larp": leased.larp, "after": leased.position, "upto": row[0], "types": types, "limit": limit}
        rows = await (await connection.execute(SQL["pending"], values)).fetchall()
        events = [(position, event_json(position, body, hash_)) for position, body, hash_ in rows]
        return Page(events, events[-1][0] if len(events) == limit else row[0])

    async def delivered(self, connection: Connection, leased: Leased, position: int, status_code: int) -> bool:
        """Whether the webhook is still ours to go on with, for another LEASE_S."""
        values = {"position": position, "status": status_code, "lease": timedelta(seconds=LEASE_S)}
        cursor = await connection.execute(SQL["delivered"], _of(leased) | values)
        return await cursor.fetchone() is not None

    async def failed(
        self,
        connection: Connection,
        leased: Leased,
        position: int,
        *,
        status_code: int | None,
        reason: str,
        wait_s: float,
        switched_off: SwitchedOff | None,
    ) -> bool:
        """Whether it counts."""
        values: dict[str, object] = {"position": position, "status": status_code, "reason": reason}
        values |= {"wait": timedelta(seconds=wait_s), "switched_off": switched_off}
        cursor = await connection.execute(SQL["failed"], _of(leased) | values)
        return await cursor.fetchone() is not None

    async def passed(self, connection: Connection, leased: Leased, upto: int) -> None:
        await connection.execute(SQL["passed"], _of(leased) | {"position": upto})

    async def release(self, connection: Connection, leased: Leased) -> None:
        """Let others have it, if it is still ours."""
        await connection.execute(SQL["release"], _of(leased))

    async def release_all(self, connection: Connection) -> None:
        await connection.execute(SQL["release_all"], {"worker": self.worker})


def _of(leased: Leased) -> dict[str, object]:
    return {"larp": leased.larp, "id": leased.id, "leased_by": leased.leased_by, "revision": leased.revision}


async def backlog(connection: Connection) -> Backlog:
    """For the metrics."""
    async with connection.cursor(row_factory=class_row(Backlog)) as cursor:
        await cursor.execute(SQL["backlog"])
        found = await cursor.fetchone()
    assert found is not None, "an aggregate has a row"
    return found
