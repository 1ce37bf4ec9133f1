"""How every contestant is driven: so many callers, each waiting for its own append before it begins the next.

A contestant is a program. It is told what to do as JSON on its command line, and tells what came of it as JSON on
stdout. All take the time alike: a warm-up, then a window; what was answered in the window counts.
"""

import asyncio
import itertools
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager
from statistics import quantiles
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")


class Config(Struct, frozen=True, kw_only=True):
    """`url`: a conninfo or an address. `payloads`: a file. `batch`: events of one append."""

    url: str
    payloads: str
    callers: int
    batch: int
    warm_up: float
    seconds: float


class Outcome(Struct, frozen=True, kw_only=True):
    """`rate`: commands a second, `commands`: how many in the window. `cpu_s`: what the program used meanwhile.

    `appends` of `batch` commands each were answered in all, and with what was there before, `acknowledged` events
    must be found.
    """

    rate: float
    commands: int
    p50_ms: float
    p99_ms: float
    cpu_s: float
    acknowledged: int


class Clock:
    """The window, and what was answered in it."""

    def __init__(self, config: Config) -> None:
        self._batch = config.batch
        self._seconds = config.seconds
        self.begin = time.perf_counter() + config.warm_up
        self.end = self.begin + config.seconds
        self._answered = list[tuple[float, float]]()
        self._cpu_s = 0.0
        self.numbers: Iterator[int] = itertools.count()

    def answered(self, begun: float) -> float:
        """Note an append that began at `begun`. Returns the time."""
        now = time.perf_counter()
        self._answered.append((begun, now))
        return now

    def begins(self) -> None:
        self._cpu_s = -time.process_time()

    def ends(self) -> None:
        self._cpu_s += time.process_time()

    def outcome(self, acknowledged: int | None = None) -> Outcome:
        """`acknowledged`: events, where they are not as many as commands."""
        took = [now - begun for begun, now in self._answered if self.begin <= now < self.end]
        cuts = quantiles(took, n=100) if len(took) > 1 else took * 99
        commands = len(took) * self._batch
        return Outcome(
            rate=commands / self._seconds,
            commands=commands,
            p50_ms=cuts[49] * 1000,
            p99_ms=cuts[98] * 1000,
            cpu_s=self._cpu_s,
            acknowledged=len(self._answered) * self._batch if acknowledged is None else acknowledged,
        )


async def drive(config: Config, append: Callable[[int], Awaitable[object]]) -> Clock:
    """Callers are coroutines. `append` is given a number of its own each time."""

    async def caller(clock: Clock) -> None:
        now = time.perf_counter()
        while now < clock.end:
            await append(next(clock.numbers))
            now = clock.answered(now)

    return await call(config, caller)


async def call(config: Config, caller: Callable[[Clock], Coroutine[None, None, None]]) -> Clock:
    """The same with callers that keep to the clock themselves."""
    clock = Clock(config)

    async def watch() -> None:
        await asyncio.sleep(clock.begin - time.perf_counter())
        clock.begins()
        await asyncio.sleep(clock.end - time.perf_counter())
        clock.ends()

    async with asyncio.TaskGroup() as group:
        group.create_task(watch())
        for _ in range(config.callers):
            group.create_task(caller(clock))
    return clock


def drive_threads(config: Config, append: Callable[[int], object]) -> Clock:
    """Callers are threads: for clients that know no other way."""
    clock = Clock(config)
    failed = list[BaseException]()

    def caller() -> None:
        now = time.perf_counter()
        try:
            while now < clock.end and not failed:
                append(next(clock.numbers))
                now = clock.answered(now)
        except BaseException as error:  # a thread's own end would be seen by nobody
            failed.append(error)

    threads = [threading.Thread(target=caller, daemon=True) for _ in range(config.callers)]
    for thread in threads:
        thread.start()
    time.sleep(max(0.0, clock.begin - time.perf_counter()))
    clock.begins()
    time.sleep(max(0.0, clock.end - time.perf_counter()))
    clock.ends()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return clock


class Turns(Generic[T]):
    """Things that callers take in turn, first come, first served."""

    def __init__(self, things: Iterable[T]) -> None:
        self._free = list(things)
        self._turn = asyncio.Semaphore(len(self._free))

    @asynccontextmanager
    async def one(self) -> AsyncIterator[T]:
        async with self._turn:
            thing = self._free.pop()
            try:
                yield thing
            finally:
                self._free.append(thing)


def told(measure: Callable[[Config], Outcome]) -> None:
    """The program: measure what the last word of the command line says."""
    outcome = measure(msgspec.json.decode(sys.argv[-1], type=Config))
    print(msgspec.json.encode(outcome).decode())


def told_async(measure: Callable[[Config], Coroutine[None, None, Outcome]]) -> None:
    """The same on uvloop, as the service does it where there is one."""
    import uvloop

    told(lambda config: uvloop.run(measure(config)))
