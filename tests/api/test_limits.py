"""How fast tokens may ask: each for itself, those of other people's programs only, and in memory that is bounded."""

import time

import httpx
import pytest
from litestar import Litestar
from msgspec import structs

from api import limits
from api.errors import RateLimited
from api.limits import BURST_S, Buckets, Limits
from ledger.messages import Role
from tests.api.support import NORTH, Api, problem

RATE = "writes=10,reads=20"
NDJSON = {"content-type": "application/x-ndjson"}


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(app: Litestar) -> Clock:
    """The limits of the application go by it, and are low."""
    made = Clock()
    app.state.services = structs.replace(app.state.services, limits=Limits(RATE, made))
    return made


def test_a_bucket_holds_a_burst_and_then_keeps_the_pace() -> None:
    clock = Clock()
    buckets = Buckets(10, 5, clock)
    for _ in range(50):
        assert buckets.wait_s(b"a") == 0
        buckets.fill(b"a")
    assert buckets.wait_s(b"a") == pytest.approx(0.1)
    assert buckets.wait_s(b"b") == 0
    clock.now += 0.1
    assert buckets.wait_s(b"a") == 0
    buckets.fill(b"a", 100)
    assert buckets.wait_s(b"a") == pytest.approx(10), "what was taken on credit is waited for"
    clock.now += 1000
    assert buckets.remaining(buckets.fill(b"a")) == 49, "it never holds more than a burst"


def test_buckets_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "KEPT_MAX", 10)
    clock = Clock()
    buckets = Buckets(1, 5, clock)
    buckets.fill(b"greedy", 100)
    for number in range(5):
        buckets.fill(b"%d" % number)
    clock.now += 2
    for number in range(5, 12):
        buckets.fill(b"%d" % number)
    assert buckets.wait_s(b"greedy") > 0, "empty ones are forgotten first"
    for number in range(100):
        buckets.fill(b"new %d" % number)
    assert len(buckets._empty_at) == 10


@pytest.mark.parametrize("role", ["admin", "organiser", "keeper"])
def test_those_who_run_the_larp_are_not_limited(role: Role) -> None:
    limits = Limits(RATE)
    assert limits.spend(b"a", role, "writes", 1_000_000) is None
    limits.require_room(b"a", "writes", "192.0.2.1")


def test_off_is_off() -> None:
    limits = Limits("off")
    assert limits.spend(b"a", "player", "writes", 1_000_000) is None
    limits.require_room(b"a", "writes", "192.0.2.1")


def test_it_costs_microseconds() -> None:
    limits = Limits("writes=1000000,reads=1000000")
    begun = time.perf_counter()
    for _ in range(10_000):
        limits.require_room(b"a", "reads", "192.0.2.1")
        limits.spend(b"a", "player", "reads")
    assert (time.perf_counter() - begun) / 10_000 < 100e-6, "a few; many more only on a machine that is busy"


async def test_a_token_that_asks_too_fast_is_told_when_to_ask_again(api: Api, clock: Clock) -> None:
    path = f"{NORTH}/purses/alva"
    for left in range(20 * BURST_S - 1, -1, -1):
        answer = await api.call("GET", path, "alva")
        assert answer.is_success
        assert answer.headers["ratelimit-policy"] == '"reads";q=100;w=5'
        assert answer.headers["ratelimit"].startswith(f'"reads";r={left};t=')
    answer = await api.call("GET", path, "alva")
    assert problem(answer) == (429, "rate_limited")
    assert answer.headers["retry-after"] == "1"
    assert answer.headers["ratelimit"] == '"reads";r=0;t=6'
    assert (await api.call("GET", f"{NORTH}/purses/berit", "berit")).is_success, "each token for itself"
    assert (await api.call("GET", path, "organiser")).is_success
    body = {"from": "alva", "to": "berit", "asset": "krona", "amount": 1}
    assert (await api.call("POST", f"{NORTH}/transfers", "alva", body)).is_success, "writes have a bucket of their own"
    clock.now += 0.05
    assert (await api.call("GET", path, "alva")).is_success
    assert problem(await api.call("GET", path, "alva")) == (429, "rate_limited")


async def test_a_write_that_is_too_fast_records_nothing(api: Api, clock: Clock) -> None:
    body = {"from": "alva", "to": "berit", "asset": "krona", "amount": 51}  # more than there is
    for _ in range(10 * BURST_S):
        assert problem(await api.call("POST", f"{NORTH}/transfers", "alva", body)) == (409, "insufficient_funds")
    head = await api.head()
    for answer in (
        await api.call("POST", f"{NORTH}/transfers", "alva", body | {"amount": 1}),
        await api.call("POST", f"{NORTH}/transfers", "alva", {"broken": True}),
        await api.call("POST", f"{NORTH}/grants", "alva", {}),
    ):
        assert problem(answer) == (429, "rate_limited"), "before 403 and 400"
    assert await api.head() == head


async def test_the_lines_of_a_batch_count(api: Api, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream is slowed down, and never refused; what is carried out at once is paid for afterwards."""
    waits = list[float]()

    async def waited(seconds: float) -> None:
        waits.append(seconds)
        clock.now += seconds

    monkeypatch.setattr("api.bulk.asyncio.sleep", waited)
    line = b'{"command":"transfer","from":"alva","to":"berit","asset":"krona","amount":999}\n'
    answer = await api.call("POST", f"{NORTH}/commands", "alva", content=line * 70, headers=NDJSON)
    assert len(answer.content.splitlines()) == 70
    assert sum(waits) == pytest.approx(2.2), "71 and room for the next, at 10 a second after 50"
    clock.now += BURST_S
    answer = await api.call("POST", f"{NORTH}/commands?atomic=true", "alva", content=line * 70, headers=NDJSON)
    assert answer.is_success
    answer = await api.call("POST", f"{NORTH}/transfers", "alva", {})
    assert (problem(answer), answer.headers["retry-after"]) == ((429, "rate_limited"), "3")


async def test_whoever_guesses_tokens_is_stopped_before_the_database(
    api: Api, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And whoever shares its address with one goes on, with a token that was valid before."""
    monkeypatch.setattr(app_limits(api), "_guesses", Buckets(1, 3, clock))
    assert (await api.call("GET", NORTH, "alva")).is_success
    for number in range(3):
        api.tokens["guess"] = f"skb_{number}"
        assert problem(await api.call("GET", NORTH, "guess")) == (401, "unauthenticated")
    api.tokens["guess"] = "skb_3"
    assert problem(await api.call("GET", NORTH, "guess")) == (429, "rate_limited")
    assert problem(await api.call("GET", NORTH, "berit")) == (429, "rate_limited"), "nobody knows it yet"
    assert problem(await api.call("GET", NORTH, None)) == (401, "unauthenticated"), "that is no guess"
    assert (await api.call("GET", NORTH, "alva")).is_success
    clock.now += 1
    assert (await api.call("GET", NORTH, "berit")).is_success


def app_limits(api: Api) -> Limits:
    transport = api.client._transport
    assert isinstance(transport, httpx.ASGITransport)
    found: Limits = transport.app.state.services.limits  # type: ignore[attr-defined]
    return found


def test_a_peer_of_ipv6_is_its_network() -> None:
    limits = Limits("off", Clock())
    for number in range(2000):
        limits.guessed(f"2001:db8::{number:x}")
    with pytest.raises(RateLimited):
        limits.require_room(b"x", "reads", "2001:db8::ffff:1")
    limits.require_room(b"x", "reads", "2001:db8:0:1::1")
