"""Skuggkast: three hidden dice and a bluff.

What can be said (`messages`), how it changes the table and is seen (`state`), and what comes of it (`decide`).
"""

from ledger.games.game import Game
from ledger.games.rolloff import RolledOff
from ledger.games.skuggkast import messages as m
from ledger.games.skuggkast.decide import decide, open_table
from ledger.games.skuggkast.rounds import SkuggkastRound, dice_seen, finished
from ledger.games.skuggkast.state import State, View, begin, evolve, view
from ledger.games.table import TableClosed, TableVoided

SKUGGKAST = Game[State](
    name="skuggkast",
    opening=m.OpenSkuggkast,
    actions=(m.RollStart, m.Roll, m.Claim, m.Believe, m.Challenge, m.Accept, m.Reveal, m.Rebuy, m.Leave),
    events=(
        m.Opened,
        RolledOff,
        m.Rolled,
        m.ClaimMade,
        m.ClaimBelieved,
        m.ClaimAccepted,
        m.ClaimChallenged,
        m.ClaimJudged,
        m.ClaimStood,
        m.Rebought,
        m.Left,
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
    round_type=SkuggkastRound,
    round=finished,
    dice=dice_seen,
)
