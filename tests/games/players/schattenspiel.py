"""The bot for Schattenspiel, and what only tests ask of it."""

import random

from api.simulation.players.schattenspiel import any_hand, keeper, opening, peeks, propose
from tests.games.players import Json

__all__ = ["UNREACHABLE", "disguised", "keeper", "opening", "peeks", "propose"]

UNREACHABLE = frozenset(
    {
        "schattenspiel.opened.v1 dice=reported",
        "schattenspiel.opened.v1 dice=service",
        "table.closed.v1 how=drawn",
        "table.closed.v1 how=lost",
        "table.closed.v1 how=burnt",
        "table.closed.v1 winner=None",
    }
)


def disguised(action: Json, view: Json, rng: random.Random) -> Json:
    return {**action, **any_hand(rng)} if action["action"] == "show" else action
