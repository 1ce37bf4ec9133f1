"""What is asked of a long journal over HTTP: the first request after a start, and reads beside those of a short one.

One service has both LARPs in one database, whose statistics know the long one alone, as they would for months: a table
is analysed again when a tenth of it is new. Requests come one after the other over one connection; the two LARPs are
asked in turn, for the same things, of all purses in the same order by chance.
"""

import http.client
import json
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from statistics import median
from urllib.parse import urlsplit

from tests.bench.measured import Line
from tests.bench.options import Options, progress
from tests.bench.scale import commands, journal
from tests.bench.scale.larps import Larp
from tests.bench.scale.lines import at_most, below

READS = 200
"""Of each kind and LARP, in a run."""
PAGE = 20
"""Movements of a statement's page; a purse in the short LARP has about 36."""
WARMING = 20
TAIL = 1_900
"""Events behind the newest kept Book, nearly as many as there can be: a start folds them again."""
FIRST_S = 1.0
TIMES = 1.1

_KINDS = {
    "purse": "",
    "purse as of the middle": "?at_position={middle}",
    f"page of a statement, {PAGE} movements": f"/statement?limit={PAGE}",
}


class _Client:
    """One connection that is kept, as one LARP's organiser."""

    def __init__(self, address: str, larp: Larp, token: str) -> None:
        self._connection = http.client.HTTPConnection(str(urlsplit(address).netloc), timeout=60)
        self._base = f"/api/v1/larps/{larp.slug}"
        self._headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str) -> float:
        """Seconds from sending to the whole answer."""
        return self._request("GET", path, None, "application/json")

    def post(self, path: str, body: str, media_type: str = "application/json") -> float:
        return self._request("POST", path, body, media_type)

    def _request(self, method: str, path: str, body: str | None, media_type: str) -> float:
        begun = time.perf_counter()
        self._connection.request(method, self._base + path, body, self._headers | {"Content-Type": media_type})
        answer = self._connection.getresponse()
        content = answer.read()
        seconds = time.perf_counter() - begun
        if answer.status >= 300:
            raise AssertionError(f"{method} {path} was answered with {answer.status}: {content[:500]!r}")
        return seconds

    def close(self) -> None:
        self._connection.close()


def first_requests(larp: Larp, options: Options) -> Sequence[Line]:
    """The first request that a service answers after its start, a read and a write, each after a start of its own."""
    token = _token(larp, larp)
    transfer = {"from": journal.names()[1], "to": journal.names()[2], "asset": journal.ASSET, "amount": 1}
    with commands.serving(larp.environ) as address, closing(_Client(address, larp, token)) as client:
        line = json.dumps({"command": "transfer"} | transfer)
        client.post("/commands", f"{line}\n" * TAIL, "application/x-ndjson")
    taken: dict[str, list[float]] = {"GET of a purse": [], "POST of a transfer": []}
    for run in range(options.runs):
        for work, seconds in taken.items():
            progress(f"scale: {larp.words}, first {work}, run {run + 1} of {options.runs}")
            with commands.serving(larp.environ) as address, closing(_Client(address, larp, token)) as client:
                is_read = work.startswith("GET")
                seconds.append(client.get("/purses/c1") if is_read else client.post("/transfers", json.dumps(transfer)))
    detail = {"events_behind_the_kept_book": TAIL}
    return [
        below(f"first {work} after a start, {larp.words}", seconds, FIRST_S, detail) for work, seconds in taken.items()
    ]


def reads(large: Larp, small: Larp, options: Options) -> Sequence[Line]:
    """The same reads of a long LARP and of a short one, which is imported beside it."""
    commands.run(large.environ, "import", str(small.file))
    tokens = {larp.slug: _token(large, larp) for larp in (large, small)}
    with (
        commands.serving(large.environ) as address,
        closing(_Client(address, large, tokens[large.slug])) as of_large,
        closing(_Client(address, small, tokens[small.slug])) as of_small,
    ):
        clients = ((large, of_large), (small, of_small))
        return [_compared(kind, query, clients, options) for kind, query in _KINDS.items()]


def _compared(kind: str, query: str, clients: Sequence[tuple[Larp, _Client]], options: Options) -> Line:
    (large, _), (small, _) = clients
    progress(f"scale: {kind}, {large.words} and {small.words}")
    chance = random.Random(kind)
    milliseconds: Mapping[int, list[float]] = {large.events: [], small.events: []}
    medians: Mapping[int, list[float]] = {large.events: [], small.events: []}
    for run in range(-1, options.runs):  # the first to warm up
        for each in milliseconds.values():
            each.clear()
        for turn in range(READS if run >= 0 else WARMING):
            purse = f"/purses/{chance.choice(journal.names())}"
            for larp, client in clients if turn % 2 else reversed(clients):
                path = purse + query.format(middle=larp.events // 2)
                milliseconds[larp.events].append(client.get(path) * 1000)
        if run >= 0:
            for events, each in milliseconds.items():
                medians[events].append(median(each))
    return at_most(
        f"{kind} over HTTP, {large.words}",
        medians[large.events],
        medians[small.events],
        beside=small.words,
        times=TIMES,
        unit="ms",
        alike=True,
        detail={"requests_a_run": READS},
    )


def _token(where: Larp, larp: Larp) -> str:
    return commands.run(where.environ, "token", "create", "--larp", larp.slug, "--role", "organiser").strip()
