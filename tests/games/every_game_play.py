"""Random games from a seed: bots that mostly play, and much that no sensible player would do."""

import random
from typing import Any

from ledger.games.game import Game
from tests.games.every_game_branches import Branches
from tests.games.every_game_fuzz import corrupted, request_of, slipped
from tests.games.every_game_world import CHARACTERS, TABLE, WORDS, World
from tests.games.players import Json, Player

STEPS_MAX = 20_000


def play(game: Game[Any], player: Player, seed: object, branches: Branches) -> World:
    """One game from its opening to its end, and what is refused after it."""
    rng = random.Random(f"play {seed}")
    world = World(game, player, seed, branches)
    if rng.random() < 0.3:
        world.disguise()
    body = opened(world, rng)
    restores = rng.random() < 0.3
    void_after = rng.randrange(60) if rng.random() < 0.1 else STEPS_MAX
    for step in range(STEPS_MAX):
        if restores and rng.random() < 0.1:
            world.restore()
        if step == void_after:
            assert world.void() is None, "an open table can always be voided"
        else:
            one_step(world, rng)
        if not world.is_open:
            break
    assert not world.is_open, f"{game.name}, seed {seed}: no end after {STEPS_MAX} steps"
    after_the_end(world, body, rng)
    if rng.random() < 0.2:
        world.read_again()
    return world


def opened(world: World, rng: random.Random) -> Json:
    """Open the table, at times after some attempts that come to nothing."""
    for attempt in range(1_000):
        if attempt < 10 and rng.random() < 0.25:
            body = any_opening(world, rng)
        else:
            body = world.player.opening(rng, TABLE, CHARACTERS)
        if world.opening(body) is None:
            return body
    raise AssertionError(f"{world.game.name}: no table was ever opened")


def any_opening(world: World, rng: random.Random) -> Json:
    body = request_of(world.game.opening, rng, WORDS) | {"table": TABLE}
    if rng.random() < 0.5:
        body = world.player.opening(rng, TABLE, CHARACTERS) | {"rules": body.get("rules", {})}
    return corrupted(body, rng) | {"table": TABLE} if rng.random() < 0.3 else body


def one_step(world: World, rng: random.Random) -> None:
    chance = rng.random()
    if chance < 0.06:
        world.act(any_action(world, rng))
    elif chance < 0.08:
        world.act(corrupted(proposal(world, rng) or any_action(world, rng), rng))
    elif chance < 0.12:
        seats = [seat["character"] for seat in world.view["seats"]]
        world.act(slipped(proposal(world, rng) or any_action(world, rng), rng, seats))
    elif chance < 0.14:
        world.spend()
    elif chance < 0.145:
        world.opening(world.player.opening(rng, TABLE, CHARACTERS))
    elif (action := proposal(world, rng)) is not None:
        world.act(action)


def any_action(world: World, rng: random.Random) -> Json:
    """Words of the game, by seats that may not be there, at a moment that is as good as any."""
    seats = [seat["character"] for seat in world.view["seats"]]
    return request_of(rng.choice(world.game.actions), rng, (*WORDS, *seats * 8))


def proposal(world: World, rng: random.Random) -> Json | None:
    """What one of the bots would do: mostly one that the table waits for."""
    view = world.view
    seats = [seat["character"] for seat in view["seats"] if not seat.get("left")]
    rng.shuffle(seats)
    if rng.random() < 0.9:
        seats.sort(key=lambda seat: seat not in view["waiting_for"])
    if rng.random() < 0.05 and (action := world.player.keeper(view, rng)) is not None:
        return action
    for seat in seats:
        if (action := world.player.propose(view, seat, world.sealed_for(seat), rng)) is not None:
            return action
    return world.player.keeper(view, rng)


def after_the_end(world: World, body: Json, rng: random.Random) -> None:
    """A table that is over takes no action but keeps its name."""
    assert world.void() == "table_closed"
    for _ in range(3):
        assert world.act(any_action(world, rng)) in ("table_closed", "malformed")
    assert world.opening(body) == "already_exists"
