"""Group commit: what is answered is recorded, what is refused is not, whoever else writes."""

import asyncio
from typing import Any

import psycopg
import pytest

from ledger import purses
from ledger.database import Database
from ledger.errors import AlreadyExists, InsufficientFunds, Refused, UnknownLarp
from ledger.journal import Journal, Journals
from ledger.messages import Actor
from ledger.pending import Receipt
from ledger.writer import LarpWriter, Writers
from projections.runner import PROJECTIONS

ACTOR = Actor(role="organiser", token="tok_test")


async def founded(writers: Writers, larp: str = "north", characters: int = 2, krona: int = 100) -> None:
    await writers.found(purses.FoundLarp(larp=larp, name="North"), ACTOR)
    await writers.submit(larp, purses.DefineAsset(asset="krona", kind="token", name="Krona"), ACTOR)
    for number in range(characters):
        name = f"c{number}"
        await writers.submit(larp, purses.AddCharacter(character=name, name=name), ACTOR)
        await writers.submit(larp, purses.Grant(to=name, asset="krona", amount=krona), ACTOR)


def transfer(amount: int = 1, from_: str = "c0", to: str = "c1") -> purses.Transfer:
    return purses.Transfer(from_=from_, to=to, asset="krona", amount=amount)


async def rows(url: str, query: str, *parameters: object) -> list[tuple[object, ...]]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        cursor = await connection.execute(query, parameters)
        return await cursor.fetchall()


async def balance(url: str, account: str, asset: str = "krona") -> int:
    found = await rows(url, "SELECT balance FROM skuggbok.balance WHERE account = %s AND asset = %s", account, asset)
    return int(str(found[0][0])) if found else 0


async def test_a_command_is_answered_with_its_events_and_recorded(writers: Writers, database_url: str) -> None:
    await founded(writers)
    receipt = await writers.submit("north", transfer(7), ACTOR)
    assert receipt.position == 7
    assert [a.recorded.type for a in receipt.applied] == ["purse.transferred"]
    assert await balance(database_url, "purse/c0") == 93
    assert await balance(database_url, "purse/c1") == 107
    assert await balance(database_url, "mint") == -200


async def test_a_refusal_records_nothing(writers: Writers, database_url: str) -> None:
    await founded(writers)
    with pytest.raises(InsufficientFunds, match="c0 has 100 krona"):
        await writers.submit("north", transfer(101), ACTOR)
    assert await rows(database_url, "SELECT count(*), max(position) FROM skuggbok.event") == [(6, 6)]


async def test_a_larp_that_is_not_there_is_refused(writers: Writers) -> None:
    with pytest.raises(UnknownLarp):
        await writers.submit("nowhere", transfer(), ACTOR)


async def test_a_name_is_taken_once(writers: Writers) -> None:
    await founded(writers)
    with pytest.raises(AlreadyExists):
        await writers.found(purses.FoundLarp(larp="north", name="Again"), ACTOR)


async def test_commands_that_wait_are_written_together_each_with_its_own_outcome(
    writers: Writers, database_url: str
) -> None:
    await founded(writers, krona=10)
    outcomes = await asyncio.gather(
        *(writers.submit("north", transfer(3), ACTOR) for _ in range(5)), return_exceptions=True
    )
    assert [isinstance(outcome, InsufficientFunds) for outcome in outcomes] == [False, False, False, True, True]
    assert await balance(database_url, "purse/c0") == 1
    assert await balance(database_url, "purse/c1") == 19


async def test_two_processes_write_to_one_larp(journals: Journals, database_url: str) -> None:
    """Whoever lost a race catches up and decides again; positions have no gap and nothing is lost."""
    async with Database(database_url) as other_database:
        here, there = Writers(journals), Writers(Journals(other_database, PROJECTIONS))
        await founded(here, krona=100)
        outcomes = await asyncio.gather(
            *((here, there)[n % 2].submit("north", transfer(), ACTOR) for n in range(120)), return_exceptions=True
        )
        refused = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        assert len(refused) == 20, "c0 has 100 krona, and gives one at a time"
        assert all(isinstance(outcome, InsufficientFunds) for outcome in refused)
        await here.close()
        await there.close()
    positions = [row[0] for row in await rows(database_url, "SELECT position FROM skuggbok.event ORDER BY position")]
    assert positions == list(range(1, 107))
    assert await balance(database_url, "purse/c0") == 0


