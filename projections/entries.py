"""Entries: each movement on each account with the balance after it, for statements and balances as of a position."""

from collections.abc import Mapping, Sequence

from ledger import sql
from ledger.arrays import Int8s, Texts, columns
from ledger.book import Applied


class Entries:
    """Two a posting. `line` counts from 0 within the event."""

    name = "entries"
    version = 1
    tables = ("entry",)
    of_tables = False
    statement = sql.load("projections.sql", "entries.sql")["statement"]

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]:
        rows = [
            (entry.account, entry.asset, applied.recorded.position, line, entry.change, entry.balance)
            for applied in batch
            for line, entry in enumerate(applied.entries)
        ]
        return columns(
            rows,
            entry_account=Texts,
            entry_asset=Texts,
            entry_position=Int8s,
            entry_line=Int8s,
            entry_change=Int8s,
            entry_balance=Int8s,
        )
