"""The bot for Tåkespillet, and what only tests ask of it."""

import random

from api.simulation.players.takespillet import keeper, opening, peeks, propose
from tests.games.players import Json

__all__ = ["UNREACHABLE", "disguised", "keeper", "opening", "peeks", "propose"]

UNREACHABLE = frozenset(
    {
        "takespillet.opened.v1 stake=None",
        "takespillet.opened.v1 dice=None",
        "table.closed.v1 how=lost",
        "table.closed.v1 how=burnt",
    }
)


def disguised(action: Json, view: Json, rng: random.Random) -> Json:
    return action
