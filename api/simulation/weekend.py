"""A whole weekend: a LARP is made, people arrive, play at tables and deal with each other, and everything ends."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence

import httpx
from msgspec import Struct

from api.simulation.asking import TIMEOUT_S, Client, Pace, Progress, SimulationError, Tally
from api.simulation.deals import Market
from api.simulation.larp import Clock, Larp, names, tavern_of
from api.simulation.tables import Tavern

ACTIONS_AN_HOUR = 4
"""What happens in an hour of the LARP for each character, unless a number of actions is given."""
LATE = 6
"""One in so many characters comes late."""
TABLES_A_MARKET = 4


class Plan(Struct, frozen=True, kw_only=True):
    """What is to be simulated. `larp`: its name, None: after the seed. `rate`: writes a second, None: no limit.

    The seed decides what bots do; the service's dice, and who is faster, it does not.
    """

    seed: int = 1
    larp: str | None = None
    tables: int = 4
    characters: int = 24
    hours: float = 44.0
    actions: int | None = None
    rate: float | None = None

    @property
    def actions_planned(self) -> int:
        return self.actions or max(1, round(self.hours * self.characters * ACTIONS_AN_HOUR))


class Summary(Struct, frozen=True, kw_only=True):
    """What came of it. `tables`: by game and end. `took_s`: of each write, the shortest first."""

    larp: str
    events: int
    recorded: Counter[str]
    refused: Counter[str]
    unavailable: int
    tables: Counter[tuple[str, str]]
    seconds: float
    took_s: Sequence[float]

    def told(self) -> str:
        done = self.recorded.total()
        ended = "\n".join(f"  {game:<16}{count:>6} {how}" for (game, how), count in sorted(self.tables.items()))
        kinds = "\n".join(f"  {kind:<24}{count:>8}" for kind, count in sorted(self.recorded.items()))
        refusals = "\n".join(f"  {code:<24}{count:>8}" for code, count in sorted(self.refused.items()))
        return f"""
A weekend in the LARP {self.larp}: {self.events} events in its journal.
{done} actions recorded in {self.seconds:.1f} s, {done / self.seconds:.0f} a second;\
 {self.refused.total()} refused, {self.unavailable} times the service was away.
A write took {self._took_ms(0.5):.1f} ms (median), {self._took_ms(0.99):.1f} ms (99 %).

Tables
{ended}
Recorded
{kinds}
Refused
{refusals or "  nothing"}"""

    def _took_ms(self, share: float) -> float:
        return 1000 * self.took_s[min(len(self.took_s) - 1, int(share * len(self.took_s)))]


async def simulate(address: str, token: str, plan: Plan, progress: Progress = lambda done, of: None) -> Summary:
    """Play a weekend at the service that answers at `address`. `token`: an admin's, or an organiser's of the LARP.

    Raises SimulationError.
    """
    limits = httpx.Limits(max_connections=None)
    base = f"{address.rstrip('/')}/api/v1"
    async with httpx.AsyncClient(base_url=base, timeout=TIMEOUT_S, limits=limits) as http:
        client = Client(http, Pace(plan.rate), Tally(plan.actions_planned, progress))
        begun = time.perf_counter()
        larp = await _larp(client, http, token, plan)
        taverns = await _play(larp, plan)
        events = int((await client.read(larp.organiser, larp.path))["position"])
    tally = client.tally
    return Summary(
        larp=larp.slug,
        events=events,
        recorded=tally.recorded,
        refused=tally.refused,
        unavailable=tally.unavailable,
        tables=sum((tavern.ended for tavern in taverns), Counter[tuple[str, str]]()),
        seconds=time.perf_counter() - begun,
        took_s=sorted(tally.took_s),
    )


async def _larp(client: Client, http: httpx.AsyncClient, token: str, plan: Plan) -> Larp:
    """An admin's token makes a new LARP and an organiser's token for it; an organiser's has one already."""
    slug = plan.larp or f"weekend-{plan.seed}"
    clock = Clock(client, plan.hours)
    body = {"larp": slug, "name": f"Weekend {plan.seed}", "language": "en"}
    answer = await _founded(http, token, body)
    match answer.status_code:
        case httpx.codes.CREATED:
            client.tally.record("larp")
            larp = Larp(client, slug, token, clock)
            larp.organiser = await larp.token("organiser")
        case httpx.codes.CONFLICT:
            raise SimulationError(f"there is a LARP {slug} already: choose another name with --larp")
        case httpx.codes.FORBIDDEN:
            own = (await client.read(token, "/larps"))["items"]
            larp = Larp(client, own[0]["larp"], token, clock)
        case _:  # whatever else a service may answer, a simulation cannot go on
            raise SimulationError(f"{http.base_url}: {answer.status_code} {answer.text}")
    await larp.prepare()
    return larp


async def _founded(http: httpx.AsyncClient, token: str, body: dict[str, str]) -> httpx.Response:
    try:
        return await http.post("/larps", json=body, headers={"Authorization": f"Bearer {token}"})
    except httpx.TransportError as error:
        raise SimulationError(f"{http.base_url} does not answer: {type(error).__name__} {error}") from None


async def _play(larp: Larp, plan: Plan) -> Sequence[Tavern]:
    characters = names(plan.characters)
    late = characters[: len(characters) // LATE]
    taverns = [
        Tavern(larp, number, tavern_of(number), _minds(plan.seed, "tavern", number)) for number in range(plan.tables)
    ]
    markets = [
        Market(larp, late[number :: _markets(plan)], _minds(plan.seed, "market", number))
        for number in range(_markets(plan))
    ]
    try:
        await larp.arrive(characters[len(late) :])
        larp.client.tally.begin()
        async with asyncio.TaskGroup() as group:
            for tavern in taverns:
                group.create_task(tavern.open_all_weekend())
            for market in markets:
                group.create_task(market.open_all_weekend())
    except BaseExceptionGroup as errors:  # what is not ours is raised again
        ours, others = errors.split(SimulationError)
        if ours is None or others is not None:
            raise
        raise _first(ours) from None
    return taverns


def _markets(plan: Plan) -> int:
    """So that debts keep up with the games."""
    return 1 + plan.tables // TABLES_A_MARKET


def _minds(seed: int, where: str, number: int) -> random.Random:
    return random.Random(f"{seed} {where} {number}")  # noqa: S311  # what people choose is no cryptography


def _first(errors: BaseExceptionGroup[SimulationError]) -> SimulationError:
    inner = errors.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner
