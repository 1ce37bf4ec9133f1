"""`pytest tests/games --games 2000`: how many random games are played of each kind."""

import pytest

GAMES_DEFAULT = 50


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--games", type=int, default=GAMES_DEFAULT, help="random games of each kind")


@pytest.fixture(scope="session")
def games_of_each_kind(request: pytest.FixtureRequest) -> int:
    """The option; its default where this file was read too late for the command line."""
    return int(request.config.getoption("--games", default=GAMES_DEFAULT))
