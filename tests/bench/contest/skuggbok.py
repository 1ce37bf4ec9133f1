"""Skuggbok: transfers through the writer, with all projections, in one process as the service has it.

A batch is a `Together`: so many commands that are carried out all or none.
"""

import asyncio
from collections.abc import Sequence

from ledger import purses
from ledger.database import Database
from ledger.journal import Journals
from ledger.sending import Sent, Together
from ledger.writer import Writers
from projections.runner import PROJECTIONS
from tests.bench.contest import payloads
from tests.bench.contest.driving import Config, Outcome, drive, told_async
from tests.bench.contest.payloads import ACCOUNTS, ACTOR, ASSET, LARP

PURSE = 10**6


async def found(writers: Writers) -> int:
    """A LARP of 500 characters who have money. Returns how many events that took."""
    await writers.found(purses.FoundLarp(larp=LARP, name="Contest"), ACTOR)
    await writers.submit(LARP, purses.DefineAsset(asset=ASSET, kind="token", name="Krona"), ACTOR)
    arrivals = [purses.AddCharacter(character=account, name=account) for account in ACCOUNTS]
    grants = [purses.Grant(to=account, asset=ASSET, amount=PURSE) for account in ACCOUNTS]
    for commands in (arrivals, grants):
        await asyncio.gather(*(writers.submit(LARP, command, ACTOR) for command in commands))
    return 2 + len(arrivals) + len(grants)


def transfers(path: str) -> Sequence[purses.Transfer]:
    """The commands of which the payloads come."""
    return [
        purses.Transfer(from_=each.account, to=each.to, asset=ASSET, amount=each.amount, memo=payloads.MEMO)
        for each in payloads.read(path)
    ]


async def measure(config: Config) -> Outcome:
    commands = transfers(config.payloads)
    count, batch = len(commands), config.batch
    async with Database(config.url) as database:
        writers = Writers(Journals(database, PROJECTIONS))
        before = await found(writers)
        together = [Together(tuple(commands[at : at + batch])) for at in range(0, count, batch)]

        async def one(number: int) -> None:
            await writers.submit(LARP, commands[number % count], ACTOR)

        async def several(number: int) -> None:
            await writers.send(LARP, Sent(request=together[number % len(together)], actor=ACTOR))

        clock = await drive(config, one if batch == 1 else several)
        await writers.close()
    outcome = clock.outcome()
    return clock.outcome(before + outcome.acknowledged)


if __name__ == "__main__":
    told_async(measure)
