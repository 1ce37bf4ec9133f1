"""Under a real server: streams end at the signal, requests that run are answered, the log is JSON lines."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.api.streaming_service import GRACE_S, SLOW_S

DEADLINE_S = 20
ENDED_S = 1.0
"""How long after the signal a stream may still be open."""


class Running:
    def __init__(self, process: asyncio.subprocess.Process, client: httpx.AsyncClient) -> None:
        self.process = process
        self.client = client

    async def end(self, number: signal.Signals) -> list[dict[str, object]]:
        """Send a signal and wait for the end; what was logged is returned."""
        self.process.send_signal(number)
        _, logged = await asyncio.wait_for(self.process.communicate(), DEADLINE_S)
        return [json.loads(line) for line in logged.splitlines()]


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[Running]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.api.streaming_service", database_url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    port = int(await asyncio.wait_for(process.stdout.readline(), DEADLINE_S))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=DEADLINE_S) as client:
        await _until_it_answers(client)
        yield Running(process, client)
    if process.returncode is None:
        process.kill()
        await process.wait()


async def _until_it_answers(client: httpx.AsyncClient) -> None:
    for _ in range(400):
        try:
            if (await client.get("/health/live")).is_success:
                return
        except httpx.ConnectError:
            await asyncio.sleep(0.05)
    raise AssertionError("the service does not answer")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_streams_at_once_and_lets_running_requests_finish(
    service: Running, number: signal.Signals
) -> None:
    slow = asyncio.create_task(service.client.get("/slow"))
    async with service.client.stream("GET", "/stream") as streaming:
        lines = streaming.aiter_lines()
        assert await anext(lines) == "begun"
        ending = asyncio.create_task(service.end(number))
        signalled = time.monotonic()
        assert await anext(lines) == "ended"
        assert time.monotonic() - signalled < ENDED_S
    assert (await slow).json() == {"done": True}
    logged = await ending
    assert time.monotonic() - signalled < SLOW_S + GRACE_S / 2, "nothing waits for the end of its patience"
    assert {line["route"] for line in logged if line["event"] == "request"} == {"/health/live", "/slow", "/stream"}


async def test_every_line_on_stderr_is_json_and_holds_no_canary(service: Running) -> None:
    """The server's own lines too; it has no log of requests beside ours."""
    canary = "canary-7f3a"
    client, base = service.client, "/api/v1/larps/north/transfers"
    await client.post(base, content=canary, headers={"authorization": f"Bearer {canary}"})
    await client.get(f"/{canary}?{canary}={canary}")
    answer = await client.get("/health/ready", headers={"x-request-id": "evening-7"})
    assert answer.headers["x-request-id"] == "evening-7"
    logged = await service.end(signal.SIGTERM)
    requests = [line for line in logged if line["event"] == "request"]
    assert [line["status"] for line in requests if line["route"] != "/health/live"] == [401, 404, 200]
    assert all({"level", "timestamp", "event"} <= line.keys() for line in logged)
    assert canary not in json.dumps(logged)


async def test_what_http_itself_does_not_know_is_no_fault(service: Running, world: dict[str, str]) -> None:
    """Raw bytes on the wire: a broken body, an impossible length, a body that never comes."""
    port = service.client.base_url.port
    head = (
        b"POST /api/v1/larps/north/transfers HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        b"authorization: Bearer %b\r\n" % world["banker"].encode()
    )
    for sent in (
        head + b"content-length: -1\r\n\r\n",
        head + b"content-length: 10\r\n\r\n{",
        head + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET /api/v1/larps/%00/purses?\xff HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a b\r\n\r\n",
        b"nonsense\r\n\r\n",
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        writer.write_eof()
        answer = await asyncio.wait_for(reader.read(), DEADLINE_S)
        assert b" 500 " not in answer.partition(b"\r\n")[0], sent
        writer.close()
    assert (await service.client.get("/health/live")).is_success
    logged = await service.end(signal.SIGTERM)
    assert not [line for line in logged if line["event"] == "fault"], "none of it is ours"
    assert [line for line in logged if line["event"] == "request" and line.get("role") == "banker"]
