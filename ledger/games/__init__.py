"""The only list of games: a new game is one module and one line here."""

from typing import Any

from ledger.games.game import Game
from ledger.games.skuggkast import SKUGGKAST

GAMES: tuple[Game[Any], ...] = (SKUGGKAST,)
