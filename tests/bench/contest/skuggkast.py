"""Skuggbok: Skuggkast at 200 tables through the same writer; a command is an action at a table.

The service rolls. Bots know what is next from the table in the last receipt and do it: whoever is out of contention
buys in again, the cup is rolled, half of all claims are Skuggkasts, and every third or so is challenged. Their own
cost is a look into that table and a draw, a few microseconds; the bytes of all actions are made beforehand. Tables
that are over are opened anew: that takes its time, and is not counted.
"""

import random
import time
from collections import deque
from collections.abc import Sequence

import msgspec

from ledger.book import ActRequest, Applied
from ledger.database import Database
from ledger.games.skuggkast.messages import OpenSkuggkast, Rules
from ledger.games.skuggkast.state import State
from ledger.games.table import Sum
from ledger.journal import Journals
from ledger.writer import Writers
from projections.runner import PROJECTIONS
from tests.bench.contest.driving import Clock, Config, Outcome, call, told_async
from tests.bench.contest.payloads import ACCOUNTS, ACTOR, ASSET, LARP
from tests.bench.contest.skuggbok import found

TABLES = 200
SEED = 11
"""Decides who sits where and what bots say; the service's dice have their own mind."""
CASTS = (("sun", 1), ("star", 2), ("star", 4), ("moon", 6), ("star", 5), ("crown", 3))


class Bots:
    """What comes next at each table."""

    def __init__(self) -> None:
        self._rng = random.Random(SEED)
        self._seats = [ACCOUNTS[at : at + 4 - at // 4 % 2] for at in range(0, len(ACCOUNTS) - 4, 4)]
        self._claims = {seat: [_claim(seat, symbol, number) for symbol, number in CASTS] for seat in ACCOUNTS}
        self._bodies = {
            (seat, action): msgspec.json.encode({"action": action, "seat": seat})
            for seat in ACCOUNTS
            for action in ("roll", "believe", "challenge", "rebuy")
        }
        self._opened = 0

    def opening(self) -> OpenSkuggkast:
        """The next table, of three or four seats."""
        seats = self._seats[self._opened % len(self._seats)]
        self._opened += 1
        return OpenSkuggkast(
            table=f"table-{self._opened}",
            seats=seats,
            stake=Sum(ASSET, 1),
            dice="service",
            rules=Rules(starter=self._rng.choice(seats)),
        )

    def action(self, state: State) -> ActRequest:
        return ActRequest(state.table, self._body(state))

    def _body(self, state: State) -> bytes:
        seat = state.active
        assert seat is not None, "a table that is played, with a starter"
        match state.phase:
            case "turn" if not state.players[seat].in_contention:
                return self._bodies[seat, "rebuy"]
            case "turn":
                return self._bodies[seat, "roll"]
            case "claim":
                return self._rng.choice(self._claims[seat])
            case "response":
                other = state.unanswered[0]
                return self._bodies[other, "challenge" if self._rng.random() < 1 / 6 else "believe"]
            case _:
                raise AssertionError(state.phase)


def _claim(seat: str, symbol: str, number: int) -> bytes:
    said = {"action": "claim", "seat": seat, "symbol": symbol, "number": number, "shadow": "blessed"}
    return msgspec.json.encode(said)


def _state(applied: Sequence[Applied]) -> State:
    state = applied[-1].table
    assert isinstance(state, State)
    return state


async def measure(config: Config) -> Outcome:
    assert config.callers <= TABLES, "no two act at one table at a time"
    async with Database(config.url) as database:
        writers = Writers(Journals(database, PROJECTIONS))
        events = await found(writers)
        bots = Bots()

        async def opened() -> State:
            nonlocal events
            receipt = await writers.submit(LARP, bots.opening(), ACTOR)
            events += len(receipt.applied)
            return _state(receipt.applied)

        tables = deque([await opened() for _ in range(TABLES)])

        async def player(clock: Clock) -> None:
            nonlocal events
            while time.perf_counter() < clock.end:
                state = tables.popleft()
                if state.is_over:
                    state = await opened()
                begun = time.perf_counter()
                receipt = await writers.submit(LARP, bots.action(state), ACTOR)
                clock.answered(begun)
                events += len(receipt.applied)
                tables.append(_state(receipt.applied))

        clock = await call(config, player)
        await writers.close()
    return clock.outcome(events)


if __name__ == "__main__":
    told_async(measure)
