"""Tåkespillet: a board that the fog swallows.

How the board is laid out (`board`), what can be said (`messages`), how it changes the table and is seen
(`state`), and what comes of it (`decide`).
"""

from ledger.games.game import Game
from ledger.games.rolloff import RolledOff
from ledger.games.table import TableClosed, TableVoided
from ledger.games.takespillet import messages as m
from ledger.games.takespillet.decide import decide, open_table
from ledger.games.takespillet.rounds import TakespilletRound, dice_seen, finished
from ledger.games.takespillet.state import State, View, begin, evolve, view

TAKESPILLET = Game[State](
    name="takespillet",
    opening=m.OpenTakespillet,
    actions=(m.RollStart, m.Place, m.Move, m.RollSok, m.Allocate, m.RollFog, m.Resign, m.OfferDraw),
    events=(
        m.Opened,
        m.TilesSealed,
        RolledOff,
        m.Placed,
        m.PieceMoved,
        m.SokRolled,
        m.FogAllocated,
        m.FogRolled,
        m.Resigned,
        m.DrawOffered,
        m.TilesUncovered,
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
    round_type=TakespilletRound,
    round=finished,
    dice=dice_seen,
)
