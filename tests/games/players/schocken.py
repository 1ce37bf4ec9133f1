"""The bot for Schocken, and what only tests ask of it."""

import random

from api.simulation.players.schocken import keeper, opening, peeks, propose
from tests.games.players import Json

__all__ = ["UNREACHABLE", "disguised", "keeper", "opening", "peeks", "propose"]

UNREACHABLE = frozenset(
    {
        "schocken.opened.v1 stake=Sum",
        "schocken.opened.v1 dice=None",
        "schocken.half_lost.v1 next=1",
        "table.closed.v1 how=won",
        "table.closed.v1 how=drawn",
        "table.closed.v1 how=burnt",
    }
)


def disguised(action: Json, view: Json, rng: random.Random) -> Json:
    return {**action, "dice": [rng.randint(1, 6) for _ in action["dice"]]} if action.get("dice") else action
