"""Slow and greedy clients are cut off, with a problem where they can read one; web pages of others may not ask."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx
import pytest
import uvicorn
from litestar import Litestar

from api import edges, protocol
from api.app import create_app
from api.cors import Cors
from ledger.database import Database
from ledger.settings import Settings
from ledger.writer import Writers
from tests.api.conftest import answering
from tests.api.support import BASE, NORTH, Api, problem

ORIGIN = "https://tools.example"
DEADLINE_S = 20


@asynccontextmanager
async def listening(app: Litestar) -> AsyncIterator[int]:
    """The port of a server in this process, with the protocol that the service has."""
    config = uvicorn.Config(
        app, port=0, http=protocol.Protocol, ws="none", log_config=None, access_log=False, lifespan="off"
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve())  # without handlers of signals, which are the tests' own
    await until(lambda: server.started)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await serving


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(DEADLINE_S * 50):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never comes")


@pytest.fixture
async def port(app: Litestar, client: httpx.AsyncClient) -> AsyncIterator[int]:
    async with listening(app) as number:
        yield number


async def sent(port: int, *parts: bytes) -> tuple[int, dict[str, object]]:
    """The status and problem that come before the server closes the connection; 0 for none."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1_000_000)
    for part in parts:
        writer.write(part)
        await writer.drain()
    answer = await asyncio.wait_for(reader.read(), DEADLINE_S)
    writer.close()
    if not answer:
        return 0, {}
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    return int(head.split(b" ")[1]), json.loads(body)


async def test_headers_that_do_not_come_are_not_waited_for(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_PATIENCE_S", 0.2)
    assert await sent(port) == (0, {}), "who says nothing is told nothing"
    status, said = await sent(port, b"GET /health/live HTTP/1.1\r\nhost: x\r\n")
    assert (status, said["code"]) == (408, "request_timeout")


async def test_a_second_request_has_no_more_time_than_the_first(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_PATIENCE_S", 0.2)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /health/live HTTP/1.1\r\nhost: x\r\n\r\nGET /health/")
    answer = await asyncio.wait_for(reader.read(), DEADLINE_S)
    assert answer.count(b"HTTP/1.1 200 OK") == 1
    assert answer.count(b"HTTP/1.1 408 Request Timeout") == 1
    writer.close()


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nx: " + b"a" * 40_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nx: " + b"a" * 40_000,
        b"GET / HTTP/1.1\r\n" + b"x: a\r\n" * 20_000 + b"\r\n",
    ],
    ids=["a long path", "a long header", "a header without end", "many headers"],
)
async def test_a_head_of_any_length_is_not_read(port: int, head: bytes) -> None:
    status, said = await sent(port, head)
    assert (status, said["code"]) == (431, "headers_too_large")


@pytest.mark.parametrize(
    "tail",
    [b"x: a\r\n" * 400_000, b"x: " + b"a" * 2_000_000],
    ids=["many trailers", "a trailer without end"],
)
async def test_what_stands_behind_a_body_is_not_read_without_end(port: int, api: Api, tail: bytes) -> None:
    before = await api.head()
    assert b" 201 " not in await answered(port, grant(api, tail))
    assert await api.head() == before, "its body never ended"


async def test_a_trailer_is_no_header(port: int, api: Api) -> None:
    answer = await answered(port, grant(api, b'if-match: "999"\r\n\r\n'))
    assert answer.startswith(b"HTTP/1.1 201 "), "what stands behind a body is no condition"


