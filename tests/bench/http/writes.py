"""Single transfers over HTTP, each durable before it is answered, beside a handler that only decodes and encodes."""

from collections.abc import Sequence
from statistics import median

from msgspec import structs

from tests.bench.http.load import Outcome, Plan, Transfers
from tests.bench.http.processes import Server, loaded
from tests.bench.http.turns import BARE, CONNECTIONS, PART, Both, in_turns
from tests.bench.http.world import CHARACTERS, World
from tests.bench.measured import Line, rated
from tests.bench.options import Options, progress
from tests.bench.place import Place

RATIO_MIN = 0.5
SHARE = 0.8
P99_MS_MAX = 25.0


def measured(place: Place, ours: Server, bare: Server, world: World, options: Options) -> Sequence[Line]:
    """With a key, as the guide tells every client to send one; the latency below that load; without a key."""
    keyed = _beside(place, ours, bare, world, options, keyed=True)
    plain = _beside(place, ours, bare, world, options, keyed=False)
    return [
        _rated("transfers, an Idempotency-Key each", keyed, at_least=RATIO_MIN),
        _latency(place, ours, world, options),
        _rated("transfers, no keys", plain, at_least=RATIO_MIN),
    ]


def as_it_comes(place: Place, ours: Server, bare: Server, world: World, options: Options) -> Sequence[Line]:
    """With a line in the log for each request, and limits: for information."""
    both = _beside(place, ours, bare, world, options, keyed=True)
    line = _rated("transfers, an Idempotency-Key each, a log line each", both, at_least=0)
    return [structs.replace(line, aim="", met=None)]


def _beside(place: Place, ours: Server, bare: Server, world: World, options: Options, *, keyed: bool) -> Both:
    def plan(server: Server, run: int) -> Plan:
        return _plan(server, world, options, keyed=keyed, run=f"{'keyed' if keyed else 'plain'}{run}")

    return in_turns(place, ours, bare, plan, plan, options)


def _plan(server: Server, world: World, options: Options, *, keyed: bool, run: str, rate: float | None = None) -> Plan:
    work = Transfers(path=f"{world.path}/transfers", token=world.organiser, characters=CHARACTERS, keyed=keyed, run=run)
    return Plan(port=server.port, work=work, expected=201, connections=CONNECTIONS, seconds=options.seconds, rate=rate)


def _rated(work: str, both: Both, *, at_least: float) -> Line:
    progress(f"http: {work}: {both.told}")
    return rated(
        PART,
        f"{work}, {CONNECTIONS} connections",
        both.our_rates,
        both.their_rates,
        beside=BARE,
        at_least=at_least,
        detail=both.detail,
    )


def _latency(place: Place, ours: Server, world: World, options: Options) -> Line:
    """What the service can do is measured anew each time, just before: a machine is not always as fast."""
    outcomes, rates = list[Outcome](), list[float]()
    for run in range(options.runs):
        place.settle()
        most = loaded(_plan(ours, world, options, keyed=True, run=f"most{run}")).per_s
        rates.append(SHARE * most)
        outcomes.append(loaded(_plan(ours, world, options, keyed=True, run=f"open{run}", rate=rates[-1])))
        progress(f"http: transfers at {rates[-1]:,.0f} a second of {most:,.0f}: p99 {outcomes[-1].p99:.1f} ms")
    p99 = median(outcome.p99 for outcome in outcomes)
    return Line(
        part=PART,
        work=f"p99 of such transfers at {SHARE:.0%} of that rate, from when each was due",
        ours=p99,
        unit="ms",
        aim=f"below {P99_MS_MAX:g} ms",
        met=p99 < P99_MS_MAX,
        detail={"rates": rates, "ours": outcomes},
    )
