"""For every game a state machine: hypothesis looks for the order of requests, legal or not, that breaks something.

What must hold is checked by `World` at each request; here, besides, the whole journal is read again at the end.
"""

import random
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from ledger.games.game import Game
from tests.games.every_game_branches import Branches
from tests.games.every_game_fuzz import corrupted, slipped
from tests.games.every_game_play import any_action, any_opening, opened, proposal
from tests.games.every_game_world import World
from tests.games.players import player_of
from tests.games.test_every_game import EVERY

CHANCE = st.integers(0, 2**32 - 1).map(random.Random)
"""Bots and fuzz take all their chance from this."""

EXAMPLES_MIN, STEPS = 20, 40


class Machine(RuleBasedStateMachine):
    """Whatever may happen at one table."""

    game: Game[Any]

    @initialize(rng=CHANCE, with_twin=st.booleans())
    def begin(self, rng: random.Random, with_twin: bool) -> None:
        player = player_of(self.game.name)
        self.world = World(self.game, player, rng.random(), Branches(self.game, player.UNREACHABLE))
        if with_twin:
            self.world.disguise()
        opened(self.world, rng)

    @rule(rng=CHANCE)
    def a_bot_acts(self, rng: random.Random) -> None:
        if (action := proposal(self.world, rng)) is not None:
            self.world.act(action)

    @rule(rng=CHANCE, times=st.integers(2, 12))
    def bots_play_on(self, rng: random.Random, times: int) -> None:
        for _ in range(times):
            if self.world.is_open:
                self.a_bot_acts(rng)

    @rule(rng=CHANCE)
    def somebody_does_anything(self, rng: random.Random) -> None:
        self.world.act(any_action(self.world, rng))

    @rule(rng=CHANCE)
    def somebody_makes_a_mistake(self, rng: random.Random) -> None:
        action = proposal(self.world, rng) or any_action(self.world, rng)
        seats = [seat["character"] for seat in self.world.view["seats"]]
        self.world.act(slipped(action, rng, seats))

    @rule(rng=CHANCE)
    def somebody_sends_nonsense(self, rng: random.Random) -> None:
        self.world.act(corrupted(proposal(self.world, rng) or any_action(self.world, rng), rng))

    @rule(rng=CHANCE)
    def the_table_is_opened_again(self, rng: random.Random) -> None:
        assert self.world.opening(any_opening(self.world, rng)) is not None

    @rule()
    def somebody_spends(self) -> None:
        self.world.spend()

    @rule()
    def the_book_is_restored_from_a_snapshot(self) -> None:
        self.world.restore()

    @rule()
    def a_twin_world_begins(self) -> None:
        self.world.disguise()

    @rule(really=st.integers(0, 9))
    def the_organiser_voids_the_table(self, really: int) -> None:
        if not self.world.is_open:
            assert self.world.void() == "table_closed"
        elif really == 9:
            assert self.world.void() is None

    @invariant()
    def everything_adds_up(self) -> None:
        self.world._check_all()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.read_again()


@EVERY
def test_no_order_of_requests_breaks_an_invariant(game: Game[Any], games_of_each_kind: int) -> None:
    machine = type(f"{game.name.title()}Machine", (Machine,), {"game": game})
    few = settings(
        max_examples=max(EXAMPLES_MIN, games_of_each_kind // 10),
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    run_state_machine_as_test(machine, settings=few)
