"""Results: how each table ended, from its opening to its end."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ledger import sql
from ledger.arrays import Int8s, Texts, columns
from ledger.book import Applied
from ledger.games.game import Game
from ledger.games.table import TableClosed, TableOpened, TableState, TableVoided


class _End(NamedTuple):
    """How a table ended, and at which position; 0 while it is open."""

    closed: int = 0
    how: str | None = None
    winner: str | None = None
    loser: str | None = None


_OPEN = _End()


class Results:
    """One row a table. How it was won, drawn, lost or burnt is what the closing event says; else it was voided."""

    name = "results"
    version = 1
    tables = ("result",)
    of_tables = True
    statement = sql.load("projections.sql", "results.sql")["statement"]

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]:
        opened: dict[str, tuple[str, int]] = {}
        ended: dict[str, _End] = {}
        for applied in batch:
            if applied.game is None or applied.table is None:
                continue
            table, event, position = applied.table, applied.recorded.event, applied.recorded.position
            if isinstance(event, TableOpened):
                opened[table.table] = (applied.game.name, position)
            elif isinstance(event, TableClosed):
                ended[table.table] = _End(position, event.how, event.winner, _loser(applied.game, table))
            elif isinstance(event, TableVoided):
                ended[table.table] = _End(position, "voided")
        at_once = [(table, *opening, *ended.pop(table, _OPEN)) for table, opening in opened.items()]
        return columns(
            at_once,
            opened_table=Texts,
            opened_game=Texts,
            opened_position=Int8s,
            opened_closed=Int8s,
            opened_how=Texts,
            opened_winner=Texts,
            opened_loser=Texts,
        ) | columns(
            [(table, *end) for table, end in ended.items()],
            ended_table=Texts,
            ended_position=Int8s,
            ended_how=Texts,
            ended_winner=Texts,
            ended_loser=Texts,
        )


def _loser(game: Game[Any], state: TableState) -> str | None:
    loser: str | None = game.loser(state)
    return loser
