"""Balances: what is in each account now."""

from collections.abc import Mapping, Sequence

from ledger import sql
from ledger.arrays import Int8s, Texts
from ledger.book import Applied


class Balances:
    """The last entry of each account and asset."""

    name = "balances"
    version = 1
    tables = ("balance",)
    statement = sql.load("projections.sql", "balances.sql")["statement"]

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]:
        newest = {
            (entry.account, entry.asset): (entry.balance, applied.recorded.position)
            for applied in batch
            for entry in applied.entries
        }
        return {
            "balance_account": Texts(account for account, _ in newest),
            "balance_asset": Texts(asset for _, asset in newest),
            "balance": Int8s(balance for balance, _ in newest.values()),
            "balance_position": Int8s(position for _, position in newest.values()),
        }
