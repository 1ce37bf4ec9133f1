"""A purse, a purse as of a position and a page of a statement, beside handlers that run the same one query."""

from collections.abc import Callable, Sequence

from tests.bench.http.load import Gets, Plan
from tests.bench.http.processes import Server, asking
from tests.bench.http.turns import BARE, CONNECTIONS, PART, in_turns
from tests.bench.http.world import CHARACTERS, World
from tests.bench.measured import Line, rated
from tests.bench.options import Options, progress
from tests.bench.place import Place

RATIO_MIN = 0.8


def measured(place: Place, ours: Server, bare: Server, world: World, options: Options) -> Sequence[Line]:
    """The past that is asked for is half of the journal."""
    with asking(ours, world.organiser) as client:
        then = client.get(world.below).raise_for_status().json()["position"] // 2
    kinds: Sequence[tuple[str, str, str]] = (
        ("balances of a purse", "", ""),
        ("the same as of a position", f"?at_position={then}", f"/then?at_position={then}"),
        ("the newest page of a statement", "/statement", "/statement"),
    )
    return [_beside(place, ours, bare, world, options, *kind) for kind in kinds]


def _beside(
    place: Place, ours: Server, bare: Server, world: World, options: Options, work: str, asked: str, of_bare: str
) -> Line:
    _require_the_same(ours, bare, world, asked, of_bare)
    both = in_turns(place, ours, bare, _plans(world, options, asked), _plans(world, options, of_bare), options)
    progress(f"http: {work}: {both.told}")
    return rated(
        PART,
        f"{work}, {CONNECTIONS} connections",
        both.our_rates,
        both.their_rates,
        beside=f"{BARE}, the same one query",
        at_least=RATIO_MIN,
        detail=both.detail,
    )


def _plans(world: World, options: Options, asked: str) -> Callable[[Server, int], Plan]:
    work = Gets(paths=[f"{world.path}/purses/{name}{asked}" for name in CHARACTERS], token=world.organiser)

    def plan(server: Server, run: int) -> Plan:
        return Plan(port=server.port, work=work, expected=200, connections=CONNECTIONS, seconds=options.seconds)

    return plan


def _require_the_same(ours: Server, bare: Server, world: World, asked: str, of_bare: str) -> None:
    """Raises RuntimeError unless both answer the same bytes."""
    answers = []
    for server, what in ((ours, asked), (bare, of_bare)):
        with asking(server, world.organiser) as client:
            answers.append(client.get(f"{world.below}/purses/{CHARACTERS[7]}{what}").raise_for_status().content)
    if answers[0] != answers[1]:
        raise RuntimeError(f"the bare handler answers something else: {answers[1][:200]!r}, not {answers[0][:200]!r}")
