"""The past: purses, statements, tables, characters and assets as they were after any event of a journal.

Every entry holds the balance after it, so a balance then is one index probe, at any age of the journal. A table is
folded from its own events, a character from what was said of it. What is as of a position never changes again.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct
from psycopg.rows import class_row

from ledger import purses as money_events
from ledger import sql
from ledger.book import READER, Applied, table_history
from ledger.database import Connection
from ledger.errors import UnknownCharacter, UnknownPosition, UnknownTable
from ledger.recorded import Recorded, split_tag
from projections import known, queries
from projections.queries import SQL as QUERIES
from projections.queries import AssetRow, CharacterRow, Order, Purse, StatementRow, purse_row

SQL = sql.load("projections.sql", "as_of.sql")
_ADDED, _CHANGED = (split_tag(e.TYPE)[0] for e in (money_events.CharacterAdded, money_events.CharacterChanged))
CHUNK = 500
"""Events of tables that are read at a time."""

_encoder = msgspec.json.Encoder()


class Then(Struct, frozen=True):
    """The moment after the event at `position`. `larp` is the LARP's number in the database."""

    slug: str
    larp: int
    position: int

    @property
    def key(self) -> Mapping[str, object]:
        return {"larp": self.larp, "position": self.position}


async def at_position(connection: Connection, larp: str, position: int) -> Then:
    """Raises UnknownLarp, and UnknownPosition beyond the head."""
    journal = await known.at_least(connection, larp, position)
    if not 1 <= position <= journal.position:
        raise UnknownPosition(f"the journal ends at position {journal.position}, there is no {position} yet")
    return Then(larp, journal.larp, position)


async def at_time(connection: Connection, larp: str, time: datetime) -> Then:
    """After the last event recorded at or before `time`. Raises UnknownLarp, and UnknownPosition before the first."""
    journal = await known.now(connection, larp)
    asked = {"larp": journal.larp, "head": journal.position, "time": time}
    cursor = await connection.execute(QUERIES["position_at"], asked)
    row = await cursor.fetchone()
    if row is None or row[0] == 0:
        cursor = await connection.execute(SQL["began"], {"larp": journal.larp})
        began = await cursor.fetchone()
        when = f"{began[0]:%Y-%m-%dT%H:%M:%SZ}" if began else "later"
        raise UnknownPosition(f"the journal of {larp} begins at {when}, nothing was recorded before")
    return Then(larp, journal.larp, row[0])


# ---- characters and assets ----


async def characters(connection: Connection, then: Then, after: str | None, limit: int) -> Sequence[CharacterRow]:
    """Characters by name, with the names and limits that they had. `position`: of the last change until then."""
    return await _characters(connection, then, {"after": after or "", "only": None, "limit": limit})


async def _characters(connection: Connection, then: Then, page: Mapping[str, object]) -> Sequence[CharacterRow]:
    async with connection.cursor(row_factory=class_row(CharacterRow)) as cursor:
        await cursor.execute(SQL["characters"], {**then.key, **page})
        rows = await cursor.fetchall()
    changed = [row.character for row in rows if row.position > then.position]
    before = await _said_of(connection, then, changed) if changed else {}
    return [before.get(row.character, row) for row in rows]


async def _said_of(connection: Connection, then: Then, characters: Sequence[str]) -> Mapping[str, CharacterRow]:
    """Some characters, folded from the events that added and changed them."""
    asked = {**then.key, "types": [_ADDED, _CHANGED], "characters": list(characters)}
    cursor = await connection.execute(SQL["changes"], asked, binary=True)
    found: dict[str, CharacterRow] = {}
    for row in await cursor.fetchall():
        recorded = READER.read(*row)
        match recorded.event:
            case money_events.CharacterAdded(character=character, name=name, credit_limit=limits):
                found[character] = CharacterRow(character, name, limits, recorded.position)
            case money_events.CharacterChanged(character=character, name=new_name, credit_limit=limits):
                known = found[character]
                merged = {**known.credit_limit, **limits}
                found[character] = CharacterRow(character, new_name or known.name, merged, recorded.position)
            case _:
                pass  # no other event has these types
    return found


