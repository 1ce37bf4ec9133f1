"""What holds for every game, whichever they are: random games of each kind, each step checked (see World)."""

from typing import Any

import pytest

from ledger.games import GAMES
from ledger.games.game import Game
from tests.games.conftest import GAMES_DEFAULT
from tests.games.every_game_branches import Branches
from tests.games.every_game_play import play
from tests.games.players import player_of

EVERY = pytest.mark.parametrize("game", [pytest.param(game, id=game.name) for game in GAMES])
ENOUGH_FOR_ALL_BRANCHES = 1_000


@EVERY
def test_random_games_end_and_keep_every_invariant(
    game: Game[Any], games_of_each_kind: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """With many games (`--games 2000`) every event, outcome and refusal of the game is reached, and listed."""
    player = player_of(game.name)
    branches = Branches(game, player.UNREACHABLE)
    for seed in range(games_of_each_kind):
        try:
            play(game, player, f"{game.name} {seed}", branches)
        except Exception as error:
            error.add_note(f"{game.name}, seed {seed}")
            raise
    if games_of_each_kind > GAMES_DEFAULT:
        with capsys.disabled():
            print(f"\n{games_of_each_kind} games of {branches.table()}")
    if games_of_each_kind >= ENOUGH_FOR_ALL_BRANCHES:
        assert branches.missing == []
