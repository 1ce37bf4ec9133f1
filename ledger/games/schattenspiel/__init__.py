"""Schattenspiel: two hands and a call.

What can be said (`messages`), how it changes the table and is seen (`state`), and what comes of it (`decide`).
"""

from ledger.games.game import Game
from ledger.games.schattenspiel import messages as m
from ledger.games.schattenspiel.decide import decide, open_table
from ledger.games.schattenspiel.rounds import SchattenspielRound, finished
from ledger.games.schattenspiel.state import State, View, begin, evolve, view
from ledger.games.table import TableClosed, TableVoided

SCHATTENSPIEL = Game[State](
    name="schattenspiel",
    opening=m.OpenSchattenspiel,
    actions=(m.Show, m.PlayRound, m.Resign),
    events=(m.Opened, m.HandShown, m.RoundJudged, m.Resigned, TableClosed, TableVoided),
    state=State,
    view_type=View,
    open=open_table,
    begin=begin,
    decide=decide,
    evolve=evolve,
    view=view,
    round_type=SchattenspielRound,
    round=finished,
)
