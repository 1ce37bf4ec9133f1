"""The simulation's bots (api/simulation/players), each with what only the tests of every game ask of it."""

import random
from importlib import import_module
from typing import Protocol, cast

from api.simulation import players
from api.simulation.players import Json, seats_of

__all__ = ["Json", "Player", "player_of", "seats_of"]


class Player(players.Player, Protocol):
    """What each module here is."""

    @property
    def UNREACHABLE(self) -> frozenset[str]:
        """Branches (see every_game_branches.py) that no table of the game can reach."""
        ...

    def disguised(self, action: Json, view: Json, rng: random.Random) -> Json:
        """An action that differs from `action` in nothing but what it hides."""
        ...


def player_of(game: str) -> Player:
    """The bot that plays `game`: the module of that name."""
    return cast("Player", import_module(f"{__name__}.{game}"))
