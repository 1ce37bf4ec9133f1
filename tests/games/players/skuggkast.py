"""The bot for Skuggkast, and what only tests ask of it."""

import random

from api.simulation.players.skuggkast import keeper, opening, peeks, propose, thrown
from tests.games.players import Json

__all__ = ["UNREACHABLE", "disguised", "keeper", "opening", "peeks", "propose"]

UNREACHABLE = frozenset(
    {
        "skuggkast.opened.v1 stake=None",
        "skuggkast.opened.v1 dice=None",
        "table.closed.v1 how=drawn",
        "table.closed.v1 how=lost",
    }
)


def disguised(action: Json, view: Json, rng: random.Random) -> Json:
    return {**action, "dice": thrown(view, rng)} if action.get("dice") else action
