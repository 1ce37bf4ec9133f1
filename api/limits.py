"""How fast one token may ask, and how fast one peer may try tokens: kept in the memory of each process.

Per token and not per address, because a whole tavern sits behind one. A bucket is one number, the time at which it
will be empty again (the generic cell rate algorithm), so a request costs a look into a dict.
Sources: RFC 6585, 4; draft-ietf-httpapi-ratelimit-headers-10; ITU-T I.371, annex A.
"""

import ipaddress
import math
import re
import time
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from api.errors import RateLimited
from ledger.messages import Role

Kind = Literal["reads", "writes"]

BURST_S = 5
"""How long a token that was quiet may ask at any speed before its rate counts."""
LIMITED: frozenset[Role] = frozenset({"banker", "player", "tool"})
"""Roles whose tokens are in many hands, or in other people's programs. Those who run the LARP import and replay."""
GUESSES_PER_S = 20
"""How many tokens that nobody has one peer may try."""
GUESSES_BURST_S = 50
KEPT_MAX = 20_000
"""Buckets, and tokens known to be valid, that are remembered."""

Clock = Callable[[], float]
_RATE = re.compile(r"writes=(\d+),reads=(\d+)")
_ROUNDING_S = 1e-9


class Standing(Struct, frozen=True):
    """Where a token stands. `remaining`: requests that it may send at once. `reset_s`: until its burst is whole."""

    kind: Kind
    rate: int
    remaining: int
    reset_s: int

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """What is told to whoever asks, so that it need not be told off."""
        policy = f'"{self.kind}";q={self.rate * BURST_S};w={BURST_S}'
        standing = f'"{self.kind}";r={self.remaining};t={self.reset_s}'
        return [(b"ratelimit-policy", policy.encode()), (b"ratelimit", standing.encode())]


class Buckets:
    """Buckets of one kind, by whose they are: `rate` a second, and `burst_s` seconds' worth at once."""

    def __init__(self, rate: int, burst_s: float, clock: Clock = time.monotonic) -> None:
        self.rate = rate
        self._burst_s = burst_s
        self._clock = clock
        self._empty_at = dict[bytes, float]()

    def wait_s(self, whose: bytes) -> float:
        """How long until there is room again; 0 if there is."""
        empty_at = self._empty_at.get(whose)
        if empty_at is None:
            return 0.0
        wait_s = empty_at + 1 / self.rate - self._clock() - self._burst_s
        return wait_s if wait_s > _ROUNDING_S else 0.0

    def fill(self, whose: bytes, count: int = 1) -> float:
        """Take room for `count`, even where there is none: what is owed is waited for. Returns the seconds taken."""
        now = self._clock()
        empty_at = max(self._empty_at.pop(whose, now), now) + count / self.rate
        if len(self._empty_at) >= KEPT_MAX:
            self._forget(now)
        self._empty_at[whose] = empty_at
        return empty_at - now

    def remaining(self, taken_s: float) -> int:
        """How many there is room for when so many seconds are taken."""
        return max(0, math.floor((self._burst_s - taken_s + _ROUNDING_S) * self.rate))

    def _forget(self, now: float) -> None:
        """An empty bucket is as good as none. If that makes no room, whoever asked least recently begins anew."""
        self._empty_at = {whose: at for whose, at in self._empty_at.items() if at > now}
        while len(self._empty_at) >= KEPT_MAX:
            del self._empty_at[next(iter(self._empty_at))]


class Limits:
    """The limits of this process. `whose` is always the hash of a token, as `api.tokens` has it."""

    def __init__(self, rate: str, clock: Clock = time.monotonic) -> None:
        """`rate` is the setting: `writes=N,reads=N` a second, or `off` for tokens without limits. Guessing has some."""
        self._buckets = dict[Kind, Buckets]()
        if found := _RATE.fullmatch(rate):
            self._buckets["writes"] = Buckets(int(found[1]), BURST_S, clock)
            self._buckets["reads"] = Buckets(int(found[2]), BURST_S, clock)
        self._guesses = Buckets(GUESSES_PER_S, GUESSES_BURST_S, clock)
        self._known = dict[bytes, None]()

    def require_room(self, whose: bytes, kind: Kind, peer: str) -> None:
        """Before the database is asked for the token. Raises RateLimited.

        Whoever shares an address with somebody who guesses is let in all the same, if it was before.
        """
        if buckets := self._buckets.get(kind):
            if wait_s := buckets.wait_s(whose):
                full = Standing(kind, buckets.rate, 0, math.ceil(wait_s + BURST_S - _ROUNDING_S))
                headers = {name.decode(): value.decode() for name, value in full.headers}
                raise RateLimited(f"this token sends more than {buckets.rate} {kind} a second", wait_s, headers)
        if whose not in self._known and (wait_s := self._guesses.wait_s(_of_peer(peer))):
            raise RateLimited("this address has tried too many tokens that are not valid", wait_s)

    def guessed(self, peer: str) -> None:
        """A token that is not valid was tried."""
        self._guesses.fill(_of_peer(peer))

    def spend(self, whose: bytes, role: Role, kind: Kind, count: int = 1) -> Standing | None:
        """A valid token's request, or so many lines of one, is let in. None: this role is not limited."""
        if whose not in self._known:
            if len(self._known) >= KEPT_MAX:
                del self._known[next(iter(self._known))]
            self._known[whose] = None
        buckets = self._buckets.get(kind) if role in LIMITED else None
        if buckets is None:
            return None
        taken_s = buckets.fill(whose, count)
        return Standing(kind, buckets.rate, buckets.remaining(taken_s), math.ceil(taken_s))

    def wait_s(self, whose: bytes, kind: Kind) -> float:
        """How long the next of it has to wait; 0: not at all."""
        buckets = self._buckets.get(kind)
        return 0.0 if buckets is None else buckets.wait_s(whose)


class Allowance:
    """What one request with a valid token may still ask of its limits."""

    def __init__(self, limits: Limits, whose: bytes, role: Role, kind: Kind) -> None:
        self._limits, self._whose, self._role, self._kind = limits, whose, role, kind
        self.standing = limits.spend(whose, role, kind)

    def take_one_more(self) -> float:
        """One more of what this request holds many of. Returns how long to wait before the next; mostly 0."""
        self.take(1)
        return 0.0 if self.standing is None else self._limits.wait_s(self._whose, self._kind)

    def take(self, count: int) -> None:
        """So many more at once, on credit if there is no room."""
        if self.standing is not None:
            self._limits.spend(self._whose, self._role, self._kind, count)


def _of_peer(peer: str) -> bytes:
    """The address, of IPv6 the /64 that one household or phone has."""
    try:
        packed = ipaddress.ip_address(peer).packed
    except ValueError:  # a socket in the file system, or a test
        return peer.encode()
    return packed if len(packed) == 4 else packed[:8]
