"""What the commands share: their options, the settings, the database, and how they show that they are at work."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click

from api import logging, serving
from ledger import settings as environment
from ledger.database import Connection, Database
from ledger.errors import SkuggbokError
from ledger.migrations import migrate
from ledger.settings import Settings
from projections import versions

T = TypeVar("T")

DATA = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the embedded database (SKUGGBOK_DATA_DIR).",
)


def read_settings(data: Path | None, *, quiet: bool = False) -> Settings:
    settings = serving.data_dir_or(environment.read(), data)
    logging.configure("warning" if quiet else settings.log)
    return settings


class NoDatabase(SkuggbokError):
    """There is nothing to work on; the message says how to name it."""


def with_database(settings: Settings, work: Callable[[Database], Awaitable[T]], *, makes: bool = False) -> T:
    """Do something with the database, which is started and migrated for it if need be.

    Raises NoDatabase where there is none yet, unless the command `makes` one: a misspelt folder is no empty ledger.
    """
    if not makes and settings.database_url is None and not any(settings.data_dir.glob("*/PG_VERSION")):
        raise NoDatabase(
            f"there is no Skuggbok database in {settings.data_dir}: name its folder with --data or SKUGGBOK_DATA_DIR"
        )

    async def inside(url: str) -> T:
        async with Database(url, connections_max=2) as database:
            async with database.connection() as connection:
                await versions.notice(connection)
            return await work(database)

    with serving.database_of(settings) as url:
        migrate(url)
        return asyncio.run(inside(url))


def with_connection(settings: Settings, work: Callable[[Connection], Awaitable[T]]) -> T:
    """The same with one connection."""

    async def inside(database: Database) -> T:
        async with database.connection() as connection:
            return await work(connection)

    return with_database(settings, inside)


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on a terminal; elsewhere nothing but the result is printed."""
    if not sys.stderr.isatty():
        yield lambda done, of: None
        return
    # Not before they are needed: they take longer to import than some commands take.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of)
