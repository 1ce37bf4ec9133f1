"""While a turn is being written the next is decided as if it were recorded; if it is not, all is decided anew."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import psycopg
import pytest
import structlog

from ledger import purses
from ledger.database import Database
from ledger.errors import InsufficientFunds, ProjectionHalted, UnknownPosition
from ledger.journal import Journals
from ledger.pending import Receipt
from ledger.sending import Attempt, Carried, Sent
from ledger.writer import Writers
from projections.runner import PROJECTIONS
from tests.ledger.test_writer import ACTOR, balance, founded, rows, transfer

Asking = Callable[[], Awaitable[bool]]


@asynccontextmanager
async def held_up(url: str, server: str) -> AsyncIterator[Callable[[int], Awaitable[None]]]:
    """Nobody's append gets past the head row. Yields what waits until so many appends do."""
    async with (
        await psycopg.AsyncConnection.connect(url) as holder,
        await psycopg.AsyncConnection.connect(server, autocommit=True) as looking,
    ):
        await holder.execute("SELECT FROM skuggbok.head FOR UPDATE")

        async def until(appends: int) -> None:
            query = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = ANY (%s)"
            pids = "SELECT array_agg(pid) FROM pg_stat_activity WHERE datname = %s AND application_name = 'skuggbok'"
            name = holder.info.dbname
            while True:
                found = await (await looking.execute(pids.encode(), (name,))).fetchone()
                waiting = await (await looking.execute(query.encode(), (found[0] if found else [],))).fetchone()
                if waiting is not None and waiting[0] >= appends:
                    return

        yield until
        await holder.rollback()


def send(writers: Writers, command: purses.MoneyCommand, key: str | None = None) -> asyncio.Future[Receipt]:
    return writers.enqueue("north", Sent(request=command, actor=ACTOR, key=key, said=b"said"))


async def until_decided(writers: Writers, commands: int = 0) -> None:
    """Until no more than so many wait for their turn: the others are decided ahead."""
    while writers.waiting > commands:  # noqa: ASYNC110  # the writer tells nobody when it has decided
        await asyncio.sleep(0)


async def test_what_follows_is_decided_on_what_is_not_recorded_yet(
    writers: Writers, database_url: str, server: str
) -> None:
    await founded(writers, krona=5)
    async with held_up(database_url, server) as until:
        first = send(writers, transfer(5))
        await until(1)
        second, third = send(writers, transfer(10, "c1", "c0")), send(writers, transfer(11, "c0", "c1"))
        await until_decided(writers)
        assert not first.done()
        assert not second.done()
        assert not third.done(), "a refusal stands only if what it was decided on is recorded"
    assert [(await first).position, (await second).position] == [7, 8]
    with pytest.raises(InsufficientFunds, match="c0 has 10 krona"):
        await third
    assert await balance(database_url, "purse/c0") == 10


async def test_it_is_decided_anew_if_another_process_was_first(
    journals: Journals, database_url: str, server: str
) -> None:
    async with Database(database_url) as other_database:
        here, there = Writers(journals), Writers(Journals(other_database, PROJECTIONS))
        await founded(here, krona=5)
        await there.submit("north", transfer(1), ACTOR)
        await here.submit("north", transfer(1, "c1", "c0"), ACTOR)
        async with held_up(database_url, server) as until:
            grant = send(there, purses.Grant(to="c0", asset="krona", amount=10))
            await until(1)
            first = send(here, transfer(5))
            await until(2)
            second = send(here, transfer(7))  # too much, but for the grant
            await until_decided(here)
        assert [(await each).position for each in (grant, first, second)] == [9, 10, 11]
        await here.close()
        await there.close()
    assert await balance(database_url, "purse/c0") == 3


async def test_a_key_that_is_being_used_waits_for_what_comes_of_it(
    writers: Writers, database_url: str, server: str
) -> None:
    await founded(writers)
    async with held_up(database_url, server) as until:
        first = send(writers, transfer(), "k1")
        await until(1)
        between, again = send(writers, transfer(2), "k2"), send(writers, transfer(), "k1")
        after = send(writers, transfer(3), "k3")
        await until_decided(writers, 2)
        assert writers.waiting == 2
    assert [(await each).position for each in (first, between, again, after)] == [7, 8, 7, 9]
    assert (await again).replayed
    assert not (await after).replayed


async def test_keys_that_were_used_before_are_found_among_others(writers: Writers, database_url: str) -> None:
    """What was recorded is told again, whether it would be carried out or refused now; the others are not harmed."""
    await founded(writers, krona=10)
    assert (await send(writers, transfer(8), "big")).position == 7
    assert (await send(writers, transfer(1), "small")).position == 8
    told = [
        send(writers, transfer(1), "new"),
        send(writers, transfer(8), "big"),  # would be refused
        send(writers, transfer(1), "small"),  # would not
        send(writers, transfer(9, "c1", "c0"), "other"),
    ]
    assert [((await each).position, (await each).replayed) for each in told] == [
        (9, False),
        (7, True),
        (8, True),
        (10, False),
    ]
    assert await balance(database_url, "purse/c0") == 9


