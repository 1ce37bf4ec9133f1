"""The service as it runs: two processes, one of them killed in the middle; and one that is told to stop."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from standardwebhooks import Webhook as Verifier

from api.webhooks.attempts import WAITS_S
from api.webhooks.queue import LEASE_S
from tests.support.service import ADMIN_TOKEN, Service
from tests.webhooks.conftest import pass_time
from tests.webhooks.receiver import DEADLINE_S, Answer, Received, Receiver

STOP_S = 10.0
"""How long a service may take to stop while a receiver does not answer: 2 s of grace, and what slow machines take."""


@pytest.fixture(autouse=True)
def _private(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKUGGBOK_WEBHOOKS_PRIVATE", "allow")


class Client:
    """An organiser of `north` with a webhook."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.token = ADMIN_TOKEN

    async def ask(self, method: str, service: Service, path: str, body: Any = None) -> Any:
        headers = {"authorization": f"Bearer {self.token}"}
        answer = await self.http.request(method, f"{service.address}/api/v1/larps{path}", json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    async def begin(self, service: Service, url: str) -> Any:
        await self.ask("POST", service, "", {"larp": "north", "name": "North"})
        made = await self.ask("POST", service, "/north/tokens", {"role": "organiser", "label": "test"})
        self.token = made["token"]
        await self.ask("POST", service, "/north/assets", {"asset": "krona", "kind": "token", "name": "Krona"})
        await self.ask("POST", service, "/north/characters", {"character": "alva", "name": "Alva"})
        return await self.ask("POST", service, "/north/webhooks", {"url": url})

    async def grant(self, service: Service) -> None:
        await self.ask("POST", service, "/north/grants", {"to": "alva", "asset": "krona", "amount": 1})


async def holder(url: str) -> int:
    """The process id of whoever delivers."""
    async with await psycopg.AsyncConnection.connect(url) as connection:
        row = await (await connection.execute("SELECT leased_by FROM skuggbok.webhook")).fetchone()
    assert row is not None
    assert row[0] is not None, "somebody delivers"
    return int(row[0].partition("-")[0])


async def test_what_a_killed_process_was_delivering_is_taken_over(
    database_url: str, tmp_path: Path, receiver: Receiver
) -> None:
    """Nothing is skipped or out of order; what it had sent and not written down comes again with the same id."""
    held = asyncio.Event()
    receiver.answer = lambda received: Answer(until=held if received.position == 7 else None)
    with Service(tmp_path, database_url=database_url) as one, Service(tmp_path, database_url=database_url) as other:
        async with httpx.AsyncClient(timeout=DEADLINE_S) as http:
            client = Client(http)
            made = await client.begin(one, receiver.url)
            services = {service.process.pid: service for service in (one, other) if service.process is not None}
            for at in range(10):
                await client.grant((one, other)[at % 2])
            await receiver.until(4)  # positions 4, 5, 6, and 7, which is not answered
            killed = services.pop(await holder(database_url))
            await asyncio.to_thread(killed.kill)
            (left,) = services.values()
            await pass_time(database_url, LEASE_S, leases=True)
            receiver.answer = lambda received: Answer()
            await receiver.until(11)
            webhook = await _until(client, left, made["id"], lambda webhook: webhook["backlog"] == 0)
    assert receiver.positions == [4, 5, 6, 7, 7, 8, 9, 10, 11, 12, 13]
    assert receiver.received[3].headers["webhook-id"] == receiver.received[4].headers["webhook-id"]
    for received in receiver.received:
        Verifier(made["secret"]).verify(received.body, dict(received.headers))
    assert (webhook["state"], webhook["position"], webhook["last_failure"]) == ("active", 13, None)


async def _until(client: Client, service: Service, id_: str, state: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(DEADLINE_S):
        while True:
            webhook = await client.ask("GET", service, f"/north/webhooks/{id_}")
            if state(webhook):
                return webhook
            await asyncio.sleep(0.02)


async def test_stopping_waits_for_no_receiver_and_the_log_has_no_secret(
    database_url: str, tmp_path: Path, receiver: Receiver
) -> None:
    def answer(received: Received) -> Answer:
        if len(receiver.received) == 1:
            return Answer(500, {"x-canary": "canary-of-the-answer"}, endless=True)
        return Answer(until=asyncio.Event())

    receiver.answer = answer
    with Service(tmp_path, database_url=database_url) as service:
        async with httpx.AsyncClient(timeout=DEADLINE_S) as http:
            client = Client(http)
            made = await client.begin(service, receiver.url + "/canary-of-the-path?canary=1")
            await client.grant(service)
            await _until(client, service, made["id"], lambda webhook: webhook["attempts"] == 1)
            metrics = (await http.get(f"{service.address}/metrics")).text
            assert "skuggbok_webhook_backlog " in metrics
            assert "skuggbok_webhooks_failing " in metrics
            rotated = await client.ask("POST", service, f"/north/webhooks/{made['id']}/rotate-secret", {})
            await pass_time(database_url, WAITS_S[0] * 1.2)
            await receiver.until(2)
        begun = time.monotonic()
        assert await asyncio.to_thread(service.stop) == 0
        assert time.monotonic() - begun < STOP_S
        log = service.log()
    assert "canary" not in log
    for secret in (made["secret"], rotated["secret"]):
        assert secret.removeprefix("whsec_") not in log
