"""Whole games in memory, played by the bots: the same from the same seed, whatever else is different."""

import json
import random
from contextlib import suppress
from typing import Any

import msgspec

from ledger import purses
from ledger.book import ActRequest, OpenTable, Void, VoidTable
from ledger.errors import Refused
from tests.games.players import Json, player_of
from tests.support.in_memory import OPENINGS, MemoryLarp

CHARACTERS = ("alva", "birk", "disa", "embla", "frej", "gaute", "hilde", "ivar")
ACTIONS_MAX = 5_000


def tavern(name: str = "tavern", *, krona: int = 500) -> MemoryLarp:
    """A LARP with eight characters who have so many krona each, and credit."""
    larp = MemoryLarp(name)
    larp.do(purses.DefineAsset(asset="krona", kind="token", name="Krona"))
    for character in CHARACTERS:
        limits = {"krona": 40}
        larp.do(purses.AddCharacter(character=character, name=character.title(), credit_limit=limits))
        larp.do(purses.Grant(to=character, asset="krona", amount=krona))
    return larp


def play(
    larp: MemoryLarp,
    game: str,
    table: str,
    seed: object,
    *,
    void_after: int | None = None,
    stop_after: int | None = None,
    **changes: Any,
) -> None:
    """One table of `game`, opened with `changes` to what the bot would open, to its end.

    It is voided or left open after so many actions, if it has not ended before.
    """
    rng, player = random.Random(f"{game} {seed}"), player_of(game)
    larp.do(OPENINGS.decode(msgspec.json.encode(_opening(larp, player.opening(rng, table, CHARACTERS), changes))))
    for action in range(ACTIONS_MAX):
        if action == stop_after or not isinstance(larp.book.tables.get(table), OpenTable):
            return
        if action == void_after:
            larp.do(Void(table, VoidTable(reason="it is late")))
            return
        _act(larp, table, _proposed(larp, player, table, rng))
    raise AssertionError(f"{game}, seed {seed}: no end after {ACTIONS_MAX} actions")


def _opening(larp: MemoryLarp, body: Json, changes: Json) -> Json:
    rules = {**body.get("rules", {}), **changes.get("rules", {})}
    return {**body, **changes, "rules": rules} if rules else {**body, **changes}


def _proposed(larp: MemoryLarp, player: Any, table: str, rng: random.Random) -> Json:
    """What one of the bots would do, now and then the keeper."""
    view = larp.view(table)
    seats = [seat["character"] for seat in view["seats"] if not seat.get("left")]
    rng.shuffle(seats)
    seats.sort(key=lambda seat: seat not in view["waiting_for"])
    if rng.random() < 0.1 and (action := player.keeper(view, rng)) is not None:
        return action
    while True:
        for seat in seats:
            if (action := player.propose(view, seat, _sealed(larp, table, seat), rng)) is not None:
                return action
        if (action := player.keeper(view, rng)) is not None:
            return action


def _sealed(larp: MemoryLarp, table: str, seat: str) -> list[Json]:
    hidden = (larp.book.secrets.get(table) or {}).values()
    return [{"seat": s.seat, "what": s.what, "value": s.value} for s in hidden if s.seat == seat]


def _act(larp: MemoryLarp, table: str, body: Json) -> None:
    with suppress(Refused):  # bots do not know all the rules
        larp.do(larp.book.resolve(ActRequest(table, json.dumps(body).encode())))
