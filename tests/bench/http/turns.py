"""Ours and the bare one, measured in turns."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from msgspec import Struct

from tests.bench.http.load import Outcome, Plan
from tests.bench.http.processes import Server, loaded
from tests.bench.options import Options
from tests.bench.place import Place

PART = "http"
BARE = "bare Litestar"
CONNECTIONS = 64


class Run(Struct, frozen=True):
    """One measurement. `cpu_us`: what the server used for each request, in user mode and in the kernel."""

    outcome: Outcome
    cpu_us: float


class Both(Struct, frozen=True):
    """What was measured in turns."""

    ours: Sequence[Run]
    theirs: Sequence[Run]

    @property
    def our_rates(self) -> Sequence[float]:
        return [run.outcome.per_s for run in self.ours]

    @property
    def their_rates(self) -> Sequence[float]:
        return [run.outcome.per_s for run in self.theirs]

    @property
    def detail(self) -> Mapping[str, Any]:
        return {"our_runs": self.ours, "their_runs": self.theirs}

    @property
    def told(self) -> str:
        """For whoever waits."""
        our, their = median(self.our_rates), median(self.their_rates)
        cpu = [median(run.cpu_us for run in runs) for runs in (self.ours, self.theirs)]
        return f"{our:,.0f} a second beside {their:,.0f}, {cpu[0]:.0f} us of CPU each beside {cpu[1]:.0f}"


def in_turns(
    place: Place,
    ours: Server,
    bare: Server,
    our_plan: Callable[[Server, int], Plan],
    their_plan: Callable[[Server, int], Plan],
    options: Options,
) -> Both:
    """Each of the runs once with ours and once with the bare one, every second time in the other order."""
    runs: Mapping[bool, list[Run]] = {True: [], False: []}
    for run in range(options.runs):
        for is_ours in (True, False) if run % 2 == 0 else (False, True):
            place.settle()
            server, plan = (ours, our_plan) if is_ours else (bare, their_plan)
            runs[is_ours].append(run_of(server, plan(server, run)))
    return Both(runs[True], runs[False])


def run_of(server: Server, plan: Plan) -> Run:
    """Carry a plan out, and see what the server uses for it."""
    before_s = server.cpu_s
    outcome = loaded(plan)
    return Run(outcome, 1_000_000 * (server.cpu_s - before_s) / outcome.answered)
