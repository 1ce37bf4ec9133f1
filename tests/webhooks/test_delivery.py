"""Delivering: in order, at least once, by one process at a time; what fails is tried again and seen to fail."""

import asyncio
import itertools
import random
import re
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from standardwebhooks import Webhook as Verifier

from api.webhooks import attempts, delivery, queue, store
from api.webhooks.attempts import ATTEMPTS_MAX, WAITS_S
from api.webhooks.model import NewWebhook, Replay, Rotation, WebhookChange
from ledger.errors import UnknownPosition
from projections import queries
from tests.ledger.test_writer import ACTOR, transfer
from tests.webhooks.conftest import Hooks
from tests.webhooks.receiver import Answer, Received, Receiver


async def record(hooks: Hooks, count: int) -> None:
    for _ in range(count):
        await hooks.writers.submit("north", transfer(), ACTOR)


async def test_every_event_from_now_on_in_order(hooks: Hooks, receiver: Receiver) -> None:
    made = await hooks.create(NewWebhook(url=receiver.url))
    async with hooks.delivering():
        await asyncio.gather(*(record(hooks, 1) for _ in range(40)))
        await receiver.until(40)
        webhook = await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
    assert receiver.positions == list(range(7, 47))
    assert webhook.state == "active"
    assert webhook.position == 46
    assert webhook.next_attempt_at is None
    assert webhook.last_failure is None
    assert webhook.last_success is not None
    assert (webhook.last_success.position, webhook.last_success.status_code) == (46, 204)


async def test_what_is_sent_is_a_signed_cloud_event(hooks: Hooks, receiver: Receiver) -> None:
    """The library that receivers use verifies it; `data` is the event as the journal shows it."""
    made = await hooks.create(NewWebhook(url=receiver.url, from_position=1))
    async with hooks.delivering():
        await receiver.until(6)
    async with hooks.database.connection() as connection:
        journal = [event for _, event in await queries.events(connection, "north", queries.EventFilter(), 10)]
    for at, received in enumerate(receiver.received):
        event = Verifier(made.secret).verify(received.body, dict(received.headers))
        assert received.headers["content-type"] == "application/cloudevents+json"
        assert received.headers["webhook-id"] == event["id"] == event["data"]["id"]
        assert event["specversion"] == "1.0"
        assert event["source"] == made.source == f"urn:uuid:{receiver.received[0].event['id']}"
        assert event["larp"] == "north"
        assert event["sequence"] == f"{at + 1:016}"
        assert event["time"] == event["data"]["at"]
        assert event["type"] == f"org.skuggbok.{event['data']['type']}.v1"
        assert journal[at] in received.body, "the very bytes that are hashed"
        assert re.fullmatch(r"[a-z0-9]+", "".join(event)), "names of attributes"
    assert receiver.received[2].event["subject"] == "character/c0"
    assert "subject" not in receiver.received[0].event


