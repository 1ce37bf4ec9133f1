"""Requests over HTTP on loopback, from a process of their own: as fast as they are answered, or at a given rate.

usage: python -P load.py < PLAN > OUTCOME        (both JSON: `Plan` and `Outcome`)

It is to cost little beside what it measures, so each connection is a bare protocol: the bytes of the next request are
written when the last answer is complete, and of an answer only its end and its status are looked at.
With a rate, a request counts from when it was due, whether or not a connection was free: who waits is measured too.
"""

import asyncio
import gc
import itertools
import sys
import time
from array import array
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Literal, cast

import msgspec
import uvloop
from httptools import HttpResponseParser
from msgspec import Struct

WARM_S = 0.5
"""How long requests go before they count."""
LATE_S = 5.0
"""How long unanswered ones are waited for at the end."""
TICK_S = 0.001
"""How often it is looked which requests are due; the loop would spin on anything shorter."""
_HEAD = b"Host: 127.0.0.1\r\nUser-Agent: bench\r\nAccept: application/json\r\nAuthorization: Bearer %b\r\n"


class Transfers(Struct, frozen=True, kw_only=True, tag=True):
    """Transfers of 1 to 5 krona round a circle of characters, so that none runs out. `keyed`: with Idempotency-Key."""

    path: str
    token: str
    characters: Sequence[str]
    keyed: bool
    run: str
    """What makes the keys of this run new ones."""

    def requests(self) -> Iterator[bytes]:
        """Without an end."""
        head = b"POST %b HTTP/1.1\r\n" % self.path.encode() + _HEAD % self.token.encode()
        head += b"Content-Type: application/json\r\n"
        count = len(self.characters)
        for number in itertools.count():
            body = b'{"from":"%b","to":"%b","asset":"krona","amount":%d,"memo":"round %d"}' % (
                self.characters[number % count].encode(),
                self.characters[(number + 1) % count].encode(),
                1 + number // count % 5,
                number,
            )
            key = b"Idempotency-Key: %b-%d\r\n" % (self.run.encode(), number) if self.keyed else b""
            yield head + b"%bContent-Length: %d\r\n\r\n%b" % (key, len(body), body)


class Gets(Struct, frozen=True, kw_only=True, tag=True):
    """GETs of some paths in turn."""

    paths: Sequence[str]
    token: str

    def requests(self) -> Iterator[bytes]:
        """Without an end."""
        head = _HEAD % self.token.encode()
        return itertools.cycle([b"GET %b HTTP/1.1\r\n%b\r\n" % (path.encode(), head) for path in self.paths])


class Plan(Struct, frozen=True, kw_only=True):
    """What is sent. `rate` None: each connection sends its next request as soon as it has an answer."""

    port: int
    work: Transfers | Gets
    expected: int
    """The status of every answer."""
    connections: int = 64
    seconds: float = 2.0
    rate: float | None = None


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of it. Percentiles in milliseconds; `answered`: with the time to warm up, as `cpu_s` is."""

    per_s: float
    p50: float
    p90: float
    p99: float
    worst: float
    answered: int
    cpu_s: float
    seconds: float
    faults: dict[str, int]
    """Answers of another status, lost connections and requests without an answer."""


Fault = int | Literal["lost", "unanswered"]


class Load:
    """One run of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.requests = plan.work.requests()
        self.latencies_s = array("d")
        self.faults: Counter[Fault] = Counter()
        self.answered = 0
        self.over = asyncio.Event()
        self.is_over = False
        self.counts_from = self.counts_until = 0.0
        self.due: deque[float] = deque()
        """When requests were due that no connection was free for."""
        self.idle: list[Connection] = []
        self.busy = 0

    async def run(self) -> Outcome:
        loop = asyncio.get_running_loop()
        opened = [
            loop.create_connection(lambda: Connection(self), "127.0.0.1", self.plan.port)
            for _ in range(self.plan.connections)
        ]
        connections = [protocol for _, protocol in await asyncio.gather(*opened)]
        cpu_s, begun = time.process_time(), time.perf_counter()
        self.counts_from = begun + WARM_S
        self.counts_until = self.counts_from + self.plan.seconds
        if self.plan.rate is None:
            for connection in connections:
                connection.ask(time.perf_counter())
        else:
            self.idle.extend(connections)
            await self._send_at(self.plan.rate, begun)
        await asyncio.sleep(self.counts_until - time.perf_counter())
        self.is_over = True
        if self.busy or self.due:
            try:
                await asyncio.wait_for(self.over.wait(), LATE_S)
            except TimeoutError:
                self.faults["unanswered"] += self.busy + len(self.due)
        outcome = self._outcome(time.perf_counter() - begun, time.process_time() - cpu_s)
        for connection in connections:
            connection.close()
        return outcome

    async def _send_at(self, rate: float, begun: float) -> None:
        """Let requests become due, one each 1 / `rate` seconds, until the end."""
        sent = 0
        while (now := time.perf_counter()) < self.counts_until:
            while (due := begun + sent / rate) <= now:
                sent += 1
                if self.idle:
                    self.idle.pop().ask(due)
                else:
                    self.due.append(due)
            await asyncio.sleep(TICK_S)

    def on_answer(self, connection: "Connection", status: int, due: float) -> None:
        """Count it, and send the next. A request counts by when it was due: a late one of the end still does."""
        now = time.perf_counter()
        self.answered += 1
        if status != self.plan.expected:
            self.faults[status] += 1
        counted = due if self.plan.rate is not None else now
        if self.counts_from <= counted < self.counts_until:
            self.latencies_s.append(now - due)
        if self.due:
            connection.ask(self.due.popleft())
        elif self.plan.rate is not None:
            self.idle.append(connection)
        elif not self.is_over:
            connection.ask(now)
        if self.is_over and not self.busy and not self.due:
            self.over.set()

    def _outcome(self, seconds: float, cpu_s: float) -> Outcome:
        ordered = [1000 * latency_s for latency_s in sorted(self.latencies_s)] or [float("nan")]

        def percentile(share: float) -> float:
            return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)

        return Outcome(
            per_s=len(self.latencies_s) / self.plan.seconds,
            p50=percentile(0.5),
            p90=percentile(0.9),
            p99=percentile(0.99),
            worst=percentile(1.0),
            answered=self.answered,
            cpu_s=cpu_s,
            seconds=seconds,
            faults={str(fault): count for fault, count in self.faults.items()},
        )


class Connection(asyncio.Protocol):
    """One connection, with one request under way at most."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._due: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def ask(self, due: float) -> None:
        """Send the next request."""
        assert self._transport is not None, "connected"
        self._due = due
        self._load.busy += 1
        self._transport.write(next(self._load.requests))

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        """The parser calls this."""
        assert self._due is not None, "nobody answers unasked"
        due, self._due = self._due, None
        self._load.busy -= 1
        self._load.on_answer(self, self._parser.get_status_code(), due)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._due is not None:
            self._load.busy -= 1
            self._load.faults["lost"] += 1

    def close(self) -> None:
        """Nothing is asked here any more."""
        self._due = None
        if self._transport is not None:
            self._transport.close()


async def _carried_out(plan: Plan) -> Outcome:
    return await Load(plan).run()


def main() -> None:
    gc.disable()
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        outcome = runner.run(_carried_out(plan))
    sys.stdout.buffer.write(msgspec.json.encode(outcome))


if __name__ == "__main__":
    main()
