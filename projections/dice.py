"""Dice: how often each face of each die was seen at each table, for whoever wonders whether they are fair."""

from collections import Counter
from collections.abc import Mapping, Sequence

from ledger import sql
from ledger.arrays import Int8s, Texts
from ledger.book import Applied


class Dice:
    """Dice that were thrown openly or uncovered; what stayed under a cup is not among them."""

    name = "dice"
    version = 1
    tables = ("die",)
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
        return {
            "die_table": Texts(table for table, *_ in seen),
            "die_game": Texts(game for _, game, *_ in seen),
            "die": Texts(die for _, _, die, _, _ in seen),
            "die_face": Texts(face for *_, face, _ in seen),
            "die_dice": Texts(dice for *_, dice in seen),
            "die_seen": Int8s(seen.values()),
            "die_position": Int8s(last.values()),
        }
