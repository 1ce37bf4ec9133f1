"""Tables: each game table's view, as everybody may see it, for every process the same."""

from collections.abc import Mapping, Sequence

import msgspec

from ledger import sql
from ledger.arrays import Byteas, Int8s, Texts
from ledger.book import Applied

_encoder = msgspec.json.Encoder()


class Tables:
    """The view after the last event of each table."""

    name = "tables"
    version = 1
    tables = ("game_table",)
    statement = sql.load("projections.sql", "tables.sql")["statement"]

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]:
        last = {applied.recorded.table: applied for applied in batch if applied.table is not None}
        states = [applied.table for applied in last.values() if applied.table is not None]
        games = [applied.game.name for applied in last.values() if applied.game is not None]
        return {
            "table": Texts(last),
            "table_game": Texts(games),
            "table_phase": Texts(state.phase for state in states),
            "table_position": Int8s(state.position for state in states),
            "table_view": Byteas(_encoder.encode(applied.view()) for applied in last.values()),
        }
