"""Results: how each table ended, from its opening to its end."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from ledger import sql
from ledger.arrays import Int8s, Texts
from ledger.book import Applied
from ledger.games.game import Game
from ledger.games.table import TableClosed, TableOpened, TableState, TableVoided


class _End(Struct, frozen=True):
    """How a table ended, and at which position; 0 while it is open."""

    closed: int = 0
    how: str | None = None
    winner: str | None = None
    loser: str | None = None


class Results:
    """One row a table. How it was won, drawn, lost or burnt is what the closing event says; else it was voided."""

    name = "results"
    version = 1
    tables = ("result",)
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
        at_once = [ended.pop(table, _End()) for table in opened]
        return {
            "opened_table": Texts(opened),
            "opened_game": Texts(game for game, _ in opened.values()),
            "opened_position": Int8s(position for _, position in opened.values()),
            "opened_closed": Int8s(end.closed for end in at_once),
            "opened_how": Texts(end.how for end in at_once),
            "opened_winner": Texts(end.winner for end in at_once),
            "opened_loser": Texts(end.loser for end in at_once),
            "ended_table": Texts(ended),
            "ended_position": Int8s(end.closed for end in ended.values()),
            "ended_how": Texts(end.how for end in ended.values()),
            "ended_winner": Texts(end.winner for end in ended.values()),
            "ended_loser": Texts(end.loser for end in ended.values()),
        }


def _loser(game: Game[Any], state: TableState) -> str | None:
    loser: str | None = game.loser(state)
    return loser
