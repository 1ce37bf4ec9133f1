"""Lids: what lies in the middle and before each seat in each half, and who gave whom how many in which round.

Only Schocken has them; it is the one game that a projection knows by name.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ledger import money, sql
from ledger.arrays import Int8s, Texts, columns
from ledger.book import Applied
from ledger.games.schocken.messages import LID, RoundScored
from ledger.games.schocken.state import State


class _Move(NamedTuple):
    """`round` 0: outside of a round, the lids were laid out or put away."""

    table: str
    position: int
    line: int
    half: str
    round: int
    from_: str
    to: str
    lids: int


class Lids:
    """Moves are postings of lids. What is put away at the end of a table leaves its last half as it lay then."""

    name = "lids"
    version = 1
    tables = ("lid_move", "lid")
    of_tables = True
    statement = sql.load("projections.sql", "lids.sql")["statement"]

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]:
        moves: list[_Move] = []
        lying: dict[tuple[str, str, str], tuple[int, int]] = {}
        for applied in batch:
            if not isinstance(applied.table, State):
                continue
            table, half, position = applied.table.table, str(applied.table.half), applied.recorded.position
            moves += _moves(applied, table, half)
            if not applied.table.is_over:
                for entry in applied.entries:
                    if entry.asset == LID and entry.account != money.MINT:
                        lying[table, half, entry.account] = (entry.balance, position)
        return columns(
            moves,
            move_table=Texts,
            move_position=Int8s,
            move_line=Int8s,
            move_half=Texts,
            move_round=Int8s,
            move_from=Texts,
            move_to=Texts,
            move_lids=Int8s,
        ) | columns(
            [(*where, *lids) for where, lids in lying.items()],
            lid_table=Texts,
            lid_half=Texts,
            lid_account=Texts,
            lids=Int8s,
            lid_position=Int8s,
        )


def _moves(applied: Applied, table: str, half: str) -> Iterable[_Move]:
    recorded, before = applied.recorded, applied.before
    round_ = before.round if isinstance(before, State) and isinstance(recorded.event, RoundScored) else 0
    of_lids = [posting for posting in recorded.postings if posting.asset == LID]
    for line, posting in enumerate(of_lids):
        yield _Move(table, recorded.position, line, half, round_, posting.from_, posting.to, posting.amount)
