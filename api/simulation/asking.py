"""How bots ask: over HTTP, each with a token of its own, no faster than they are told to, and everything counted."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from api.simulation.players import Json
from ledger.errors import SkuggbokError

RETRY_S = 1.0
"""How long to wait after a 503 or 429 that does not say."""
TIMEOUT_S = 60.0

Progress = Callable[[int, int], None]


class SimulationError(SkuggbokError):
    """The simulation cannot go on; the message says what the service answered."""


class Pace:
    """At most so many writes a second, evenly; None: as fast as it goes."""

    def __init__(self, rate: float | None) -> None:
        self._gap_s = 1 / rate if rate else 0.0
        self._next = 0.0

    async def turn(self) -> None:
        """Wait until the next write may begin."""
        if not self._gap_s:
            return
        now = time.monotonic()
        begin = max(self._next, now)
        self._next = begin + self._gap_s
        await asyncio.sleep(begin - now)


class Tally:
    """What came of all writes: how many of each kind were recorded, what was refused, and how long each took.

    `actions` of them are a weekend; what was recorded before it began does not count.
    """

    def __init__(self, actions: int, progress: Progress) -> None:
        self.actions = actions
        self.recorded: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.unavailable = 0
        self.took_s: list[float] = []
        self._before: int | None = None
        self._progress = progress

    def begin(self) -> None:
        """Everybody has arrived."""
        self._before = self.recorded.total()

    @property
    def done(self) -> int:
        return 0 if self._before is None else self.recorded.total() - self._before

    @property
    def is_over(self) -> bool:
        """The weekend is: nothing new is begun any more."""
        return self.done >= self.actions

    def record(self, kind: str) -> None:
        self.recorded[kind] += 1
        if self._before is not None:
            self._progress(min(self.done, self.actions), self.actions)


class Client:
    """The service, as those who play see it."""

    def __init__(self, http: httpx.AsyncClient, pace: Pace, tally: Tally) -> None:
        self._http = http
        self._pace = pace
        self.tally = tally

    async def write(
        self, token: str, path: str, body: Mapping[str, Any], kind: str, *, method: str = "POST"
    ) -> Json | None:
        """The receipt; None if rules or state forbid it (409), or if the service could not say.

        Raises SimulationError for any other answer: bots send nothing that is malformed or not theirs to do.
        """
        await self._pace.turn()
        begun = time.perf_counter()
        answer = await self._ask(method, path, token, body)
        self.tally.took_s.append(time.perf_counter() - begun)
        if answer.status_code == httpx.codes.CREATED:
            self.tally.record(kind)
            return _object(answer)
        if answer.status_code == httpx.codes.CONFLICT:
            self.tally.refused[_object(answer)["code"]] += 1
            return None
        await self._wait_or_raise(answer)
        return None

    async def read(self, token: str, path: str) -> Json:
        """Asks again until the service answers. Raises SimulationError."""
        while True:
            answer = await self._ask("GET", path, token)
            if answer.status_code == httpx.codes.OK:
                return _object(answer)
            await self._wait_or_raise(answer)

    async def _ask(self, method: str, path: str, token: str, body: Mapping[str, Any] | None = None) -> httpx.Response:
        try:
            return await self._http.request(method, path, json=body, headers={"Authorization": f"Bearer {token}"})
        except httpx.TransportError as error:
            raise SimulationError(f"{self._http.base_url} does not answer: {type(error).__name__} {error}") from None

    async def _wait_or_raise(self, answer: httpx.Response) -> None:
        if answer.status_code not in (httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.TOO_MANY_REQUESTS):
            request = answer.request
            raise SimulationError(f"{request.method} {request.url.path}: {answer.status_code} {answer.text}")
        self.tally.unavailable += 1
        await asyncio.sleep(float(answer.headers.get("retry-after", RETRY_S)))


def _object(answer: httpx.Response) -> Json:
    found: Json = answer.json()
    return found