def grant(api: Api, trailers: bytes) -> bytes:
    """A grant whose body comes in chunks, with something behind it."""
    body = b'{"to":"alva","asset":"krona","amount":1}'
    head = (
        f"POST {NORTH}/grants HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {api.tokens['organiser']}\r\n"
        "content-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    return head.encode() + b"%x\r\n%b\r\n0\r\n" % (len(body), body) + trailers


async def answered(port: int, request: bytes) -> bytes:
    """All that comes before the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        return await asyncio.wait_for(reader.read(), DEADLINE_S)
    except ConnectionError:
        return b""  # it was closed with something still on its way
    finally:
        writer.close()


async def test_what_is_no_http_is_a_problem(port: int) -> None:
    status, said = await sent(port, b"nonsense\r\n\r\n")
    assert (status, said["code"]) == (400, "malformed")


@pytest.mark.parametrize(
    "line", ["OPTIONS *", "GET http://[::1", "GET *", "CONNECT x:1", "GET //", "GET /%", "QUERY /"]
)
async def test_addresses_that_are_no_path(port: int, line: str) -> None:
    status, _ = await sent(port, f"{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
    assert status in (400, 404, 405)


async def test_a_body_that_does_not_come_is_not_waited_for(
    port: int, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edges, "BODY_PATIENCE_S", 0.2)
    before = await api.head()
    status, said = await sent(
        port,
        f"POST {NORTH}/grants HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {api.tokens['organiser']}\r\n".encode(),
        b'content-type: application/json\r\ncontent-length: 70\r\n\r\n{"to":"alva",',
    )
    assert (status, said["code"]) == (408, "request_timeout")
    assert await api.head() == before


async def test_lines_that_do_not_come_end_the_batch(port: int, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that came are carried out; the last result says why nothing follows."""
    monkeypatch.setattr(edges, "LINES_PATIENCE_S", 0.5)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    line = b'{"command":"grant","to":"alva","asset":"krona","amount":1}\n'
    head = (
        f"POST {NORTH}/commands HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {api.tokens['organiser']}\r\n"
        "content-type: application/x-ndjson\r\ncontent-length: 7000\r\n\r\n"
    )
    writer.write(head.encode() + line)
    answer = await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), DEADLINE_S)
    results = [json.loads(found) for found in answer.splitlines() if found.startswith(b"{")]
    assert [(result["status"], result.get("code")) for result in results] == [(201, None), (408, "request_timeout")]
    writer.close()


async def test_whoever_does_not_read_is_not_waited_for(
    port: int, api: Api, app: Litestar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stalled export ends, and gives its connection to the database back."""
    monkeypatch.setattr(protocol, "READING_PATIENCE_S", 0.2)
    lines = b'{"command":"grant","to":"alva","asset":"krona","amount":1,"memo":"' + b"x" * 2000 + b'"}\n'
    headers = {"content-type": "application/x-ndjson"}
    await api.call("POST", f"{NORTH}/commands", "organiser", content=lines * 3000, headers=headers)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1000)
    writer.write(
        f"GET {NORTH}/exports/journal.ndjson HTTP/1.1\r\nhost: x\r\n"
        f"authorization: Bearer {api.tokens['organiser']}\r\n\r\n".encode()
    )
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    await until(lambda: not app.edges.running)  # type: ignore[attr-defined]  # a Service's

    def is_whole() -> bool:
        statistics = api.database.statistics()
        return statistics["pool_available"] == statistics["pool_size"]

    await until(is_whole)
    writer.close()


async def test_more_than_can_be_answered_at_once_is_told_to_come_again(
    client: httpx.AsyncClient, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edges, "REQUESTS_MAX", 0)
    answer = await api.call("GET", NORTH, "organiser")
    assert problem(answer) == (503, "unavailable")
    assert answer.headers["retry-after"] == "1"
    for probe in edges.PROBES:
        assert (await client.get(probe)).is_success


# ---- web pages of others ----


@pytest.fixture
async def named(database: Database, writers: Writers) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application that one origin may ask."""
    settings = Settings(cors_origins=f"{ORIGIN},http://localhost:5173")
    async with answering(create_app(database, writers, settings)) as client:
        yield client


async def test_no_page_may_ask_unless_it_is_named(client: httpx.AsyncClient) -> None:
    asked = {"origin": ORIGIN, "access-control-request-method": "POST"}
    for answer in (
        await client.options(f"{NORTH}/transfers", headers=asked),
        await client.get("/health/live", headers=asked),
        await client.get(NORTH, headers=asked),
    ):
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert "vary" not in answer.headers


async def test_a_page_that_is_named_may_ask_and_read_everything(named: httpx.AsyncClient, api: Api) -> None:
    asked = {"origin": ORIGIN, "access-control-request-method": "POST", "access-control-request-headers": "if-match"}
    answer = await named.options(f"{NORTH}/transfers", headers=asked)
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert {"authorization", "idempotency-key", "if-match"} <= set(
        answer.headers["access-control-allow-headers"].split(", ")
    )
    assert "access-control-allow-credentials" not in answer.headers
    for path, status in (("/health/live", 200), (NORTH, 401), ("/nowhere", 404)):
        answer = await named.get(path, headers={"origin": ORIGIN})
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == ORIGIN, "problems too"
        assert answer.headers["vary"] == "Origin"
        assert "retry-after" in answer.headers["access-control-expose-headers"]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "https://tools.example.evil.example", ""])
async def test_no_other_page_may(named: httpx.AsyncClient, origin: str) -> None:
    asked = {"origin": origin, "access-control-request-method": "POST"}
    for answer in (await named.options(f"{NORTH}/transfers", headers=asked), await named.get(BASE, headers=asked)):
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["vary"] == "Origin"


def test_without_a_setting_no_origin_is_named() -> None:
    assert Cors("").headers([(b"origin", b"")]) == []
