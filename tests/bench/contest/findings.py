"""What the contest showed, as lines and curves."""

from collections.abc import Mapping, Sequence
from statistics import median

import msgspec

from tests.bench.contest.contestants import LIMIT, OURS, SKUGGKAST, UNORDERED
from tests.bench.contest.rounds import BATCHED, CALLERS, CALLERS_CHARTED, SKUGGKAST_TASK, Rounds, Task
from tests.bench.measured import Curve, Line, Told, rated
from tests.bench.report import FAULTLESS

PART = "contest"
AIMS: Mapping[int, float] = {1: 1.0, 16: 1.5, 64: 2.0, 1024: 3.0}
"""By callers: how many times the best peer's rate."""
AIM_LIMIT = 0.4
AIM_SKUGGKAST = 0.7


def told(rounds: Rounds) -> Told:
    aims = [*_against_the_best(rounds), *_against_the_limit(rounds), *_skuggkast(rounds)]
    return Told(lines=[*aims, *_others(rounds), *_absent(rounds)], curves=_curves(rounds))


def _against_the_best(rounds: Rounds) -> Sequence[Line]:
    lines = list[Line]()
    for callers, at_least in AIMS.items():
        task = Task(callers)
        if best := rounds.best_peer(task):
            lines.append(
                rated(
                    PART,
                    f"transfers, {task}",
                    rounds.rates(OURS, task),
                    rounds.rates(best, task),
                    beside=f"{best}, the best peer",
                    at_least=at_least,
                    detail=_detail(rounds, task, rounds.peers()),
                )
            )
    return lines


def _against_the_limit(rounds: Rounds) -> Sequence[Line]:
    task = Task(1)
    if not rounds.has(LIMIT, task):
        return []
    ours, theirs = rounds.rates(OURS, task), rounds.rates(LIMIT, task)
    detail = _detail(rounds, task, [LIMIT])
    return [rated(PART, f"transfers, {task}", ours, theirs, beside=LIMIT, at_least=AIM_LIMIT, detail=detail)]


def _skuggkast(rounds: Rounds) -> Sequence[Line]:
    task = SKUGGKAST_TASK
    if not rounds.has(SKUGGKAST, task):
        return []
    work = f"Skuggkast actions, {task}, 200 tables"
    ours, theirs = rounds.rates(SKUGGKAST, task), rounds.rates(OURS, task)
    detail = _detail(rounds, task, [SKUGGKAST])
    return [rated(PART, work, ours, theirs, beside="our transfers", at_least=AIM_SKUGGKAST, detail=detail)]


def _others(rounds: Rounds) -> Sequence[Line]:
    """Everybody's rates, batches, and how long one append takes: to be read, not to be met."""
    lines = list[Line]()
    for task in (*map(Task, CALLERS), BATCHED):
        lines += [_plain(rounds, task, name) for name in (*rounds.peers(), UNORDERED, LIMIT) if rounds.has(name, task)]
    for task in map(Task, CALLERS):
        if best := rounds.best_peer(task):
            lines += [_latency(rounds, task, best, field) for field in ("p50_ms", "p99_ms")]
    return lines


def _plain(rounds: Rounds, task: Task, name: str) -> Line:
    ours, theirs = median(rounds.rates(OURS, task)), median(rounds.rates(name, task))
    return Line(
        part=PART,
        work=f"transfers, {task}",
        ours=ours,
        unit="per s",
        beside=name,
        theirs=theirs,
        ratio=ours / theirs,
        detail=_detail(rounds, task, [name]),
    )


def _latency(rounds: Rounds, task: Task, name: str, field: str) -> Line:
    ours, theirs = (median(getattr(one, field) for one in rounds.outcomes[who][task]) for who in (OURS, name))
    work = f"{field.removesuffix('_ms')} of a transfer, {task}"
    return Line(part=PART, work=work, ours=ours, unit="ms", beside=name, theirs=theirs)


def _absent(rounds: Rounds) -> Sequence[Line]:
    """Who was not measured, and why. A failure is a line that is not met."""
    ours = median(rounds.rates(OURS, Task(1)))
    work = f"transfers, {Task(1)}"
    missing = [
        Line(part=PART, work=work, ours=ours, unit="per s", beside=f"{name}: not measured: {why}")
        for name, why in rounds.missing.items()
    ]
    return missing + [
        Line(
            part=PART,
            work=work,
            ours=ours,
            unit="per s",
            beside=f"{name}: failed: {why}",
            aim=FAULTLESS,
            met=False,
        )
        for name, why in rounds.failed.items()
    ]


def _curves(rounds: Rounds) -> Sequence[Curve]:
    """Ours first, then the limit, then whoever is the best peer somewhere."""
    tasks = [Task(callers) for callers in sorted((*CALLERS, *CALLERS_CHARTED))]
    rates = {
        name: [(task.callers, median(rounds.rates(name, task))) for task in tasks if rounds.has(name, task)]
        for name in (OURS, LIMIT, *rounds.best_peers())
    }
    costs = {name: [(callers, 1e6 / rate) for callers, rate in points] for name, points in rates.items()}
    return [
        Curve(
            name="cost-over-callers",
            title="What one durable command costs",
            x="callers",
            y="microseconds a command",
            points=costs,
        ),
        Curve(name="rate-over-callers", title="Durable commands", x="callers", y="commands a second", points=rates),
    ]


def _detail(rounds: Rounds, task: Task, names: Sequence[str]) -> Mapping[str, object]:
    """All that was seen of these and of us, run for run."""
    seen = {name: msgspec.to_builtins(rounds.outcomes[name][task]) for name in dict.fromkeys((OURS, *names))}
    return {"callers": task.callers, "batch": task.batch, "outcomes": seen}