async def test_only_the_types_that_are_wanted(
    hooks: Hooks, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are passed over, and the webhook is not behind because of them."""
    monkeypatch.setattr(delivery, "PAGE", 2)
    types = ("purse.granted", "purse.granted", "asset.defined", "table.closed")
    made = await hooks.create(NewWebhook(url=receiver.url, types=types, from_position=1))
    assert made.types == ("purse.granted", "asset.defined", "table.closed")
    async with hooks.delivering():
        await receiver.until(3)
        await record(hooks, 3)
        webhook = await hooks.until(made.id, lambda webhook: webhook.position == 9)
    assert receiver.positions == [2, 4, 6]
    assert webhook.last_success is not None
    assert webhook.last_success.position == 6
    assert webhook.backlog == 0


async def test_the_next_event_waits_until_this_one_has_arrived(hooks: Hooks, receiver: Receiver) -> None:
    """Each schedule's wait, no more and no less; the id stays; then it goes on, in order, with nothing skipped."""
    made = await hooks.create(NewWebhook(url=receiver.url))
    receiver.answer = lambda received: Answer(500)
    await record(hooks, 2)
    async with hooks.delivering():
        for failed, wait in enumerate(WAITS_S, start=1):
            webhook = await hooks.until(made.id, lambda webhook, failed=failed: webhook.attempts == failed)
            assert webhook.state == "failing"
            assert webhook.position == 6
            assert webhook.backlog == 2
            assert webhook.last_failure is not None
            assert webhook.last_failure.status_code == 500
            assert webhook.last_failure.reason == "the answer was 500"
            assert webhook.next_attempt_at == webhook.last_failure.at + timedelta(seconds=wait)
            assert len(receiver.received) == failed
            if failed == 3:
                break
            await hooks.pass_time(wait)
        receiver.answer = lambda received: Answer()
        await hooks.pass_time(WAITS_S[2])
        webhook = await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
    assert receiver.positions == [7, 7, 7, 7, 8]
    assert len({received.headers["webhook-id"] for received in receiver.received[:4]}) == 1
    assert len({received.body for received in receiver.received[:4]}) == 1
    assert (webhook.state, webhook.attempts) == ("active", 0)
    assert webhook.last_failure is not None, "it stays to be seen"


async def test_what_fails_for_days_is_switched_off_and_goes_on_from_there(hooks: Hooks, receiver: Receiver) -> None:
    made = await hooks.create(NewWebhook(url=receiver.url))
    receiver.answer = lambda received: Answer(503)
    await record(hooks, 3)
    async with hooks.delivering():
        for failed in range(1, ATTEMPTS_MAX + 1):
            webhook = await hooks.until(made.id, lambda webhook, failed=failed: webhook.attempts == failed)
            await hooks.pass_time(WAITS_S[-1])
        assert webhook.state == "exhausted"
        assert webhook.next_attempt_at is None
        assert webhook.position == 6
        receiver.answer = lambda received: Answer()
        async with hooks.database.connection() as connection:
            webhook = await hooks.keeper.change(connection, "north", made.id, WebhookChange(enabled=True))
        assert (webhook.state, webhook.attempts) == ("active", 0)
        await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
    assert receiver.positions == [7] * ATTEMPTS_MAX + [7, 8, 9]


async def test_retry_after_is_obeyed(hooks: Hooks, receiver: Receiver) -> None:
    made = await hooks.create(NewWebhook(url=receiver.url))
    receiver.answer = lambda received: Answer(429, {"retry-after": "7000"})
    await record(hooks, 1)
    async with hooks.delivering():
        webhook = await hooks.until(made.id, lambda webhook: webhook.attempts == 1)
    assert webhook.last_failure is not None
    assert webhook.next_attempt_at == webhook.last_failure.at + timedelta(seconds=7000)


async def test_410_switches_off_until_an_organiser_switches_on(hooks: Hooks, receiver: Receiver) -> None:
    made = await hooks.create(NewWebhook(url=receiver.url))
    receiver.answer = lambda received: Answer(410)
    await record(hooks, 2)
    async with hooks.delivering():
        webhook = await hooks.until(made.id, lambda webhook: webhook.state == "gone")
        assert webhook.last_failure is not None
        assert webhook.last_failure.status_code == 410
        assert (webhook.position, webhook.next_attempt_at) == (6, None)
        await hooks.pass_time(WAITS_S[-1])
        other = await hooks.create(NewWebhook(url=receiver.url + "/other"))
        receiver.answer = lambda received: Answer()
        await record(hooks, 1)
        await hooks.until(other.id, lambda webhook: webhook.backlog == 0)
        assert receiver.positions == [7, 9], "others go on, it does not"
        async with hooks.database.connection() as connection:
            await hooks.keeper.change(connection, "north", made.id, WebhookChange(enabled=True))
        await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
    assert receiver.positions == [7, 9, 7, 8, 9]


async def test_a_redirect_is_a_failure_and_followed_nowhere(hooks: Hooks, receiver: Receiver) -> None:
    made = await hooks.create(NewWebhook(url=receiver.url))
    receiver.answer = lambda received: Answer(307, {"location": receiver.url + "/elsewhere"})
    await record(hooks, 1)
    async with hooks.delivering():
        webhook = await hooks.until(made.id, lambda webhook: webhook.attempts == 1)
    assert [received.path for received in receiver.received] == ["/hook"]
    assert webhook.last_failure is not None
    assert webhook.last_failure.reason == "the answer was 307, and redirects are not followed"


async def test_a_replay_begins_again_where_it_is_told_to(hooks: Hooks, receiver: Receiver) -> None:
    """Also in the middle of an attempt: what was under way does not move it on."""
    made = await hooks.create(NewWebhook(url=receiver.url))
    release = asyncio.Event()
    async with hooks.delivering():
        await record(hooks, 2)
        await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
        receiver.answer = lambda received: Answer(until=release)
        await record(hooks, 1)
        await receiver.until(3)
        async with hooks.database.connection() as connection:
            webhook = await store.replay(connection, "north", made.id, Replay(from_position=2))
            assert (webhook.position, webhook.backlog) == (1, 8)
            with pytest.raises(UnknownPosition, match="ends at position 9"):
                await store.replay(connection, "north", made.id, Replay(from_position=11))
        receiver.answer = lambda received: Answer()
        release.set()
        await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
    assert receiver.positions == [7, 8, 9, *range(2, 10)]
    again = {received.position: received.headers["webhook-id"] for received in receiver.received[3:]}
    assert [again[p] for p in (7, 8, 9)] == [received.headers["webhook-id"] for received in receiver.received[:3]]


async def test_after_a_rotation_both_secrets_sign_until_the_old_one_ends(hooks: Hooks, receiver: Receiver) -> None:
    made = await hooks.create(NewWebhook(url=receiver.url))
    old = Verifier(made.secret)
    async with hooks.delivering():
        await record(hooks, 1)
        await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
        async with hooks.database.connection() as connection:
            rotated, _ = await hooks.keeper.rotate(connection, "north", made.id, Rotation(overlap_s=3600), None)
        assert rotated.secret != made.secret
        assert rotated.earlier_secrets_until is not None
        left = rotated.earlier_secrets_until - datetime.now(UTC)
        assert timedelta(minutes=59) < left <= timedelta(hours=1)
        new = Verifier(rotated.secret)
        await record(hooks, 1)
        await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
        await hooks.pass_time(3600)
        await record(hooks, 1)
        webhook = await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
    first, both, last = receiver.received
    assert webhook.earlier_secrets_until is None
    assert [len(r.headers["webhook-signature"].split(" ")) for r in (first, both, last)] == [1, 2, 1]
    old.verify(first.body, dict(first.headers))
    old.verify(both.body, dict(both.headers))
    new.verify(both.body, dict(both.headers))
    new.verify(last.body, dict(last.headers))
    with pytest.raises(Exception, match="No matching signature"):
        old.verify(last.body, dict(last.headers))


async def test_a_leaked_secret_ends_at_once(hooks: Hooks, receiver: Receiver) -> None:
    """All earlier ones, those that overlap from a rotation before too."""
    made = await hooks.create(NewWebhook(url=receiver.url))
    async with hooks.database.connection() as connection:
        await hooks.keeper.rotate(connection, "north", made.id, Rotation(), None)
        rotated, _ = await hooks.keeper.rotate(connection, "north", made.id, Rotation(overlap_s=0), None)
    assert rotated.earlier_secrets_until is None
    await record(hooks, 1)
    async with hooks.delivering():
        (received,) = await receiver.until(1)
    assert " " not in received.headers["webhook-signature"]
    Verifier(rotated.secret).verify(received.body, dict(received.headers))


async def test_two_workers_never_deliver_a_webhook_at_the_same_time(
    hooks: Hooks, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "PAGE", 3)
    made = await hooks.create(NewWebhook(url=receiver.url))
    async with hooks.delivering(), hooks.delivering(), hooks.delivering():
        await asyncio.gather(*(record(hooks, 5) for _ in range(12)))
        await hooks.until(made.id, lambda webhook: webhook.position == 66)
    assert receiver.positions == list(range(7, 67)), "in order, and none twice"
    assert receiver.at_once_most == 1


async def test_whatever_breaks_nothing_is_skipped(hooks: Hooks, receiver: Receiver) -> None:
    """Answers that fail, workers that come and go, time that flies: each event in its turn, some of them twice."""
    made = await hooks.create(NewWebhook(url=receiver.url))
    rng = random.Random(7)
    receiver.answer = lambda received: Answer(rng.choice((204, 200, 204, 500, 503, 302)))
    await record(hooks, 40)

    async def flies() -> None:
        while True:
            await hooks.pass_time(WAITS_S[-1])
            await asyncio.sleep(0.02)

    time_flies = asyncio.create_task(flies())
    async with hooks.delivering():
        for goal in (17, 28, 46):
            async with hooks.delivering():
                await hooks.until(made.id, lambda webhook, goal=goal: webhook.position >= goal)
    time_flies.cancel()
    assert list(dict.fromkeys(receiver.positions)) == list(range(7, 47))
    assert len(receiver.positions) > 40, "some came again"
    for before, after in itertools.pairwise(receiver.positions):
        assert after <= before + 1, "none is sent before the one in front of it has arrived"


async def test_a_slow_receiver_keeps_nobody_else_waiting(hooks: Hooks, receiver: Receiver) -> None:
    slow = await hooks.create(NewWebhook(url=receiver.url + "/slow"))
    fast = await hooks.create(NewWebhook(url=receiver.url + "/fast"))
    release = asyncio.Event()

    def answer(received: Received) -> Answer:
        return Answer(until=release if received.path.endswith("slow") else None)

    receiver.answer = answer
    async with hooks.delivering():
        await record(hooks, 5)
        await hooks.until(fast.id, lambda webhook: webhook.backlog == 0)
        assert (await hooks.get(slow.id)).position == 6
        release.set()
        await hooks.until(slow.id, lambda webhook: webhook.backlog == 0)


async def test_a_process_that_stalled_too_long_writes_nothing(hooks: Hooks, receiver: Receiver) -> None:
    """Its lease was over and another has gone on: what it knows does not count, and the event comes twice."""
    made = await hooks.create(NewWebhook(url=receiver.url))
    release = asyncio.Event()
    receiver.answer = lambda received: Answer(500, until=release) if len(receiver.received) == 1 else Answer()
    async with hooks.delivering():
        await record(hooks, 2)
        await receiver.until(1)
        async with hooks.delivering():
            await hooks.pass_time(queue.LEASE_S, leases=True)
            await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
        release.set()
        await record(hooks, 1)
        webhook = await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
    assert receiver.positions == [7, 7, 8, 9]
    assert webhook.last_failure is None


async def test_a_process_that_stalled_does_not_take_its_own_next_lease_for_the_one_it_lost(
    hooks: Hooks, receiver: Receiver
) -> None:
    made = await hooks.create(NewWebhook(url=receiver.url))
    release = asyncio.Event()
    receiver.answer = lambda received: Answer(500, until=release) if len(receiver.received) == 1 else Answer()
    async with hooks.delivering():
        await record(hooks, 1)
        await receiver.until(1)
        await hooks.pass_time(queue.LEASE_S, leases=True)
        await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
        release.set()
        await record(hooks, 1)
        webhook = await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
    assert receiver.positions == [7, 7, 8]
    assert webhook.last_failure is None


async def test_a_database_that_was_away_is_no_reason_to_wait_for_the_lease(
    hooks: Hooks, receiver: Receiver, server: str
) -> None:
    """All connections break while an answer is awaited: unless it can be written down, the event comes again."""
    made = await hooks.create(NewWebhook(url=receiver.url))
    release = asyncio.Event()
    receiver.answer = lambda received: Answer(until=None if release.is_set() else release)
    name = psycopg.conninfo.conninfo_to_dict(hooks.database.url)["dbname"]
    async with hooks.delivering():
        await record(hooks, 2)
        await receiver.until(1)
        async with await psycopg.AsyncConnection.connect(server, autocommit=True) as killer:
            await killer.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
                (name,),
            )
        release.set()
        webhook = await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
    assert receiver.positions in ([7, 7, 8], [7, 8])
    assert webhook.last_failure is None


