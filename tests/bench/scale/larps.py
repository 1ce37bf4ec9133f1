"""The LARPs that all is measured on: the same people with ten thousand, a hundred thousand and a million events."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg
from msgspec import Struct

from tests.bench.options import Options, progress
from tests.bench.place import Place
from tests.bench.scale import commands, journal

SMALL, MIDDLE, LARGE, HUGE = 10_000, 100_000, 1_000_000, 10_000_000
"""The shortest is what the others are compared with where nothing may depend on the length."""


class Larp(Struct, frozen=True):
    """One LARP, alone in a database, and the export that it was imported from."""

    slug: str
    events: int
    file: Path
    database: str
    url: str
    environ: Mapping[str, str]
    """Of the command `skuggbok`, for that database."""

    @property
    def words(self) -> str:
        return f"{self.events:,} events"


def sizes(options: Options) -> Sequence[int]:
    """Of the long ones."""
    return (MIDDLE, LARGE, HUGE) if options.ten_million else (MIDDLE, LARGE)


def make(place: Place, events: int) -> Larp:
    """A journal in a file, and a database for it that is still empty."""
    progress(f"scale: {events:,} events: writing the journal down")
    slug = f"of-{events}"
    file, database = place.folder / f"{slug}.ndjson", f"scale_{events}"
    journal.write(file, slug, events)
    url = place.database(database)
    return Larp(slug, events, file, database, url, commands.environment(place.folder, url))


def tidy(larp: Larp) -> None:
    """What the server does by itself a minute after so many rows came: it must not do it while we measure."""
    with psycopg.connect(larp.url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
