"""Tables: each game table's view, as everybody may see it, for every process the same."""

from collections.abc import Mapping, Sequence

import msgspec

from ledger import sql
from ledger.arrays import Byteas, Int8s, Texts, columns
from ledger.book import Applied

_encoder = msgspec.json.Encoder()


class Tables:
    """The view after the last event of each table."""

    name = "tables"
    version = 1
    tables = ("game_table",)
    of_tables = True
    statement = sql.load("projections.sql", "tables.sql")["statement"]

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]:
        last = {applied.recorded.table: applied for applied in batch if applied.game is not None}
        rows = [
            (name, applied.game.name, applied.table.phase, applied.table.position, _encoder.encode(applied.view()))
            for name, applied in last.items()
            if applied.game is not None and applied.table is not None
        ]
        return columns(rows, table=Texts, table_game=Texts, table_phase=Texts, table_position=Int8s, table_view=Byteas)
