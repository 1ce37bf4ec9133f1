"""What the API asks of the games' own projections: rounds and results, lids, dice. Rows are frozen Structs.

LARPs and tables are named by slug; one that is not there raises its Unknown refusal.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct
from psycopg.rows import class_row

from ledger import money, sql
from ledger.database import Connection
from ledger.errors import UnknownLarp
from ledger.games.schocken.messages import Half
from ledger.games.table import DiceMode
from projections import queries

SQL = sql.load("projections.sql", "game_queries.sql")
HALVES: Mapping[str, Half] = {"1": 1, "2": 2, "final": "final"}

RoundJson = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/Round"})]


class RoundRow(Struct, frozen=True):
    """A round that is over. `number`: from 1 on, at this table. `position`: of the event that ended it."""

    number: int
    position: int
    at: datetime
    round: RoundJson


class Result(Struct, frozen=True):
    """How a table ended. `how` null: it has not. `loser`: who lost, where one seat alone did."""

    how: Literal["won", "drawn", "lost", "burnt", "voided"] | None
    winner: str | None
    loser: str | None
    opened_at: datetime
    closed_at: datetime | None


class LidMove(Struct, frozen=True, rename={"from_": "from"}):
    """`lids` went from one account to another. `round` null: they were laid out or put away.

    `line`: which movement of the event. Accounts are `middle/TABLE`, `seat/TABLE/CHARACTER` and `mint`.
    """

    position: int
    line: int
    at: datetime
    half: Half
    round: int | None
    from_: str
    to: str
    lids: int


class HalfLids(Struct, frozen=True):
    """The lids as they last lay in a half; seats that are not named had none. At the end all went back to the mint."""

    half: Half
    middle: int
    seats: Mapping[str, int]


class DieRow(Struct, frozen=True):
    """How often a face of a die was seen. `dice`: whether the service rolled it, or it was reported."""

    game: str
    die: str
    face: str
    dice: DiceMode
    seen: int


async def rounds(connection: Connection, larp: str, table: str, after: int, limit: int) -> Sequence[RoundRow]:
    """The rounds that ended after a position, in order. Raises UnknownLarp and UnknownTable."""
    parameters = await _of_table(connection, larp, table) | {"after": after, "limit": limit}
    cursor = await connection.execute(SQL["rounds"], parameters)
    return [RoundRow(number, position, at, Raw(round_)) for number, position, at, round_ in await cursor.fetchall()]


async def result(connection: Connection, larp: str, table: str) -> Result:
    """Raises UnknownLarp and UnknownTable."""
    async with connection.cursor(row_factory=class_row(Result)) as cursor:
        await cursor.execute(SQL["result"], await _of_table(connection, larp, table))
        found = await cursor.fetchone()
    assert found is not None, "every table that was opened has a row"
    return found


async def lid_moves(
    connection: Connection, larp: str, table: str, after: tuple[int, int], limit: int
) -> Sequence[LidMove]:
    """The movements of lids after one, named by position and line. Raises UnknownLarp and UnknownTable."""
    position, line = after
    parameters = await _of_table(connection, larp, table) | {"after": position, "line": line, "limit": limit}
    cursor = await connection.execute(SQL["lid_moves"], parameters)
    return [
        LidMove(position, line, at, HALVES[half], round_, from_, to, lids)
        for position, line, at, half, round_, from_, to, lids in await cursor.fetchall()
    ]


async def lids(connection: Connection, larp: str, table: str) -> Sequence[HalfLids]:
    """Half by half; none for a game without lids. Raises UnknownLarp and UnknownTable."""
    cursor = await connection.execute(SQL["lids"], await _of_table(connection, larp, table))
    lying: dict[str, dict[str, int]] = {}
    for half, account, lids in await cursor.fetchall():
        lying.setdefault(half, {})[account] = lids
    return [
        HalfLids(
            half=HALVES[half],
            middle=accounts.get(money.middle(table), 0),
            seats={account.rpartition("/")[2]: n for account, n in accounts.items() if account.startswith("seat/")},
        )
        for half, accounts in lying.items()
    ]


async def dice(connection: Connection, larp: str, table: str | None) -> Sequence[DieRow]:
    """The dice of one table, or of all together. Raises UnknownLarp and UnknownTable."""
    parameters: Mapping[str, object]
    if table is None:
        query, parameters = SQL["dice"], {"larp": await _number(connection, larp)}
    else:
        query, parameters = SQL["dice_of_table"], await _of_table(connection, larp, table)
    async with connection.cursor(row_factory=class_row(DieRow)) as cursor:
        await cursor.execute(query, parameters)
        return await cursor.fetchall()


async def _of_table(connection: Connection, larp: str, table: str) -> dict[str, object]:
    await queries.table(connection, larp, table)
    return {"larp": await _number(connection, larp), "table": table}


async def _number(connection: Connection, larp: str) -> int:
    cursor = await connection.execute(queries.SQL["number"], {"slug": larp})
    row = await cursor.fetchone()
    if row is None:
        raise UnknownLarp(f"there is no LARP {larp!r}")
    return int(row[0])
