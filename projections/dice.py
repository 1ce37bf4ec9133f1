"""Dice: how often each face of each die was seen at each table, for whoever wonders whether they are fair."""

from collections import Counter
from collections.abc import Mapping, Sequence

from ledger import sql
from ledger.arrays import Int8s, Texts, columns
from ledger.book import Applied


class Dice:
    """Dice that were thrown openly or uncovered; what stayed under a cup is not among them."""

    name = "dice"
    version = 1
    tables = ("die",)
    of_tables = True
    statement = sql.load("projections.sql", "dice.sql")["statement"]

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]:
        seen: Counter[tuple[str, str, str, str, str]] = Counter()
        last: dict[tuple[str, str, str, str, str], int] = {}
        for applied in batch:
            if applied.game is None or applied.table is None or applied.table.dice is None:
                continue
            for die in applied.game.seen(applied.before, applied.recorded.event):
                key = (applied.table.table, applied.game.name, die.die, die.face, applied.table.dice)
                seen[key] += 1
                last[key] = applied.recorded.position
        return columns(
            [(*key, count, last[key]) for key, count in seen.items()],
            die_table=Texts,
            die_game=Texts,
            die=Texts,
            die_face=Texts,
            die_dice=Texts,
            die_seen=Int8s,
            die_position=Int8s,
        )
