"""Pots: what each seat has paid into a table and got out of it, from the postings alone."""

from collections.abc import Mapping, Sequence

from ledger import sql
from ledger.arrays import Int8s, Texts, columns
from ledger.book import Applied

_OF_TABLES = ("pot", "seat", "middle", "burnt")


class Pots:
    """`paid_in`: from a purse or on credit to the table; `paid_out`: from the table (or what it burnt) to a purse,
    or home to the debtor. What the winner gets counts as paid out."""

    name = "pots"
    version = 1
    tables = ("pot",)
    of_tables = True
    statement = sql.load("projections.sql", "pots.sql")["statement"]

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]:
        sums: dict[tuple[str, str, str], list[int]] = {}
        for applied in batch:
            table = applied.recorded.table
            if table is None:
                continue
            for posting in applied.recorded.postings:
                giver, _, from_whom = posting.from_.partition("/")
                taker, _, to_whom = posting.to.partition("/")
                if giver in ("purse", "debtor") and taker in _OF_TABLES:
                    key, column = (table, from_whom, posting.asset), 0
                elif giver in _OF_TABLES and taker in ("purse", "debtor"):
                    key, column = (table, to_whom, posting.asset), 1
                else:
                    continue
                of_seat = sums.setdefault(key, [0, 0, 0])
                of_seat[column] += posting.amount
                of_seat[2] = applied.recorded.position
        return columns(
            [(*key, *of_seat) for key, of_seat in sums.items()],
            pot_table=Texts,
            pot_character=Texts,
            pot_asset=Texts,
            pot_in=Int8s,
            pot_out=Int8s,
            pot_position=Int8s,
        )
