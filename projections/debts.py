"""Debts: who owes whom what, how old it is, and what it comes from; now, or after any event of the journal.

A fold of the entries of notes, made when it is asked for: nothing is kept that could differ from them. How a note
ages when it is settled in part or changes hands is said in `projections.lots`.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from psycopg.rows import class_row

from ledger import sql
from ledger.database import Connection
from ledger.errors import UnknownLarp
from ledger.money import note_parts
from projections.as_of import Then
from projections.lots import Lying, NoteMove, lying
from projections.queries import SQL as QUERIES
from projections.simplify import Owing

SQL = sql.load("projections.sql", "debts.sql")


class Issued(Struct, frozen=True):
    """Notes that one event issued, as far as they are still owed. `table`: at which; None: by hand.

    `since`: when it happened in the field, `recorded_at`: when it was recorded.
    """

    amount: int
    position: int
    since: datetime
    recorded_at: datetime
    type: str
    table: str | None


class Debt(Struct, frozen=True, omit_defaults=True):
    """What `debtor` owes to `creditor`, or to whoever gets what lies at `table`. `notes`: what it consists of.

    `since` and `position` are those of the oldest of the notes, by position.
    """

    debtor: str
    asset: str
    amount: int
    since: datetime
    position: int
    notes: Sequence[Issued]
    creditor: str | None = None
    table: str | None = None


class Total(Struct, frozen=True):
    """All that a character owes and is owed in an asset. What lies at tables is owed, and to nobody yet."""

    character: str
    asset: str
    owes: int
    owed: int


class _Origin(Struct, frozen=True):
    position: int
    at: datetime
    recorded_at: datetime
    type: str
    table: str | None


async def now(connection: Connection, larp: str) -> Then:
    """The moment after the last event. Raises UnknownLarp."""
    row = await (await connection.execute(QUERIES["number"], {"slug": larp})).fetchone()
    if row is None:
        raise UnknownLarp(f"there is no LARP {larp!r}")
    return Then(larp, *row)


async def debts(connection: Connection, then: Then, only: str | None = None) -> Sequence[Debt]:
    """All debts, or those that `only` owes or is owed, by debtor, asset, and creditor or table."""
    cursor = await connection.execute(SQL["note_moves"], {**then.key, "only": only}, binary=True)
    rows = await cursor.fetchall()
    # A long journal takes a moment, which the requests beside this one need not wait for.
    lots = await asyncio.to_thread(lambda: lying(_moves(rows)))
    origins = await _origins(connection, then, {origin for of_account in lots.values() for origin in of_account})
    return sorted(
        (debt for debt in _debts(lots, origins) if only is None or only in (debt.debtor, debt.creditor)), key=_order
    )


def _moves(rows: Iterable[tuple[int, str, str, int, int | None]]) -> Iterable[NoteMove]:
    """A posting's two entries stand one after the other: what an account gave, and what another took."""
    each = iter(rows)
    for (position, asset, from_, change, reverses), (*same, to, gained, _) in zip(each, each, strict=True):
        assert [position, asset] == same and -change == gained, f"the entries of position {position} do not pair"
        yield NoteMove(position, asset, from_, to, gained, reverses)


async def _origins(connection: Connection, then: Then, positions: Iterable[int]) -> Mapping[int, _Origin]:
    async with connection.cursor(row_factory=class_row(_Origin), binary=True) as cursor:
        await cursor.execute(SQL["origins"], {**then.key, "positions": list(positions)})
        return {origin.position: origin for origin in await cursor.fetchall()}


def _debts(lots: Lying, origins: Mapping[int, _Origin]) -> Iterable[Debt]:
    """What lies before a seat of a table lies at the table: the same debt as in its pot."""
    places: dict[tuple[str, str, str], dict[int, int]] = {}
    for (note, account), of_account in lots.items():
        kind, holder, *_ = account.split("/")
        place = places.setdefault((note, "creditor" if kind == "purse" else "table", holder), {})
        for origin, amount in of_account.items():
            place[origin] = place.get(origin, 0) + amount
    for (note, kind, holder), place in places.items():
        debtor, asset = note_parts(note)
        notes = [_issued(amount, origins[origin]) for origin, amount in sorted(place.items())]
        yield Debt(
            debtor=debtor,
            asset=asset,
            amount=sum(place.values()),
            since=notes[0].since,
            position=notes[0].position,
            notes=notes,
            creditor=holder if kind == "creditor" else None,
            table=holder if kind == "table" else None,
        )


def _issued(amount: int, origin: _Origin) -> Issued:
    return Issued(amount, origin.position, origin.at, origin.recorded_at, origin.type, origin.table)


def _order(debt: Debt) -> tuple[str, str, str, str]:
    return (debt.debtor, debt.asset, debt.creditor or "", debt.table or "")


def totals(of: Iterable[Debt]) -> Sequence[Total]:
    """By character and asset."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for debt in of:
        owes, owed = sums.get((debt.debtor, debt.asset), (0, 0))
        sums[debt.debtor, debt.asset] = (owes + debt.amount, owed)
        if debt.creditor is not None:
            owes, owed = sums.get((debt.creditor, debt.asset), (0, 0))
            sums[debt.creditor, debt.asset] = (owes, owed + debt.amount)
    return [Total(*key, *amounts) for key, amounts in sorted(sums.items())]


def owing(of: Iterable[Debt]) -> Sequence[Owing]:
    """The debts that can be settled: those to a creditor. What lies at a table is played for."""
    return [Owing(debt.debtor, debt.creditor, debt.asset, debt.amount) for debt in of if debt.creditor is not None]