async def test_stopping_ends_what_is_under_way_and_leaves_it_to_others(
    hooks: Hooks, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "GRACE_S", 0.05)
    made = await hooks.create(NewWebhook(url=receiver.url))
    receiver.answer = lambda received: Answer(until=asyncio.Event())
    await record(hooks, 1)
    async with hooks.delivering():
        await receiver.until(1)
    webhook = await hooks.get(made.id)
    assert (webhook.position, webhook.attempts, webhook.last_failure) == (6, 0, None)
    receiver.answer = lambda received: Answer()
    async with hooks.delivering():  # without time to pass: the lease was given back
        await hooks.until(made.id, lambda webhook: webhook.backlog == 0)
    assert receiver.positions == [7, 7]


async def test_no_answer_in_time_is_a_failure(
    hooks: Hooks, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "ATTEMPT_S", 0.1)
    made = await hooks.create(NewWebhook(url=receiver.url))
    receiver.answer = lambda received: Answer(until=asyncio.Event())
    await record(hooks, 1)
    async with hooks.delivering():
        webhook = await hooks.until(made.id, lambda webhook: webhook.attempts == 1)
    assert webhook.last_failure is not None
    assert webhook.last_failure.status_code is None
    assert webhook.last_failure.reason.startswith("no answer within")
