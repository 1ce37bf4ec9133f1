"""Rounds: what came of each round that is over, in whatever a game calls a round."""

from collections.abc import Mapping, Sequence

import msgspec

from ledger import sql
from ledger.arrays import Byteas, Int8s, Texts, columns
from ledger.book import Applied

_encoder = msgspec.json.Encoder()


class Rounds:
    """One row a round. Its number follows from the order of positions, so it does not hang on the batch."""

    name = "rounds"
    version = 1
    tables = ("round",)
    of_tables = True
    statement = sql.load("projections.sql", "rounds.sql")["statement"]

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]:
        over = [
            (applied.recorded.table, applied.recorded.position, _encoder.encode(round_))
            for applied in batch
            if applied.game is not None
            and (round_ := applied.game.finished(applied.before, applied.recorded.event)) is not None
        ]
        return columns(over, round_table=Texts, round_position=Int8s, round=Byteas)
