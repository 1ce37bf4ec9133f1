"""Skuggkast beside a plain model of its ruling: the same code, the same view, the same money, action by action."""

import random
from typing import Any

from ledger.games.rolloff import RolledOff
from ledger.games.skuggkast import SKUGGKAST
from ledger.games.skuggkast.messages import Rolled
from tests.games.every_game_branches import Branches
from tests.games.every_game_fuzz import corrupted, slipped
from tests.games.every_game_play import STEPS_MAX, any_action, proposal
from tests.games.every_game_world import CHARACTERS, TABLE, World
from tests.games.players import Json, player_of
from tests.games.skuggkast_model import Model

PLAYER = player_of("skuggkast")


def test_the_game_does_what_a_plain_model_of_the_ruling_does(games_of_each_kind: int) -> None:
    for seed in range(games_of_each_kind):
        try:
            beside_the_model(seed)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


def beside_the_model(seed: int) -> None:
    rng = random.Random(f"model {seed}")
    world = World(SKUGGKAST, PLAYER, f"model {seed}", Branches(SKUGGKAST, PLAYER.UNREACHABLE))
    body = PLAYER.opening(rng, TABLE, CHARACTERS)
    while world.opening(body) is not None:
        body = PLAYER.opening(rng, TABLE, CHARACTERS)
    model = Model(body)
    _look_up(world, model)
    for seat in model.seats:  # what the opening paid
        tokens = world.book.balance(f"pot/{TABLE}", "krona") if body["stake"]["asset"] == "krona" else 0
        notes = world.book.balance(f"pot/{TABLE}", f"iou/{seat}/{model.asset}")
        model.pot |= {model.asset: tokens, f"iou/{seat}/{model.asset}": notes}
        model.own[seat] = model.stake - notes
    for _ in range(STEPS_MAX):
        if rng.random() < 0.02:
            world.spend()
        action = any_request(world, rng)
        _look_up(world, model)
        seen = len(world.journal)
        code = world.act(action)
        if code != "malformed":
            assert (action, model.act(action, _rolled(world, seen))) == (action, code)
            assert_alike(world, model, action)
        if not world.is_open:
            return


def any_request(world: World, rng: random.Random) -> Json:
    action = proposal(world, rng) or any_action(world, rng)
    if world.view["phase"] in ("roll_off", "response", "reveal") and rng.random() < 0.05:
        return {"action": "leave", "seat": rng.choice([seat["character"] for seat in world.view["seats"]])}
    match rng.randrange(12):
        case 0:
            return any_action(world, rng)
        case 1:
            return corrupted(action, rng)
        case 2:
            return slipped(action, rng, [seat["character"] for seat in world.view["seats"]])
        case _:
            return action


def _look_up(world: World, model: Model) -> None:
    """What the model cannot know: what is in purses and how much may still be owed."""
    for seat in model.seats:
        model.tokens[seat] = world.book.balance(f"purse/{seat}", "krona")
        owes = -world.book.balance(f"debtor/{seat}", f"iou/{seat}/krona")
        model.room[seat] = max(0, world.book.credit_limit(seat, "krona") - owes)
    model.burnt = world.book.balance("burnt", "krona")


def _rolled(world: World, seen: int) -> Any:
    """What the service rolled with this action, if it did."""
    for recorded in world.journal[seen:]:
        match recorded.event:
            case RolledOff(number=number):
                return number
            case Rolled(sealed=(sealed,)):
                return world.hidden[sealed.commitment].value
            case _:
                continue
    return None


def assert_alike(world: World, model: Model, action: Json) -> None:
    view = world.view
    expected = model.view()
    assert {key: view[key] for key in expected} == expected, action
    assert {seat: world.book.balance(f"purse/{seat}", "krona") for seat in model.seats} == model.tokens, action
    assert world.book.balance("burnt", "krona") == model.burnt, action