async def test_a_reversal_waits_until_what_it_reverses_is_recorded(
    writers: Writers, database_url: str, server: str
) -> None:
    await founded(writers)
    async with held_up(database_url, server) as until:
        first = send(writers, transfer(5))
        await until(1)
        reversal = send(writers, purses.Reverse(position=7, reason="mistyped"))
        after = send(writers, transfer(1))
        await until_decided(writers, 2)
        assert writers.waiting == 2, "the journal cannot be asked for what is not in it"
    assert [(await each).position for each in (first, reversal, after)] == [7, 8, 9]
    assert await balance(database_url, "purse/c0") == 99


async def test_a_fault_in_what_was_decided_ahead_is_told_to_who_sent_it_alone(
    writers: Writers, database_url: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await founded(writers)
    carry_out = Attempt.carry_out

    def failing(attempt: Attempt, sent: Sent, entropy: bytes) -> Carried:
        if isinstance(sent.request, purses.Transfer) and sent.request.amount == 13:
            raise ZeroDivisionError
        return carry_out(attempt, sent, entropy)

    monkeypatch.setattr(Attempt, "carry_out", failing)
    with structlog.testing.capture_logs() as logs:
        async with held_up(database_url, server) as until:
            first = send(writers, transfer(1))
            await until(1)
            others = [send(writers, transfer(amount)) for amount in (2, 13, 3)]
            for _ in range(10):
                await asyncio.sleep(0)
        assert (await first).position == 7
        assert [(await others[0]).position, (await others[2]).position] == [8, 9]
        with pytest.raises(ZeroDivisionError):
            await others[1]
    assert {entry["event"] for entry in logs if entry["log_level"] == "error"} == {"batch_failed"}
    assert await balance(database_url, "purse/c0") == 94


async def test_a_lost_connection_loses_nothing_that_was_decided_ahead(
    writers: Writers, database_url: str, server: str
) -> None:
    await founded(writers)
    async with held_up(database_url, server) as until:
        first = send(writers, transfer(5))
        await until(1)
        second = send(writers, transfer(7))
        await until_decided(writers)
        async with await psycopg.AsyncConnection.connect(server, autocommit=True) as killer:
            await killer.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
                " AND application_name = 'skuggbok'",
                (psycopg.conninfo.conninfo_to_dict(database_url)["dbname"],),
            )
    assert [(await first).position, (await second).position] == [7, 8]
    assert await rows(database_url, "SELECT count(*) FROM skuggbok.event") == [(8,)]


def failing_at(monkeypatch: pytest.MonkeyPatch, amount: int) -> None:
    """Deciding a transfer of this amount is a fault of ours."""
    carry_out = Attempt.carry_out

    def failing(attempt: Attempt, sent: Sent, entropy: bytes) -> Carried:
        if isinstance(sent.request, purses.Transfer) and sent.request.amount == amount:
            raise ZeroDivisionError
        return carry_out(attempt, sent, entropy)

    monkeypatch.setattr(Attempt, "carry_out", failing)


@pytest.mark.parametrize("faulty", [1, 5, 19, 25, 40])
async def test_whoever_waits_behind_a_fault_is_answered_in_order(
    writers: Writers, monkeypatch: pytest.MonkeyPatch, faulty: int
) -> None:
    """Many at once go in halves; singly, those behind must not overtake."""
    await founded(writers, krona=10_000)
    failing_at(monkeypatch, faulty)
    told = await asyncio.gather(*(send(writers, transfer(amount)) for amount in range(1, 41)), return_exceptions=True)
    assert [type(each) for each in told].count(ZeroDivisionError) == 1
    assert isinstance(told[faulty - 1], ZeroDivisionError)
    assert [each.position for each in told if isinstance(each, Receipt)] == list(range(7, 46))


async def test_whoever_waits_beside_what_a_projection_cannot_apply_is_answered(
    writers: Writers, database_url: str
) -> None:
    """The database refused it: nothing is uncertain, for nobody."""
    await founded(writers, krona=10_000)
    async with await psycopg.AsyncConnection.connect(database_url) as superuser:
        await superuser.execute("ALTER TABLE skuggbok.entry ADD CONSTRAINT unlucky CHECK (change <> 13) NOT VALID")
    told = await asyncio.gather(*(send(writers, transfer(amount)) for amount in range(1, 41)), return_exceptions=True)
    assert [amount for amount, each in enumerate(told, start=1) if not isinstance(each, Receipt)] == [13]
    assert isinstance(told[12], ProjectionHalted)
    assert [each.position for each in told if isinstance(each, Receipt)] == list(range(7, 46))


async def test_what_waits_may_reverse_what_waits_before_it(writers: Writers, database_url: str) -> None:
    await founded(writers)
    first, reversal = send(writers, transfer(5)), send(writers, purses.Reverse(position=7, reason="mistyped"))
    too_early = send(writers, purses.Reverse(position=9, reason="not there yet"))
    assert [(await first).position, (await reversal).position] == [7, 8]
    with pytest.raises(UnknownPosition):
        await too_early
    assert await balance(database_url, "purse/c0") == 100
