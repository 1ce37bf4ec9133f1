"""Reversals: which event reversed which, so that both are seen beside each other."""

from collections.abc import Mapping, Sequence

from ledger import purses, sql
from ledger.arrays import Int8s, columns
from ledger.book import Applied


class Reversals:
    """The position of each reversal, by the position of its original."""

    name = "reversals"
    version = 1
    tables = ("reversal",)
    of_tables = False
    statement = sql.load("projections.sql", "reversals.sql")["statement"]

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]:
        reversals = [
            (applied.recorded.event.position, applied.recorded.position)
            for applied in batch
            if isinstance(applied.recorded.event, purses.Reversed)
        ]
        return columns(reversals, reversal_original=Int8s, reversal_position=Int8s)
