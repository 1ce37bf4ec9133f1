"""Many commands in one request: how many a second, and that memory does not grow with their number."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median

from tests.bench.http.processes import Server, streamed
from tests.bench.http.stream import Lines, Streamed
from tests.bench.http.world import CHARACTERS, World
from tests.bench.measured import Line
from tests.bench.options import Options, progress
from tests.bench.place import Place

PART = "http"
COMMANDS = 100_000
PER_S_MIN = 25_000
FEW, MANY = 50_000, 200_000
GROWTH_MAX = 1.15
SAMPLE_S = 0.01


def measured(place: Place, ours: Server, world: World, options: Options) -> Sequence[Line]:
    """Rates with and without a key on each line, then memory."""
    return [*(_rate(place, ours, world, options, keyed=keyed) for keyed in (False, True)), _memory(place, ours, world)]


def _rate(place: Place, ours: Server, world: World, options: Options, *, keyed: bool) -> Line:
    how = "a key on each line" if keyed else "no keys"
    rates = list[float]()
    for run in range(options.runs):
        place.settle()
        done = _sent(ours, world, COMMANDS, keyed=keyed, run=f"rate{run}")
        rates.append(COMMANDS / done.seconds)
        progress(f"http: {COMMANDS:,} commands in one request, {how}: {rates[-1]:,.0f} a second")
    rate = median(rates)
    return Line(
        part=PART,
        work=f"{COMMANDS:,} transfers in one request, {how}",
        ours=rate,
        unit="per s",
        aim=f"at least {PER_S_MIN:,} a second",
        met=rate >= PER_S_MIN,
        detail={"ours": rates},
    )


def _memory(place: Place, ours: Server, world: World) -> Line:
    """The first stream makes whatever is made once; then a short one and a long one."""
    place.settle()
    before, peaks = ours.memory_mb, list[float]()
    for run, count in enumerate((FEW, FEW, MANY)):
        with _peak_mb(ours) as samples:
            _sent(ours, world, count, keyed=True, run=f"memory{run}")
        peaks.append(max(samples))
        progress(f"http: {count:,} commands in one request: {peaks[-1]:.0f} MB at most")
    _, few, many = peaks
    return Line(
        part=PART,
        work=f"memory of the service during {MANY:,} transfers in one request",
        ours=many,
        unit="MB",
        beside=f"the same during {FEW:,}",
        theirs=few,
        aim=f"at most {GROWTH_MAX:g} times",
        met=many <= GROWTH_MAX * few,
        detail={"before_mb": before, "peaks_mb": dict(zip(("first", "few", "many"), peaks, strict=True))},
    )


def _sent(ours: Server, world: World, count: int, *, keyed: bool, run: str) -> Streamed:
    """Raises RuntimeError if any line was not recorded."""
    lines = Lines(
        port=ours.port,
        path=f"{world.path}/commands",
        token=world.organiser,
        characters=CHARACTERS,
        count=count,
        keyed=keyed,
        run=run,
    )
    done = streamed(lines)
    if (done.recorded, done.others) != (count, 0):
        raise RuntimeError(f"of {count} lines {done.recorded} were recorded, {done.others} answered otherwise")
    return done


@contextmanager
def _peak_mb(server: Server) -> Iterator[list[float]]:
    """What the process holds, looked at again and again until the end of the block."""
    samples, over = [server.memory_mb], threading.Event()

    def look() -> None:
        while not over.wait(SAMPLE_S):
            samples.append(server.memory_mb)

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield samples
    finally:
        over.set()
        looking.join()
