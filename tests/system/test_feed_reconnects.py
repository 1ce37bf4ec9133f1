"""The feed of a real service: every event exactly once, over fifty connections and a database that dies between."""

import asyncio
import os
import signal
from pathlib import Path

import httpx

from tests.support.service import ADMIN_TOKEN, Service

RECONNECTS = 50
EACH = 4


async def listen(client: httpx.AsyncClient, after: int, count: int) -> list[int]:
    """The ids of at most `count` events after a position, over one connection."""
    ids: list[int] = []
    headers = {"accept": "text/event-stream", "last-event-id": str(after)}
    try:
        async with client.stream("GET", "/larps/north/events", headers=headers) as answer:
            if answer.status_code == 200:
                async for line in answer.aiter_lines():
                    if line.startswith("id: "):
                        ids.append(int(line.removeprefix("id: ")))
                        if len(ids) == count:
                            break
    except httpx.TransportError:
        pass
    return ids


async def test_every_event_exactly_once(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        base = f"{service.address}/api/v1"
        async with httpx.AsyncClient(base_url=base, timeout=60) as client:
            client.headers["authorization"] = f"Bearer {ADMIN_TOKEN}"
            await client.post("/larps", json={"larp": "north", "name": "North"})
            made = await client.post("/larps/north/tokens", json={"role": "organiser", "label": "x"})
            client.headers["authorization"] = f"Bearer {made.json()['token']}"
            writing = asyncio.create_task(write(client, RECONNECTS * EACH))
            seen: list[int] = []
            for number in range(RECONNECTS):
                if number == RECONNECTS // 2:
                    (pid_file,) = (tmp_path / "data").glob("*/postmaster.pid")
                    os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)
                while len(seen) < (number + 1) * EACH:
                    seen += await listen(client, seen[-1] if seen else 0, EACH)
            await writing
            head = (await client.get("/larps/north")).json()["position"]
            while seen[-1] < head:
                seen += await listen(client, seen[-1], 1)
    assert seen == list(range(1, head + 1))
    assert head > RECONNECTS * EACH


async def write(client: httpx.AsyncClient, count: int) -> None:
    """Each event once, whatever happens to the database meanwhile: that is what keys are for."""
    for number in range(count):
        body = {"asset": f"a{number}", "kind": "token", "name": "A"}
        while True:
            answer = await client.post("/larps/north/assets", json=body, headers={"idempotency-key": f"k{number}"})
            if answer.status_code in (200, 201):
                break
            assert answer.status_code == 503, answer.text
