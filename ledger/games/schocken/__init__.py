"""Schocken: thirteen lids, and a round of drinks for who ends up with them.

What can be said (`messages`), what the dice are worth (`hands`), how it changes the table and is seen (`state`),
and what comes of it (`decide`).
"""

from ledger.games.game import Game
from ledger.games.schocken import messages as m
from ledger.games.schocken.decide import decide, open_table
from ledger.games.schocken.rounds import SchockenRound, dice_seen, finished, loser
from ledger.games.schocken.state import State, View, begin, evolve, view
from ledger.games.table import TableClosed, TableVoided

SCHOCKEN = Game[State](
    name="schocken",
    opening=m.OpenSchocken,
    actions=(m.Throw, m.Stand, m.Uncover, m.Drop),
    events=(
        m.Opened,
        m.Thrown,
        m.Stood,
        m.CupLifted,
        m.DiceDropped,
        m.RoundScored,
        m.HandSchockOwed,
        m.HalfLost,
        m.MatchLost,
        TableClosed,
        TableVoided,
    ),
    state=State,
    view_type=View,
    open=open_table,
    begin=begin,
    decide=decide,
    evolve=evolve,
    view=view,
    round_type=SchockenRound,
    round=finished,
    dice=dice_seen,
    loser=loser,
)
