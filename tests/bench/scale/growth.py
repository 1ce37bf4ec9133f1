"""What a command costs in a journal that is empty, and in longer and longer ones: it must not grow.

64 callers transfer through the writer, as the service does it, in this process. Runs go round the journals in turn.
Each run is on a copy of the database as it was imported, so that the short ones stay short; the longest is so long
that what a run adds to it does not count, and is written to directly.
"""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from statistics import median

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from ledger import purses
from ledger.database import Database
from ledger.journal import Journals
from ledger.messages import Actor
from ledger.writer import Writers
from projections.runner import PROJECTIONS
from tests.bench.measured import Curve, Line, Told
from tests.bench.options import Options, progress
from tests.bench.place import Place
from tests.bench.scale import journal, larps
from tests.bench.scale.larps import Larp
from tests.bench.scale.lines import at_most

CALLERS = 64
WARMING = 5_000
"""Transfers before those that count: twenty of each purse. A page that is changed for the first time after a checkpoint
is written to the log as a whole, which a long journal, with more pages, would be charged for."""
TIMES = 1.1
_ACTOR = Actor(role="banker", token="tok_" + "0" * 32)
_COPY = "scale_growing"


def measure(place: Place, grown: Sequence[Larp], options: Options) -> Told:
    """Of journals from the shortest, in which nothing was transferred, to the longest."""
    costs: dict[int, list[float]] = {larp.events: [] for larp in grown}
    for run in range(options.runs):
        for larp in grown:
            progress(f"scale: commands after {larp.words}, run {run + 1} of {options.runs}")
            url = larp.url if larp is grown[-1] else _copied(place, larp)
            place.settle()
            with asyncio.Runner(loop_factory=_loop_factory) as runner:
                rate = runner.run(_rate(url, larp.slug, options.seconds))
            costs[larp.events].append(1_000_000 / rate)
    place.empty_database(_COPY)
    small = costs[larps.SMALL]
    lines = [_line(larp, costs[larp.events], small) for larp in grown if larp.events > larps.MIDDLE]
    points = [(float(events), median(each)) for events, each in costs.items()]
    curve = Curve(
        name="growth",
        title=f"Cost of a transfer, {CALLERS} callers, by the length of the journal",
        x="events in the journal",
        y="microseconds per transfer",
        points={"transfer": points},
    )
    return Told(lines=lines, curves=[curve])


def _line(larp: Larp, costs: Sequence[float], small: Sequence[float]) -> Line:
    return at_most(
        f"a transfer after {larp.words}, {CALLERS} callers",
        costs,
        small,
        beside=f"after {larps.SMALL:,} events",
        times=TIMES,
        unit="us",
    )


def _copied(place: Place, larp: Larp) -> str:
    with psycopg.connect(make_conninfo(larp.url, dbname="postgres"), autocommit=True) as connection:
        connection.execute(SQL("DROP DATABASE IF EXISTS {}").format(Identifier(_COPY)))
        copy = SQL("CREATE DATABASE {} TEMPLATE {}").format(Identifier(_COPY), Identifier(larp.database))
        connection.execute(copy)
    return make_conninfo(larp.url, dbname=_COPY)


async def _rate(url: str, slug: str, seconds: float) -> float:
    """Transfers a second, after some to warm up."""
    async with Database(url) as database:
        callers = _Callers(Writers(Journals(database, PROJECTIONS)), slug)
        await callers.transfer(lambda: callers.done < WARMING)
        warm, begun = callers.done, time.perf_counter()
        await callers.transfer(lambda: time.perf_counter() - begun < seconds)
        seconds = time.perf_counter() - begun
        await callers.writers.close()
    return (callers.done - warm) / seconds


class _Callers:
    """Each sends a transfer, waits for its receipt, and sends the next."""

    def __init__(self, writers: Writers, slug: str) -> None:
        self.writers = writers
        self.done = 0
        self._slug = slug
        self._people, self._chance = journal.names(), random.Random(slug)

    async def transfer(self, goes_on: Callable[[], bool]) -> None:
        await asyncio.gather(*(self._call(goes_on) for _ in range(CALLERS)))

    async def _call(self, goes_on: Callable[[], bool]) -> None:
        while goes_on():
            one, other = self._chance.sample(self._people, 2)
            transfer = purses.Transfer(from_=one, to=other, asset=journal.ASSET, amount=1, memo="for the lost bet")
            await self.writers.submit(self._slug, transfer, _ACTOR)
            self.done += 1


def _loop_factory() -> asyncio.AbstractEventLoop:
    """That of the service."""
    import uvloop

    return uvloop.new_event_loop()