async def test_a_refusal_is_as_fresh_as_the_last_write_of_any_process(journals: Journals, database_url: str) -> None:
    """A process that lags must not refuse on grounds that are gone."""
    async with Database(database_url) as other_database:
        here, there = Writers(journals), Writers(Journals(other_database, PROJECTIONS))
        await founded(here, krona=1)
        await there.submit("north", transfer(1, "c1", "c0"), ACTOR)
        await here.submit("north", purses.Grant(to="c1", asset="krona", amount=50), ACTOR)
        receipt = await there.submit("north", transfer(50, "c1", "c0"), ACTOR)
        assert receipt.position == 9
        with pytest.raises(Refused):
            await here.submit("north", transfer(1, "c1", "c0"), ACTOR)


async def test_a_broken_connection_loses_nothing_and_doubles_nothing(
    writers: Writers, server: str, database_url: str
) -> None:
    """Whatever the moment at which the sessions are cut, each command is recorded once and answered."""
    await founded(writers, krona=10_000)
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
    answered = 0

    async def play(killer: psycopg.AsyncConnection[object]) -> None:
        nonlocal answered
        for _ in range(25):
            await writers.submit("north", transfer(), ACTOR)
            answered += 1
            if answered % 10 == 0:  # the other players' commands are on their way just now
                await killer.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = %s AND application_name = 'skuggbok'",
                    (name,),
                )

    async with await psycopg.AsyncConnection.connect(server, autocommit=True) as killer:
        await asyncio.gather(*(play(killer) for _ in range(8)))
    assert answered == 200
    recorded = await rows(database_url, "SELECT count(*) FROM skuggbok.event WHERE type = 'purse.transferred'")
    assert recorded == [(200,)]
    assert await balance(database_url, "purse/c1") == 10_000 + 200


async def test_a_server_in_another_time_zone_changes_no_time(server: str, database_url: str) -> None:
    """The sessions of the service are in UTC, whatever the server's own time zone is."""
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
    async with await psycopg.AsyncConnection.connect(server, autocommit=True) as owner:
        await owner.execute(f"ALTER DATABASE {name} SET timezone = 'Pacific/Kiritimati'")
    async with Database(database_url) as database, database.connection() as connection:
        cursor = await connection.execute("SHOW timezone")
        assert await cursor.fetchone() == ("UTC",)


@pytest.mark.parametrize("is_found", [True, False])
async def test_a_fault_after_the_commit_records_nothing_twice(
    journals: Journals, database_url: str, monkeypatch: pytest.MonkeyPatch, is_found: bool
) -> None:
    """Whatever goes wrong behind a commit, and even again when it is looked up, no command is decided anew."""
    writers = Writers(journals)
    await founded(writers)
    faults = iter([True])
    append, catch_up = Journal.append, LarpWriter._catch_up

    async def appended_and_failed(self: Journal, connection: Any, batch: Any) -> bool:
        done = await append(self, connection, batch)
        if next(faults, False):
            raise RuntimeError("behind the commit")
        return done

    async def not_found(*arguments: Any) -> None:
        monkeypatch.setattr(LarpWriter, "_catch_up", catch_up)
        raise RuntimeError("when it is looked up")

    monkeypatch.setattr(Journal, "append", appended_and_failed)
    if not is_found:
        monkeypatch.setattr(LarpWriter, "_catch_up", not_found)
    outcomes = await asyncio.gather(
        *(writers.submit("north", transfer(), ACTOR) for _ in range(3)), return_exceptions=True
    )
    assert [isinstance(outcome, Receipt) for outcome in outcomes] == [is_found] * 3, "or nobody knows"
    assert await balance(database_url, "purse/c0") == 97
    await writers.submit("north", transfer(), ACTOR)
    assert await balance(database_url, "purse/c0") == 96
    await writers.close()
