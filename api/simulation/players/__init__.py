"""Bots: for each game one module that plays it, knowing only what a player at the table may see.

A bot proposes actions that look legal. Whether they are is the game's to say: a bot sees no purse and forgets
at times what it should know, so some of its proposals are refused.
"""

import random
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol, cast

Json = dict[str, Any]


class Player(Protocol):
    """What each module here is. Everything is JSON as on the wire; `rng` is all the chance there is."""

    def opening(self, rng: random.Random, table: str, characters: Sequence[str]) -> Json:
        """A table that may be opened, with any variant, in krona or, as a promise, in drinks or schnapps."""
        ...

    def peeks(self, view: Json, seat: str) -> bool:
        """Whether `seat` would look at what it hides before it does something."""
        ...

    def propose(self, view: Json, seat: str, sealed: Sequence[Json], rng: random.Random) -> Json | None:
        """What `seat` would do now, None for nothing. `sealed`: what it may see, as GET .../sealed lists it."""
        ...

    def keeper(self, view: Json, rng: random.Random) -> Json | None:
        """What the keeper would do now: an action without a seat."""
        ...


def player_of(game: str) -> Player:
    """The bot that plays `game`: the module of that name."""
    return cast("Player", import_module(f"{__name__}.{game}"))


def seats_of(view: Json) -> dict[str, Json]:
    """What the view shows of each seat, by character."""
    return {seat["character"]: seat for seat in view["seats"]}
