"""Balances: what is in each account now."""

from collections.abc import Mapping, Sequence

from ledger import sql
from ledger.arrays import Int8s, Texts, columns
from ledger.book import Applied


class Balances:
    """The last entry of each account and asset."""

    name = "balances"
    version = 1
    tables = ("balance",)
    of_tables = False
    statement = sql.load("projections.sql", "balances.sql")["statement"]

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]:
        newest = {
            (entry.account, entry.asset): (entry.balance, applied.recorded.position)
            for applied in batch
            for entry in applied.entries
        }
        rows = [(*key, *last) for key, last in newest.items()]
        return columns(rows, balance_account=Texts, balance_asset=Texts, balance=Int8s, balance_position=Int8s)
