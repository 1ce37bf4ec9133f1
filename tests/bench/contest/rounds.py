"""The contest itself: run for run everybody takes turns at each thing, so that the machine's moods hit all alike."""

import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec
from msgspec import Struct

from tests.bench.contest import payloads
from tests.bench.contest.contestants import LIMIT, NO_PEERS, OURS, Contestant, contestants, skuggkast
from tests.bench.contest.driving import Config, Outcome
from tests.bench.options import Options, progress
from tests.bench.place import Place

ROOT = Path(__file__).parents[3]
WARM_UP_S = 0.5
SHARE = 0.5
"""Of the seconds that were asked for: there are many to measure."""
PATIENCE_S = 60.0


class Task(Struct, frozen=True):
    """So many callers, and so many events an append."""

    callers: int
    batch: int = 1

    def __str__(self) -> str:
        callers = "1 caller" if self.callers == 1 else f"{self.callers:,} callers"
        return callers if self.batch == 1 else f"{callers}, {self.batch} an append"


CALLERS = (1, 16, 64, 1024)
CALLERS_CHARTED = (4, 256)
"""Only to see the curves between."""
BATCHED = Task(1, 100)
SKUGGKAST_TASK = Task(64)


class Failed(Exception):
    """A contestant did not do its work."""


class Rounds:
    """All outcomes, one a run, by contestant and task; why some have none."""

    def __init__(self, place: Place, options: Options) -> None:
        self._place = place
        self._options = options
        self._bodies = place.folder / "payloads"
        self._everybody = contestants()
        self.outcomes: dict[str, dict[Task, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
        self.failed: dict[str, str] = {}
        self.missing = {each.name: each.missing for each in self._everybody if each.missing is not None}

    def play(self) -> None:
        payloads.write(self._bodies)
        for run in range(self._options.runs):
            for task in (*map(Task, CALLERS), BATCHED):
                self._all_do(task, self._everybody, run)
        charted = [each for each in self._everybody if each.name in (OURS, LIMIT, *self.best_peers())]
        for run in range(self._options.runs):
            for callers in CALLERS_CHARTED:
                self._all_do(Task(callers), charted, run)

    def rates(self, name: str, task: Task) -> Sequence[float]:
        return [outcome.rate for outcome in self.outcomes[name][task]]

    def has(self, name: str, task: Task) -> bool:
        return bool(self.outcomes.get(name, {}).get(task))

    def peers(self) -> Sequence[str]:
        """Who was measured without fault, apart from ourselves and what is no peer."""
        return [name for name in self.outcomes if name not in NO_PEERS and name not in self.failed]

    def best_peer(self, task: Task) -> str | None:
        present = [name for name in self.peers() if self.has(name, task)]
        return max(present, key=lambda name: median(self.rates(name, task)), default=None)

    def best_peers(self) -> Sequence[str]:
        """Whoever is the best with any number of callers."""
        return list(dict.fromkeys(name for callers in CALLERS if (name := self.best_peer(Task(callers)))))

    def _all_do(self, task: Task, everybody: Sequence[Contestant], run: int) -> None:
        """Every second time in the other order: whoever is behind another has what that one left."""
        turns = list(everybody)
        if task == SKUGGKAST_TASK:
            turns.insert(1, skuggkast())
        for contestant in reversed(turns) if run % 2 else turns:
            if contestant.name not in self.failed and contestant.name not in self.missing:
                self._do(task, contestant, run)

    def _do(self, task: Task, contestant: Contestant, run: int) -> None:
        try:
            outcome = _turn(self._place, contestant, task, self._bodies, self._options.seconds * SHARE)
        except (Failed, OSError, subprocess.SubprocessError, msgspec.MsgspecError) as error:
            if contestant.name == OURS:
                raise  # without us there is nothing to tell
            self.failed[contestant.name] = str(error)
            progress(f"contest: {contestant.name}: {error}")
            return
        self.outcomes[contestant.name][task].append(outcome)
        progress(
            f"contest {run + 1}/{self._options.runs}: {contestant.name}, {task}: {outcome.rate:,.0f} a second,"
            f" p50 {outcome.p50_ms:.2f} ms, p99 {outcome.p99_ms:.2f} ms"
        )


def _turn(place: Place, contestant: Contestant, task: Task, bodies: Path, seconds: float) -> Outcome:
    """One contestant, one task. Raises Failed if what it holds in the end is not what it said it had done."""
    with contestant.opened(place) as url:
        config = Config(
            url=url,
            payloads=str(bodies),
            callers=task.callers,
            batch=task.batch,
            warm_up=WARM_UP_S,
            seconds=seconds,
        )
        place.settle()
        done = subprocess.run(
            [*contestant.program, msgspec.json.encode(config).decode()],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=WARM_UP_S + seconds + PATIENCE_S,
        )
        if done.returncode != 0:
            raise Failed(f"ended with {done.returncode}: {_last_line(done.stderr)}")
        outcome = msgspec.json.decode(done.stdout, type=Outcome)
        held = contestant.held(url)
    if held != outcome.acknowledged:
        raise Failed(f"acknowledged {outcome.acknowledged} events and holds {held}")
    if not outcome.commands:
        raise Failed(f"answered nothing in {seconds:g} s")
    return outcome


def _last_line(said: bytes) -> str:
    lines = said.decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "without a word")
