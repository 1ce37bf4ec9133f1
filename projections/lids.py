"""Lids: what lies in the middle and before each seat in each half, and who gave whom how many in which round.

Only Schocken has them; it is the one game that a projection knows by name.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ledger import money, sql
from ledger.arrays import Int8s, Texts
from ledger.book import Applied
from ledger.games.schocken.messages import LID, RoundScored
from ledger.games.schocken.state import State
from ledger.messages import Posting


class _Move(Struct, frozen=True):
    """`round` 0: outside of a round, the lids were laid out or put away."""

    table: str
    position: int
    line: int
    half: str
    round: int
    posting: Posting


class Lids:
    """Moves are postings of lids. What is put away at the end of a table leaves its last half as it lay then."""

    name = "lids"
    version = 1
    tables = ("lid_move", "lid")
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
        return {
            "move_table": Texts(move.table for move in moves),
            "move_position": Int8s(move.position for move in moves),
            "move_line": Int8s(move.line for move in moves),
            "move_half": Texts(move.half for move in moves),
            "move_round": Int8s(move.round for move in moves),
            "move_from": Texts(move.posting.from_ for move in moves),
            "move_to": Texts(move.posting.to for move in moves),
            "move_lids": Int8s(move.posting.amount for move in moves),
            "lid_table": Texts(table for table, _, _ in lying),
            "lid_half": Texts(half for _, half, _ in lying),
            "lid_account": Texts(account for _, _, account in lying),
            "lids": Int8s(lids for lids, _ in lying.values()),
            "lid_position": Int8s(position for _, position in lying.values()),
        }


def _moves(applied: Applied, table: str, half: str) -> Iterable[_Move]:
    recorded, before = applied.recorded, applied.before
    round_ = before.round if isinstance(before, State) and isinstance(recorded.event, RoundScored) else 0
    of_lids = [posting for posting in recorded.postings if posting.asset == LID]
    for line, posting in enumerate(of_lids):
        yield _Move(table, recorded.position, line, half, round_, posting)
