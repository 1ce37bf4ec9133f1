"""The only list of games: a new game is one module and one line here."""

from typing import Any

from ledger.games.game import Game
from ledger.games.schattenspiel import SCHATTENSPIEL
from ledger.games.schocken import SCHOCKEN
from ledger.games.skuggkast import SKUGGKAST
from ledger.games.takespillet import TAKESPILLET

GAMES: tuple[Game[Any], ...] = (SKUGGKAST, SCHATTENSPIEL, TAKESPILLET, SCHOCKEN)