async def assets(connection: Connection, then: Then, after: str | None, limit: int) -> Sequence[AssetRow]:
    """Assets by name. They never change."""
    async with connection.cursor(row_factory=class_row(AssetRow)) as cursor:
        await cursor.execute(SQL["assets"], {**then.key, "after": after or "", "limit": limit})
        return await cursor.fetchall()


# ---- purses ----


async def purses(connection: Connection, then: Then, after: str | None, limit: int) -> Sequence[Purse]:
    """Purses by character."""
    return await _purses(connection, then, {"after": after or "", "only": None, "limit": limit})


async def purse(connection: Connection, then: Then, character: str) -> Purse:
    """Raises UnknownCharacter."""
    found = await _purses(connection, then, {"after": "", "only": character, "limit": 1})
    if not found:
        raise UnknownCharacter(f"there was no character {character!r} in this LARP at position {then.position}")
    return found[0]


async def _purses(connection: Connection, then: Then, page: Mapping[str, object]) -> Sequence[Purse]:
    cursor = await connection.execute(SQL["purses"], {**then.key, **page})
    rows = await cursor.fetchall()
    changed = [character for character, _, position, *_ in rows if position > then.position]
    before = await _said_of(connection, then, changed) if changed else {}
    return [
        purse_row(character, before[character].name if character in before else name, then.position, held, owes)
        for character, name, _, held, owes in rows
    ]


async def statement(
    connection: Connection,
    then: Then,
    character: str,
    before: tuple[int, int] | None,
    limit: int,
    *,
    order: Order = "recorded",
) -> Sequence[StatementRow]:
    """The movements of a purse until then, the newest first. `before`: position and line of the last one seen."""
    rows = await queries.statement(connection, then.slug, character, before, limit, order=order, until=then.position)
    if not rows:
        await purse(connection, then, character)
    return rows


# ---- tables ----


class _TableRow(Struct, frozen=True):
    """A table as it was; without phase and view if something has happened at it since."""

    table: str
    phase: str | None
    view: bytes | None

    def shown(self) -> bytes:
        assert self.view is not None, "it was folded"
        return self.view


async def tables(
    connection: Connection, then: Then, game: str | None, phase: str | None, after: str | None, limit: int
) -> Sequence[tuple[str, bytes]]:
    """Tables by name, each with its view as JSON. `phase`: the one that a table was in."""
    found: list[tuple[str, bytes]] = []
    while True:
        page = {"only": None, "game": game, "after": after or "", "limit": limit}
        rows = await _tables(connection, then, page)
        found += [(row.table, row.shown()) for row in rows if phase is None or row.phase == phase]
        if len(rows) < limit or len(found) >= limit:
            return found[:limit]
        after = rows[-1].table


async def table(connection: Connection, then: Then, table: str) -> bytes:
    """The view of a table as JSON. Raises UnknownTable."""
    rows = await _tables(connection, then, {"only": table, "game": None, "after": "", "limit": 1})
    if not rows:
        raise UnknownTable(f"there was no table {table!r} in this LARP at position {then.position}")
    return rows[0].shown()


async def _tables(connection: Connection, then: Then, page: Mapping[str, object]) -> Sequence[_TableRow]:
    async with connection.cursor(row_factory=class_row(_TableRow)) as cursor:
        await cursor.execute(SQL["tables"], {**then.key, **page})
        rows = await cursor.fetchall()
    changed = [row.table for row in rows if row.view is None]
    if not changed:
        return rows
    before = {row.table: row async for row in _folded(connection, then, changed)}
    return [before.get(row.table, row) for row in rows]


async def _folded(connection: Connection, then: Then, names: Sequence[str]) -> AsyncIterator[_TableRow]:
    """Tables from their own events, of which those of one table are in memory at a time."""
    events: list[Recorded] = []
    async with connection.cursor(binary=True) as cursor:
        asked = {**then.key, "tables": list(names)}
        async for name, *row in cursor.stream(SQL["events_of_tables"], asked, size=CHUNK):
            if events and events[-1].table != name:
                yield _last(events)
                events = []
            events.append(READER.read(*row))
    if events:
        yield _last(events)


def _last(events: Sequence[Recorded]) -> _TableRow:
    last: Applied | None = None
    for applied in table_history(events):
        last = applied
    assert last is not None and last.table is not None, "a table has events"
    return _TableRow(last.table.table, last.table.phase, _encoder.encode(last.view()))
