"""What the API asks of the journal and the projections, one query each. Rows are frozen Structs.

LARPs are named by slug. A LARP, character, table or position that is not there raises its Unknown refusal.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct
from psycopg.rows import class_row, scalar_row

from ledger import money, sql
from ledger.database import Connection
from ledger.errors import UnknownCharacter, UnknownLarp, UnknownPosition, UnknownTable
from ledger.recorded import event_json
from projections import known
from projections.known import LarpNumber
from projections.marks import LATE_AFTER

SQL = sql.load("projections.sql", "queries.sql")
POSITION_MAX = 2**53 - 1
_TICK = timedelta(microseconds=1)

Order = Literal["recorded", "at"]
"""By position, or by when it happened in the field and then by position."""


class LarpRow(Struct, frozen=True):
    """A LARP, where its journal ends, and how much there is in it."""

    larp: str
    name: str
    language: str
    position: int
    characters: int
    assets: int
    tables: int


class CharacterRow(Struct, frozen=True):
    """A character and how much it may owe, by asset. `position`: of its last change."""

    character: str
    name: str
    credit_limit: Mapping[str, int]
    position: int


class AssetRow(Struct, frozen=True):
    asset: str
    kind: money.Kind
    name: str


class Owes(Struct, frozen=True, omit_defaults=True):
    """A note: held by a creditor, or lying at a table."""

    asset: str
    amount: int
    creditor: str | None = None
    table: str | None = None


class Owed(Struct, frozen=True):
    """A note that a purse holds."""

    debtor: str
    asset: str
    amount: int


class Purse(Struct, frozen=True):
    """What a character has, owes and is owed, as of `position`. `balances` hold tokens only."""

    character: str
    name: str
    balances: Mapping[str, int]
    owes: Sequence[Owes]
    owed: Sequence[Owed]
    position: int


class StatementRow(Struct, frozen=True):
    """One movement of a purse, or of the notes that its character issued (account debtor/C).

    `change` below 0: out. `balance`: of that account after it, in the order of recording. `line`: which movement of
    the event. `late`: it was recorded more than five minutes after it happened. `reversed_by`, `reverses`: the
    position of the event that reversed this one, or that this one reverses; `voided_by`: of the void of its table.
    """

    position: int
    line: int
    at: datetime
    recorded_at: datetime
    type: str
    table: str | None
    account: str
    asset: str
    change: int
    balance: int
    late: bool
    reversed_by: int | None
    reverses: int | None
    voided_by: int | None


class SealedRow(Struct, frozen=True):
    """A hidden value and the event that sealed it. `seat` None: nobody holds it."""

    seat: str | None
    what: str
    value: Raw
    position: int
    commitment: str


class EventFilter(Struct, frozen=True):
    """Positions between `after` and `before`, both left out; times of recording from `since` on and before `until`.

    `character`: what moved in its purse or its debts, and what it did at tables.
    """

    after: int = 0
    before: int = POSITION_MAX
    type: str | None = None
    table: str | None = None
    character: str | None = None
    account: str | None = None
    since: datetime | None = None
    until: datetime | None = None


async def head(connection: Connection, larp: str) -> int:
    """The last position of a journal. Raises UnknownLarp."""
    return (await known.now(connection, larp)).position


async def larps(connection: Connection, only: str | None, after: str | None, limit: int) -> Sequence[LarpRow]:
    """LARPs by name, all or the one that a token is for."""
    parameters = {"only": only, "after": after or "", "limit": limit}
    cursor = await connection.execute(SQL["larps"], parameters)
    return [
        LarpRow(slug, founded["data"]["name"], founded["data"]["language"], *rest)
        for slug, body, *rest in await cursor.fetchall()
        for founded in [msgspec.json.decode(body)]
    ]


async def larp(connection: Connection, larp: str) -> LarpRow:
    """Raises UnknownLarp."""
    found = await larps(connection, larp, None, 1)
    if not found:
        raise UnknownLarp(f"there is no LARP {larp!r}")
    return found[0]


async def characters(connection: Connection, larp: str, after: str | None, limit: int) -> Sequence[CharacterRow]:
    number = await known.number(connection, larp)
    async with connection.cursor(row_factory=class_row(CharacterRow)) as cursor:
        await cursor.execute(SQL["characters"], {"larp": number, "after": after or "", "limit": limit})
        return await cursor.fetchall()


async def assets(connection: Connection, larp: str, after: str | None = None, limit: int = 1000) -> Sequence[AssetRow]:
    number = await known.number(connection, larp)
    async with connection.cursor(row_factory=class_row(AssetRow)) as cursor:
        await cursor.execute(SQL["assets"], {"larp": number, "after": after or "", "limit": limit})
        return await cursor.fetchall()


async def purses(connection: Connection, larp: str, after: str | None, limit: int) -> Sequence[Purse]:
    """Purses by character."""
    number = await known.number(connection, larp)
    return await _purses(connection, {"larp": number, "after": after or "", "only": None, "limit": limit})


async def purse(connection: Connection, larp: str, character: str) -> Purse:
    """Raises UnknownCharacter."""
    number = await known.number(connection, larp)
    found = await _purses(connection, {"larp": number, "after": "", "only": character, "limit": 1})
    if not found:
        raise UnknownCharacter(f"there is no character {character!r} in this LARP")
    return found[0]


async def _purses(connection: Connection, parameters: Mapping[str, Any]) -> Sequence[Purse]:
    cursor = await connection.execute(SQL["purses"], parameters)
    return [purse_row(*row) for row in await cursor.fetchall()]


def purse_row(character: str, name: str, position: int, held: Mapping[str, int], owes: Sequence[Any]) -> Purse:
    return Purse(
        character=character,
        name=name,
        balances={asset: amount for asset, amount in held.items() if not money.is_note(asset)},
        owes=[_owes(account, asset, amount) for account, asset, amount in owes],
        owed=[Owed(*money.note_parts(asset), amount) for asset, amount in held.items() if money.is_note(asset)],
        position=position,
    )


def _owes(account: str, asset: str, amount: int) -> Owes:
    kind, holder, *_ = account.split("/")
    _, promised = money.note_parts(asset)
    if kind == "purse":
        return Owes(promised, amount, creditor=holder)
    return Owes(promised, amount, table=holder)


async def statement(
    connection: Connection,
    larp: str,
    character: str,
    before: tuple[int, int] | None,
    limit: int,
    *,
    order: Order = "recorded",
    until: int = POSITION_MAX,
) -> Sequence[StatementRow]:
    """The movements of a purse, the newest first, by when they were recorded or by when they happened.

    `before`: position and line of the last one seen. `until`: as of this position, for corrections too.
    """
    number = await known.number(connection, larp)
    position, line = before or (POSITION_MAX, 0)
    parameters = {
        "larp": number,
        "accounts": [money.purse(character), money.debtor(character)],
        "position": position,
        "line": line,
        "until": until,
        "late": LATE_AFTER,
        "limit": limit,
    }
    async with connection.cursor(row_factory=class_row(StatementRow)) as cursor:
        await cursor.execute(SQL["statement" if order == "recorded" else "statement_by_at"], parameters)
        rows = await cursor.fetchall()
    if not rows:
        await purse(connection, larp, character)
    return rows


async def tables(
    connection: Connection, larp: str, game: str | None, phase: str | None, after: str | None, limit: int
) -> Sequence[tuple[str, bytes]]:
    """Tables by name, each with its view as JSON."""
    number = await known.number(connection, larp)
    parameters = {"larp": number, "game": game, "phase": phase, "after": after or "", "limit": limit}
    cursor = await connection.execute(SQL["tables"], parameters)
    return await cursor.fetchall()


async def table(connection: Connection, larp: str, table: str) -> bytes:
    """The view of a table as JSON. Raises UnknownTable."""
    number = await known.number(connection, larp)
    async with connection.cursor(row_factory=scalar_row) as cursor:
        await cursor.execute(SQL["table"], {"larp": number, "table": table})
        view: bytes | None = await cursor.fetchone()
    if view is None:
        raise UnknownTable(f"there is no table {table!r} in this LARP")
    return view


async def sealed(connection: Connection, larp: str, table_: str, seat: str | None) -> Sequence[SealedRow]:
    """What is hidden at a table, the newest first: what `seat` hides, or all of it. Raises UnknownTable."""
    await table(connection, larp, table_)
    number = await known.number(connection, larp)
    cursor = await connection.execute(SQL["sealed"], {"larp": number, "table": table_, "seat": seat})
    return [
        SealedRow(seat_, what, Raw(value), position, commitment)
        for seat_, what, value, position, commitment in await cursor.fetchall()
    ]


async def event(connection: Connection, larp: str, position: int) -> bytes:
    """One event as JSON. Raises UnknownPosition."""
    number = await known.now(connection, larp)
    cursor = await connection.execute(SQL["event"], {"larp": number.larp, "position": position})
    row = await cursor.fetchone()
    if row is None:
        raise UnknownPosition(f"the journal ends at position {number.position}")
    return event_json(*row)


async def events(connection: Connection, larp: str, filter: EventFilter, limit: int) -> Sequence[tuple[int, bytes]]:
    """Events in order, each with its position and as JSON."""
    number = await known.now(connection, larp)
    parameters = {
        "larp": number.larp,
        "after": filter.after,
        "before": filter.before,
        "type": filter.type,
        "table": filter.table,
        "limit": limit,
        **_concerning(filter),
    }
    if filter.since is not None:
        first = await _position_before(connection, number, filter.since)
        parameters["after"] = max(filter.after, first)
    if filter.until is not None:
        parameters["before"] = min(filter.before, await _position_before(connection, number, filter.until) + 1)
    cursor = await connection.execute(SQL[_which(filter)], parameters)
    return [(position, event_json(position, body, hash_)) for position, body, hash_ in await cursor.fetchall()]


def _which(filter: EventFilter) -> str:
    if filter.account or filter.character:
        return "events_of_accounts"
    if filter.table:
        return "events_of_table"
    return "events_of_type" if filter.type else "events"


def _concerning(filter: EventFilter) -> Mapping[str, Any]:
    """An account, or all that concerns a character; of both only what they have in common."""
    character = filter.character
    accounts = [money.purse(character), money.debtor(character)] if character else []
    if filter.account is None:
        return {"accounts": accounts, "character": character, "also_character": None, "also_accounts": []}
    return {
        "accounts": [filter.account],
        "character": None,
        "also_character": character,
        "also_accounts": accounts,
    }


async def _position_before(connection: Connection, number: LarpNumber, time: datetime) -> int:
    """The last position recorded before a time, 0 if there is none."""
    parameters = {"larp": number.larp, "head": number.position, "time": time - _TICK}
    cursor = await connection.execute(SQL["position_at"], parameters)
    row = await cursor.fetchone()
    return int(row[0]) if row else 0
