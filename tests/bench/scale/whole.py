"""What goes over a whole journal: importing, exporting, rebuilding the projections, verifying.

Each is the command as users run it, in a process of its own; what a command takes to start is not counted (see
`timed`). Beside them: COPY of the same rows (see `copies`), and a loop that streams the journal with the same driver,
decodes each event and does nothing else. The loop is the synchronous one, with the chunks that the service has, which
is faster here than asyncio's, and than other sizes of chunks.
"""

import time
from collections.abc import Sequence

import psycopg
from msgspec import Struct, field

from ledger.book import READER
from tests.bench.measured import Line, rated
from tests.bench.options import Options, progress
from tests.bench.place import Place
from tests.bench.scale import commands, larps
from tests.bench.scale.copies import Rows, copy_out
from tests.bench.scale.larps import Larp
from tests.bench.scale.lines import PART, at_most, told

JOURNAL = "SELECT position, body, hash FROM skuggbok.event ORDER BY larp, position"
CHUNK = 500
MEMORY_TIMES = 1.3

WORKS = {
    "import": ("COPY of the same rows into the same tables", 0.3),
    "export": ("COPY of the same events", 0.5),
    "rebuild": ("reading and decoding the same events", 0.3),
}


class _Seen(Struct):
    """Of one work at one size: seconds of ours, of what it is beside, and the memory that ours took."""

    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    memory_bytes: list[int] = field(default_factory=list)


class Whole:
    """All works, one LARP after the other."""

    def __init__(self, place: Place, options: Options) -> None:
        self._place = place
        self._options = options
        self._rows = Rows(place.folder / "rows")
        self._out = place.folder / "out"
        self._seen: dict[tuple[str, int], _Seen] = {}
        self._verified = list[float]()

    def measure(self, larp: Larp) -> None:
        """Everything, with a LARP that is imported afterwards. A long one is gone over once."""
        runs = self._options.runs if larp.events <= larps.MIDDLE else 1
        seen = {work: self._seen.setdefault((work, larp.events), _Seen()) for work in WORKS}
        for run in range(runs):
            progress(f"scale: {larp.words}, run {run + 1} of {runs}: import")
            if run:
                self._place.database(larp.database)
            self._work(larp, "import", str(larp.file))
            if not run:
                self._rows.keep(larp.url)
            seen["import"].theirs.append(self._rows.copy_into(self._place, "scale_copied"))
            larps.tidy(larp)
            progress(f"scale: {larp.words}, run {run + 1} of {runs}: export, rebuild")
            self._work(larp, "export", larp.slug, "--output", str(self._out))
            if self._out.read_bytes() != larp.file.read_bytes():
                raise AssertionError("what was exported is not what was imported")
            seen["export"].theirs.append(copy_out(larp.url, self._out))
            self._work(larp, "rebuild")
            seen["rebuild"].theirs.append(_read_and_decode(larp.url))
        self._place.empty_database("scale_copied")
        self._out.unlink()

    def _work(self, larp: Larp, work: str, *arguments: str) -> None:
        self._place.settle()
        took = commands.work(larp.environ, work, *arguments)
        seen = self._seen[work, larp.events]
        seen.ours.append(took.seconds)
        if took.memory_bytes is not None:
            seen.memory_bytes.append(took.memory_bytes)

    def verify(self, larp: Larp) -> None:
        """All checks, not the chain alone."""
        progress(f"scale: {larp.words}: verify")
        self._verified.append(larp.events / commands.work(larp.environ, "verify").seconds)

    def lines(self) -> Sequence[Line]:
        lines = [_rated(work, events, seen) for (work, events), seen in self._seen.items()]
        lines += self._memory()
        return [*lines, told("verify: all checks, not the chain alone", self._verified, "events per s")]

    def _memory(self) -> Sequence[Line]:
        """Of the longest journal beside the middle one; none where the system does not tell."""
        largest = max(events for _, events in self._seen)
        large, middle = (
            [each / 2**20 for each in self._seen["rebuild", events].memory_bytes] for events in (largest, larps.MIDDLE)
        )
        if not (large and middle):
            return []
        work = f"rebuild: most memory, {largest:,} events"
        return [at_most(work, large, middle, beside=f"{larps.MIDDLE:,} events", times=MEMORY_TIMES, unit="MiB")]


def _rated(work: str, events: int, seen: _Seen) -> Line:
    beside, at_least = WORKS[work]
    ours, theirs = ([events / seconds for seconds in each] for each in (seen.ours, seen.theirs))
    return rated(
        PART,
        f"{work}, {events:,} events",
        ours,
        theirs,
        beside=beside,
        at_least=at_least,
        unit="events per s",
        detail={"memory_bytes": seen.memory_bytes},
    )


def _read_and_decode(url: str) -> float:
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor(binary=True) as cursor:
        begun = time.perf_counter()
        for position, body, hash_ in cursor.stream(JOURNAL, size=CHUNK):
            READER.read(position, body, hash_)
        return time.perf_counter() - begun
