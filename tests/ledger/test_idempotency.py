"""A key is used once: whoever asks again, in whatever process, gets the first receipt and records nothing."""

import asyncio

import pytest

from ledger import purses
from ledger.book import ActRequest
from ledger.database import Database
from ledger.errors import IdempotencyMismatch, InsufficientFunds, StalePosition
from ledger.games.skuggkast.messages import OpenSkuggkast, Rules
from ledger.games.table import Sum
from ledger.journal import Journals
from ledger.messages import Actor
from ledger.sending import Sent
from ledger.writer import Writers
from projections.runner import PROJECTIONS
from tests.ledger.test_writer import ACTOR, balance, founded, rows, transfer


def keyed(amount: int = 1, key: str = "k1", said: bytes = b"", actor: Actor = ACTOR) -> Sent:
    return Sent(request=transfer(amount), actor=actor, key=key, said=said or b"%d" % amount)


async def test_the_same_key_and_body_again_gets_the_first_receipt(writers: Writers, database_url: str) -> None:
    await founded(writers)
    first = await writers.send("north", keyed(5))
    again = await writers.send("north", keyed(5))
    assert not first.replayed
    assert again.replayed
    assert [a.recorded.to_json() for a in again.applied] == [a.recorded.to_json() for a in first.applied]
    assert await balance(database_url, "purse/c0") == 95


async def test_both_may_be_in_flight(writers: Writers, database_url: str) -> None:
    await founded(writers)
    receipts = await asyncio.gather(*(writers.send("north", keyed(5)) for _ in range(10)))
    assert sorted(receipt.replayed for receipt in receipts) == [False] + [True] * 9
    assert {receipt.position for receipt in receipts} == {7}
    assert await balance(database_url, "purse/c0") == 95


async def test_another_process_knows_the_key(journals: Journals, database_url: str) -> None:
    async with Database(database_url) as other_database:
        here, there = Writers(journals), Writers(Journals(other_database, PROJECTIONS))
        await founded(here)
        receipts = await asyncio.gather(
            *((here, there)[n % 2].send("north", keyed(5, key=f"k{n // 4}")) for n in range(40))
        )
        await here.close()
        await there.close()
    assert sum(not receipt.replayed for receipt in receipts) == 10
    assert await balance(database_url, "purse/c0") == 50


async def test_it_is_replayed_also_where_it_would_now_be_refused(writers: Writers) -> None:
    await founded(writers, krona=5)
    first = await writers.send("north", keyed(5))
    with pytest.raises(InsufficientFunds):
        await writers.submit("north", transfer(5), ACTOR)
    assert (await writers.send("north", keyed(5))).position == first.position


async def test_a_refusal_is_not_remembered(writers: Writers) -> None:
    await founded(writers, krona=5)
    with pytest.raises(InsufficientFunds):
        await writers.send("north", keyed(9))
    await writers.submit("north", purses.Grant(to="c0", asset="krona", amount=4), ACTOR)
    assert not (await writers.send("north", keyed(9))).replayed


async def test_the_same_key_with_another_body_is_refused_and_records_nothing(
    writers: Writers, database_url: str
) -> None:
    await founded(writers)
    await writers.send("north", keyed(5))
    with pytest.raises(IdempotencyMismatch):
        await writers.send("north", keyed(6))
    assert await balance(database_url, "purse/c0") == 95


async def test_a_key_belongs_to_the_token_that_used_it(writers: Writers, database_url: str) -> None:
    await founded(writers)
    await writers.send("north", keyed(5))
    other = await writers.send("north", keyed(5, actor=Actor(role="banker", token="tok_other")))
    assert not other.replayed
    assert await balance(database_url, "purse/c0") == 90


async def test_an_action_is_replayed_with_the_table_as_it_was_then(writers: Writers) -> None:
    """Dice that the service rolled are not rolled again, and the view is the first answer's, not today's."""
    await founded(writers)
    opening = OpenSkuggkast(
        table="t1", seats=("c0", "c1"), stake=Sum("krona", 3), dice="service", rules=Rules(starter="c0")
    )
    await writers.submit("north", opening, ACTOR)

    def roll() -> Sent:
        body = b'{"action":"roll","seat":"c0"}'
        return Sent(request=ActRequest("t1", body), actor=ACTOR, key="roll", said=body)

    first = await writers.send("north", roll())
    claim = b'{"action":"claim","seat":"c0","symbol":"moon","number":1,"shadow":"neutral"}'
    await writers.submit("north", ActRequest("t1", claim), ACTOR)
    again = await writers.send("north", roll())
    assert again.applied[-1].view() == first.applied[-1].view()
    assert [a.recorded for a in again.applied] == [a.recorded for a in first.applied]


async def test_founding_again_with_the_same_key_is_one_larp(writers: Writers) -> None:
    command = purses.FoundLarp(larp="north", name="North")
    sent = Sent(request=command, actor=ACTOR, key="found", said=b"x")
    assert not (await writers.send_founding(command, sent)).replayed
    assert (await writers.send_founding(command, sent)).replayed


async def test_neither_key_nor_body_can_be_read_in_the_database(writers: Writers, database_url: str) -> None:
    await founded(writers)
    await writers.send("north", keyed(5, key="a-very-secret-key", said=b"a guessable hand"))
    ((token, key_hash, said_hash),) = await rows(
        database_url, "SELECT token, key_hash, said_hash FROM skuggbok.receipt"
    )
    assert token == "tok_test"
    assert b"secret" not in bytes(str(key_hash), "utf8") + bytes(str(said_hash), "utf8")
    import hashlib

    assert said_hash != hashlib.sha256(b"a guessable hand").digest(), "without the database's key nobody guesses it"


async def test_a_write_may_ask_that_nothing_has_moved_on(writers: Writers, database_url: str) -> None:
    """For an action the table must be where it was; for anything else the journal."""
    await founded(writers)
    await writers.send("north", Sent(request=transfer(), actor=ACTOR, if_match=6))
    with pytest.raises(StalePosition, match="at position 7, which is not the one"):
        await writers.send("north", Sent(request=transfer(), actor=ACTOR, if_match=6))
    opening = OpenSkuggkast(table="t1", seats=("c0", "c1"), stake=Sum("krona", 3), rules=Rules(starter="c0"))
    opened = await writers.submit("north", opening, ACTOR)
    await writers.submit("north", transfer(), ACTOR)
    leave = ActRequest("t1", b'{"action":"leave","seat":"c0"}')
    with pytest.raises(StalePosition):
        await writers.send("north", Sent(request=leave, actor=ACTOR, if_match=opened.position - 1))
    receipt = await writers.send("north", Sent(request=leave, actor=ACTOR, if_match=opened.position))
    assert receipt.applied[-1].recorded.type == "table.closed"
    assert await balance(database_url, "pot/t1") == 0
