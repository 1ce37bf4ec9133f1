"""What is said beside an event that is not in it: that it was reversed or voided later, or that it was recorded late.

The stored text is left as it is, between position and hash; what is known beside it stands after the hash. It is said
where events are looked up. The feed, webhooks and exports give events as they were when they were recorded.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import msgspec
from msgspec import UNSET, Struct, UnsetType
from psycopg.rows import class_row

from ledger import sql
from ledger.database import Connection

SQL = sql.load("projections.sql", "marks.sql")

LATE_AFTER = timedelta(minutes=5)
"""What happened more than this before it was recorded was typed in later; less is the time that typing takes."""


class Marks(Struct, frozen=True):
    """The position of the event that reversed this one, or that voided its table; what does not apply is left out."""

    late: bool | UnsetType = UNSET
    reversed_by: int | UnsetType = UNSET
    voided_by: int | UnsetType = UNSET


class _Row(Struct, frozen=True):
    position: int
    late: bool
    reversed_by: int | None
    voided_by: int | None

    def marks(self) -> Marks:
        return Marks(self.late or UNSET, self.reversed_by or UNSET, self.voided_by or UNSET)


_encoder = msgspec.json.Encoder()


async def marked(connection: Connection, larp: str, events: Sequence[tuple[int, bytes]]) -> Sequence[tuple[int, bytes]]:
    """The same events, each position with its JSON, and what is known beside them now."""
    async with connection.cursor(row_factory=class_row(_Row)) as cursor:
        asked = {"slug": larp, "positions": [position for position, _ in events], "late": LATE_AFTER}
        await cursor.execute(SQL["marks"], asked)
        marks: Mapping[int, Marks] = {row.position: row.marks() for row in await cursor.fetchall()}
    return [(position, _with(event, marks[position]) if position in marks else event) for position, event in events]


def _with(event: bytes, marks: Marks) -> bytes:
    return event[:-1] + b"," + _encoder.encode(marks)[1:]
