"""The only list of projections. Each is written in the statement that appends the events it is made of.

A projection is a pure fold of events to rows. Its `statement` is a common table expression (or several) that reads
`head`, one row with the LARP's number; its parameters are arrays, so a batch of any size is one statement.
"""

from collections.abc import Sequence
from typing import Protocol

from ledger.journal import Projection
from projections.balances import Balances
from projections.dice import Dice
from projections.directory import Directory
from projections.entries import Entries
from projections.lids import Lids
from projections.pots import Pots
from projections.results import Results
from projections.reversals import Reversals
from projections.rounds import Rounds
from projections.tables import Tables


class Kept(Projection, Protocol):
    """`version` counts what the rows mean; `tables` are its own tables in the schema skuggbok."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def tables(self) -> tuple[str, ...]: ...

    @property
    def of_tables(self) -> bool: ...


PROJECTIONS: Sequence[Kept] = (
    Directory(),
    Balances(),
    Entries(),
    Pots(),
    Tables(),
    Rounds(),
    Results(),
    Lids(),
    Dice(),
    Reversals(),
)
