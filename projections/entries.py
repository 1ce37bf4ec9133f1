"""Entries: each movement on each account with the balance after it, for statements and balances as of a position."""

from collections.abc import Mapping, Sequence

from ledger import sql
from ledger.arrays import Int8s, Texts
from ledger.book import Applied


class Entries:
    """Two a posting. `line` counts from 0 within the event."""

    name = "entries"
    version = 1
    tables = ("entry",)
    statement = sql.load("projections.sql", "entries.sql")["statement"]

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]:
        numbered = [
            (applied.recorded.position, line, entry) for applied in batch for line, entry in enumerate(applied.entries)
        ]
        return {
            "entry_account": Texts(entry.account for _, _, entry in numbered),
            "entry_asset": Texts(entry.asset for _, _, entry in numbered),
            "entry_position": Int8s(position for position, _, _ in numbered),
            "entry_line": Int8s(line for _, line, _ in numbered),
            "entry_change": Int8s(entry.change for _, _, entry in numbered),
            "entry_balance": Int8s(entry.balance for _, _, entry in numbered),
        }
