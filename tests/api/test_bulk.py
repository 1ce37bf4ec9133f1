"""Many commands at once: a result a line, in order; each for itself, or all or none."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from api import bulk
from api.spool import MEMORY_BYTES_MAX, Spool
from tests.api.support import BASE, NORTH, Api
from tests.support.service import ADMIN_TOKEN, Service

NDJSON = {"content-type": "application/x-ndjson"}
COMMANDS = f"{NORTH}/commands"
Json = dict[str, Any]


def lines(*commands: Json) -> bytes:
    return b"\n".join(json.dumps(command).encode() for command in commands)


async def send(api: Api, who: str, content: bytes, query: str = "") -> list[Json]:
    answer = await api.call("POST", COMMANDS + query, who, content=content, headers=NDJSON)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.content.splitlines()]


def transfer(amount: int = 1, **more: Any) -> Json:
    return {"command": "transfer", "from": "alva", "to": "berit", "asset": "krona", "amount": amount, **more}


async def krona(api: Api, character: str) -> int:
    purse = await api.ok("GET", f"{NORTH}/purses/{character}", "organiser")
    return int(purse["balances"].get("krona", 0))


EVERYTHING: Sequence[Json] = (
    {"command": "asset", "asset": "mark", "kind": "token", "name": "Mark"},
    {"command": "character", "character": "dora", "name": "Dora", "credit_limit": {"krona": 5}},
    {"command": "grant", "to": "dora", "asset": "krona", "amount": 20},
    {"command": "collection", "from": "dora", "asset": "krona", "amount": 2},
    transfer(3, memo="for the ferry"),
    {"command": "iou", "debtor": "dora", "creditor": "alva", "asset": "krona", "amount": 4},
    {"command": "settlement", "debtor": "dora", "creditor": "alva", "asset": "krona", "amount": 1},
    {"command": "assignment", "debtor": "dora", "from": "alva", "to": "cato", "asset": "krona", "amount": 2},
    {"command": "forgival", "debtor": "dora", "creditor": "cato", "asset": "krona", "amount": 1},
    {
        "command": "table",
        "table": "eagle",
        "game": "skuggkast",
        "seats": ["alva", "berit"],
        "stake": {"asset": "krona", "amount": 2},
        "rules": {"starter": "alva"},
    },
    {"command": "action", "table": "eagle", "action": "leave", "seat": "berit"},
)


async def test_every_command_has_its_name(api: Api) -> None:
    head = await api.head()
    results = await send(api, "organiser", lines(*EVERYTHING))
    assert [result["status"] for result in results] == [201] * len(EVERYTHING)
    positions = [result["position"] for result in results]
    assert positions == [*range(head + 1, head + 11), head + 12], "leaving ends the table: two events"
    (reversed_,) = await send(api, "organiser", lines({"command": "reversal", "position": head + 3, "reason": "x"}))
    assert reversed_["status"] == 409
    opening = dict(EVERYTHING[9], table="raven")
    void = {"command": "void", "table": "raven", "reason": "fire"}
    assert [r["status"] for r in await send(api, "organiser", lines(opening, void))] == [201, 201]


async def test_each_line_stands_alone(api: Api) -> None:
    results = await send(
        api,
        "organiser",
        lines(transfer(5), transfer(500), {"command": "dance"}, transfer(0)) + b"\n\nnot json\n" + lines(transfer(5)),
    )
    assert [(r["status"], r.get("code")) for r in results] == [
        (201, None),
        (409, "insufficient_funds"),
        (400, "malformed"),
        (400, "malformed"),
        (400, "malformed"),
        (201, None),
    ]
    assert "alva has 45 krona" in results[1]["detail"]
    assert await krona(api, "alva") == 40


async def test_a_line_may_do_what_its_sender_may_do_alone(api: Api) -> None:
    others = transfer(1) | {"from": "berit", "to": "alva"}
    plan = {"command": "settlement", "plan": []}
    keeper_only = {"command": "action", "table": "eagle", "action": "accept"}
    results = await send(api, "alva", lines(transfer(1), others, EVERYTHING[2], plan, keeper_only))
    assert [r["status"] for r in results] == [201, 403, 403, 403, 403]
    results = await send(api, "keeper", lines(transfer(1), EVERYTHING[9]))
    assert [r["status"] for r in results] == [403, 201]
    assert (await api.call("POST", COMMANDS, "tool", content=lines(transfer()), headers=NDJSON)).status_code == 403


async def test_a_key_on_a_line_is_used_once(api: Api) -> None:
    keyed = transfer(2, key="k1")
    results = await send(api, "alva", lines(keyed, keyed, transfer(3, key="k1")))
    assert [r["status"] for r in results] == [201, 200, 422]
    assert results[0]["position"] == results[1]["position"]
    assert [r["status"] for r in await send(api, "alva", lines(keyed))] == [200]
    assert await krona(api, "alva") == 48


@pytest.mark.parametrize(
    "line",
    [
        b'{"command":"transfer","from":"alva","to":"berit","asset":"krona","amount":1,"amount":9}',
        b'{"command":"transfer","from":"alva","to":"berit","asset":"krona","amount" :1,"amount":9}',
        b'{"command":"\xff"}',
        b'{"command":"transfer","from":"\xff","to":"berit","asset":"krona","amount":1}',
        b'{"command":"transfer","from":1e999,"to":"berit","asset":"krona","amount":1}',
        b'{"command":"transfer","key":"\xff","from":"alva","to":"berit","asset":"krona","amount":1}',
        b'{"command":["transfer"]}',
        b"[" * 5000,
    ],
)
async def test_a_line_that_is_no_good_is_refused_and_the_others_are_not(api: Api, line: bytes) -> None:
    """The same key twice, bytes that are no UTF-8, numbers that are none."""
    results = await send(api, "alva", line + b"\n" + lines(transfer(1)))
    assert [(r["status"], r.get("code")) for r in results] == [(400, "malformed"), (201, None)]
    results = await send(api, "alva", line + b"\n" + lines(transfer(1)), "?atomic=true")
    assert [r["code"] for r in results] == ["malformed", "batch_refused"]
    assert await krona(api, "alva") == 49


async def test_an_atomic_batch_is_sent_once_with_a_key_and_on_conditions(api: Api) -> None:
    async def sent(**headers: str) -> httpx.Response:
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        content = lines(transfer(2), transfer(3))
        return await api.call("POST", COMMANDS + "?atomic=true", "alva", content=content, headers=NDJSON | more)

    head = await api.head()
    first, again = await sent(idempotency_key="k"), await sent(idempotency_key="k")
    assert [json.loads(line) for line in first.content.splitlines()] == [
        {"status": 201, "position": head + 1},
        {"status": 201, "position": head + 2},
    ]
    assert [json.loads(line) for line in again.content.splitlines()] == [
        {"status": 200, "position": head + 1},
        {"status": 200, "position": head + 2},
    ]
    assert again.headers["idempotent-replayed"] == "true"
    stale = await sent(if_match=f'"{head}"')
    assert {json.loads(line)["code"] for line in stale.content.splitlines()} == {"stale_position"}
    assert await krona(api, "alva") == 45


async def test_a_stream_refuses_conditions_that_nobody_would_heed(api: Api) -> None:
    answer = await api.call(
        "POST", COMMANDS, "alva", content=lines(transfer()), headers=NDJSON | {"idempotency-key": "k"}
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")
    assert await krona(api, "alva") == 50


async def test_a_token_that_is_revoked_writes_no_further_line(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "LOOK_EVERY_S", 0)
    made = await api.ok("POST", f"{NORTH}/tokens", "organiser", {"role": "banker", "label": "short-lived"})
    api.tokens["banker2"] = made["token"]

    async def content() -> AsyncIterator[bytes]:
        yield lines(transfer(1)) + b"\n"
        await api.ok("DELETE", f"{NORTH}/tokens/{made['id']}", "organiser")
        yield lines(transfer(1)) + b"\n"

    headers = NDJSON | {"authorization": f"Bearer {made['token']}"}
    answer = await api.client.post(COMMANDS, content=content(), headers=headers)
    assert [json.loads(line)["status"] for line in answer.content.splitlines()] == [201, 401]
    assert await krona(api, "alva") == 49


async def test_all_or_none(api: Api) -> None:
    head = await api.head()
    back = transfer(55) | {"from": "berit", "to": "alva"}
    results = await send(api, "organiser", lines(transfer(50), transfer(1), back), "?atomic=true")
    assert [(r["status"], r["code"]) for r in results] == [
        (409, "batch_refused"),
        (409, "insufficient_funds"),
        (409, "batch_refused"),
    ]
    assert await api.head() == head
    results = await send(api, "organiser", lines(transfer(50), back), "?atomic=true")
    assert [(r["status"], r["position"]) for r in results] == [(201, head + 1), (201, head + 2)]
    malformed = await send(api, "organiser", lines(transfer(1), {"command": "x"}, transfer(1, key="k")), "?atomic=true")
    assert [r["code"] for r in malformed] == ["batch_refused", "malformed", "batch_refused"]
    assert await send(api, "organiser", b"", "?atomic=true") == []


async def test_no_dice_in_an_atomic_batch(api: Api) -> None:
    opening = EVERYTHING[9] | {"dice": "service"}
    roll = {"command": "action", "table": "eagle", "action": "roll", "seat": "alva"}
    results = await send(api, "organiser", lines(opening, roll), "?atomic=true")
    assert {r["code"] for r in results} == {"dice_in_batch"}
    assert (await api.call("GET", f"{NORTH}/tables/eagle", "organiser")).status_code == 404


async def test_what_is_too_long_is_said(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "LINE_BYTES_MAX", 200)
    monkeypatch.setattr(bulk, "ATOMIC_LINES_MAX", 2)
    results = await send(api, "alva", lines(transfer(1), transfer(1, memo="x" * 300), transfer(1)))
    assert [r["status"] for r in results] == [201, 400]
    assert "at most 200 bytes" in results[1]["detail"]
    answer = await api.call(
        "POST", COMMANDS + "?atomic=true", "alva", content=lines(*[transfer(1)] * 3), headers=NDJSON
    )
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    answer = await api.call("POST", COMMANDS, "alva", {"command": "transfer"})
    assert answer.status_code == 415


async def test_a_spool_keeps_the_order_through_memory_and_file() -> None:
    spool, sent = Spool(), b""
    for number in range(40):
        chunk = bytes([number]) * (MEMORY_BYTES_MAX // 10)
        spool.put(chunk)
        sent += chunk
    got = b""
    while len(got) < len(sent):
        got += await spool.get()
    assert got == sent
    spool.put(b"more")
    spool.end()
    assert await spool.get() == b"more"
    assert await spool.get() == b""
    spool.close()


async def test_results_come_while_lines_are_still_sent_and_memory_stays(database_url: str, tmp_path: Path) -> None:
    """A client may wait for each result, or read none before it has sent everything."""
    with Service(tmp_path, database_url=database_url) as service:
        admin = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
        async with httpx.AsyncClient(base_url=service.address, timeout=60) as client:
            made = await client.post(
                f"{BASE}/larps/north/tokens", json={"role": "organiser", "label": "x"}, headers=admin
            )
            headers = NDJSON | {"Authorization": f"Bearer {made.json()['token']}"}
            await talk(service, headers)
            process = psutil.Process(service.process.pid if service.process else 0)
            before = process.memory_info().rss
            line = json.dumps({"command": "no such", "memo": "x" * 900}).encode() + b"\n"

            async def many() -> AsyncIterator[bytes]:
                for _ in range(300):
                    yield line * 100

            answer = await client.post(COMMANDS, content=many(), headers=headers)
            assert len(answer.content.splitlines()) == 30_000
            assert process.memory_info().rss - before < 60_000_000


async def talk(service: Service, headers: dict[str, str]) -> None:
    """Send a line, read its result, send the next, over one request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    head = [
        f"POST {COMMANDS} HTTP/1.1",
        "Host: x",
        "Transfer-Encoding: chunked",
        *(f"{k}: {v}" for k, v in headers.items()),
    ]
    writer.write("\r\n".join([*head, "", ""]).encode())
    for amount in (1, 2, 3):
        line = lines(transfer(amount)) + b"\n"
        writer.write(b"%x\r\n%b\r\n" % (len(line), line))
        await writer.drain()
        while not (found := await asyncio.wait_for(reader.readline(), 20)).startswith(b'{"status"'):
            pass
        assert json.loads(found)["status"] == 201
    writer.write(b"0\r\n\r\n")
    writer.close()
