"""The command `skuggbok simulate`."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from api import logging, serving, tokens
from ledger import settings as environment

if TYPE_CHECKING:
    from api.simulation.weekend import Plan

LINES = 10
"""How many lines tell of the progress where there is no terminal."""


@click.command()
@click.option("--url", help="A service that runs already, such as http://127.0.0.1:8000; else one is started.")
@click.option(
    "--token",
    envvar="SKUGGBOK_TOKEN",
    help="For --url: an admin's token, or an organiser's of the LARP to play in (SKUGGBOK_TOKEN).",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Without --url: folder of the embedded database (SKUGGBOK_DATA_DIR).",
)
@click.option("--larp", help="Name of the new LARP; weekend- and the seed, if left out.")
@click.option("--seed", default=1, show_default=True, help="Decides what the bots do.")
@click.option("--tables", type=click.IntRange(1, 1000), default=4, show_default=True, help="Tables at once.")
@click.option("--characters", type=click.IntRange(10, 10_000), default=24, show_default=True)
@click.option("--hours", type=click.FloatRange(0.1, 1000), default=44.0, show_default=True, help="In the LARP's time.")
@click.option("--actions", type=click.IntRange(1), help="How much happens; 4 an hour for each character, if left out.")
@click.option("--rate", type=click.FloatRange(0.01), help="Actions a second; as fast as it goes, if left out.")
def simulate(
    url: str | None,
    token: str | None,
    data: Path | None,
    larp: str | None,
    seed: int,
    tables: int,
    characters: int,
    hours: float,
    actions: int | None,
    rate: float | None,
) -> None:
    """Play a whole LARP weekend with bots, through the service, and sum it up.

    People arrive, play all four games in taverns, lend, pay, forgive and pass debts on; bankers write some of it down
    late. The bots know what the API tells a player, and act by players', keepers' and bankers' own tokens. Every table
    is played to its end, so somewhat more happens than was asked for.

    \b
    Examples:
      skuggbok simulate --data ./data --actions 2000
      skuggbok simulate --url http://127.0.0.1:8000 --token skb_... --rate 20 --tables 12 --characters 80
    """
    from api.simulation.weekend import Plan  # the bots, which no other command needs

    plan = Plan(seed=seed, larp=larp, tables=tables, characters=characters, hours=hours, actions=actions, rate=rate)
    if url is not None:
        if token is None:
            raise click.UsageError("--url needs --token (or SKUGGBOK_TOKEN)")
        asyncio.run(_simulate(url, token, plan))
        return
    _with_own_service(data, plan)


def _with_own_service(data: Path | None, plan: "Plan") -> None:
    settings = serving.data_dir_or(environment.read(), data)
    # A line for each request would drown what is printed for people; SKUGGBOK_LOG brings them back.
    logging.configure(settings.log if "SKUGGBOK_LOG" in os.environ else "warning")

    async def play(ready: serving.Ready) -> None:
        # Whoever runs the service has its database, and needs no token from anybody.
        async with ready.database.connection() as connection:
            admin = await tokens.make_admin(connection, "simulation", timedelta(minutes=1))
        await _simulate(ready.address, admin.token, plan)

    serving.run(settings, "127.0.0.1", 0, play, stays=False)


async def _simulate(url: str, token: str, plan: "Plan") -> None:
    from api.simulation.weekend import simulate as simulate_weekend

    with _progress() as progress:
        summary = await simulate_weekend(url, token, plan, progress)
    click.echo(summary.told())
    click.echo(f"\nCheck it with: skuggbok verify {summary.larp}")


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, a line now and then elsewhere."""
    if not sys.stderr.isatty():
        yield _Lines().tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("Simulating"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Simulating", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


class _Lines:
    """Tells of every tenth of the way, once."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._told = 0

    def tell(self, done: int, of: int) -> None:
        if done * LINES // of > self._told:
            self._told = done * LINES // of
            click.echo(f"Simulating: {done} of {of} actions, {time.monotonic() - self._begun:.0f} s", err=True)
