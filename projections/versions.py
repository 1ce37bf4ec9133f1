"""Which version of each projection is kept, and which projections are not what the journal says.

A version that changed, and an event that a projection could not apply, are noted in the database, so that every
process knows; only a rebuild takes the note away.
"""

from collections.abc import Sequence

from msgspec import Struct
from psycopg.rows import class_row

from ledger import sql
from ledger.database import Connection
from ledger.errors import ProjectionHalted
from ledger.journal import SQL as JOURNAL
from projections.runner import PROJECTIONS, Kept

SQL = sql.load("projections.sql", "rebuild.sql")


class Stale(Struct, frozen=True):
    """A projection of a LARP that must be rebuilt. `position`: of the event that it could not apply, if that is why."""

    larp: str
    name: str
    position: int | None
    reason: str

    def __str__(self) -> str:
        where = f" at position {self.position}" if self.position is not None else ""
        return (
            f"projection {self.name} of {self.larp} is not what its journal says{where}: {self.reason};"
            f" `skuggbok rebuild {self.name}` mends it"
        )


async def notice(connection: Connection, projections: Sequence[Kept] = PROJECTIONS) -> None:
    """Take down the versions that this process writes; what was written by others is stale from now on."""
    names, versions = [each.name for each in projections], [each.version for each in projections]
    await connection.execute(SQL["notice"], {"names": names, "versions": versions})


async def stale(connection: Connection, limit: int = 1000) -> Sequence[Stale]:
    """What must be rebuilt, by LARP and name."""
    async with connection.cursor(row_factory=class_row(Stale)) as cursor:
        await cursor.execute(SQL["stale"], {"limit": limit})
        return await cursor.fetchall()


async def halted(connection: Connection, larp: int, names: Sequence[str], error: ProjectionHalted) -> None:
    """Note that projections could not apply an event: the one that halted, or all where the journal itself is at
    fault. `larp`: its number in the database."""
    for name in names if error.projection not in names else (error.projection,):
        values = {"larp": larp, "name": name, "position": error.position, "reason": error.reason}
        await connection.execute(JOURNAL["halted"], values)


async def larps(connection: Connection, only: str | None = None) -> Sequence[str]:
    """LARPs whose journals have begun, all or the one of that name."""
    cursor = await connection.execute(SQL["larps"], {"only": only})
    return [row[0] for row in await cursor.fetchall()]
