"""Exports over HTTP: complete, in the right format, refused before they begin, and streamed under a real server."""

import asyncio
import csv
import io
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from ledger.journal import Journals
from ledger.messages import Actor
from ledger.purses import Transfer
from ledger.writer import Writers
from projections import exports
from tests.api.support import NORTH, Api, problem
from tests.support.service import Service

PROGRAM = Path(__file__).parents[2] / "deploy" / "verify_journal.py"
ROUTES = {
    "journal.ndjson": "application/x-ndjson",
    "journal.csv": "text/csv; charset=utf-8",
    "hledger": "text/plain; charset=utf-8",
    "beancount": "text/plain; charset=utf-8",
}


async def test_the_journal_is_complete_and_verifiable(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "PAGE", 3)
    text = (await api.call("GET", f"{NORTH}/exports/journal.ndjson", "tool")).content
    first, *events = text.splitlines()
    listed = await api.ok("GET", f"{NORTH}/events?limit=1000", "tool")
    assert [json.loads(event) for event in events] == listed["items"]
    last = listed["items"][-1]
    assert json.loads(first) == {
        "format": "skuggbok.journal.v1",
        "larp": "north",
        "position": last["position"],
        "hash": last["hash"],
    }
    file, proof, note = (tmp_path / name for name in ("journal.ndjson", "proof.json", "note"))
    checkpoint = await api.ok("GET", f"{NORTH}/checkpoint", "tool")
    file.write_bytes(text)
    note.write_text(checkpoint["note"])
    proof.write_text(json.dumps(await api.ok("GET", f"{NORTH}/events/5/proof?from=3", "tool")))
    given = ["--checkpoint", note, "--proof", proof, "--key", checkpoint["verifier_key"]]
    done = subprocess.run([sys.executable, PROGRAM, file, *given], capture_output=True, text=True)  # noqa: ASYNC221  # alone
    assert (done.returncode, done.stdout, done.stderr) == (0, f"north: all is well, {last['position']} events\n", "")


async def test_each_export_says_what_it_is_and_head_says_it_too(api: Api) -> None:
    for name, kind in ROUTES.items():
        whole = await api.call("GET", f"{NORTH}/exports/{name}", "organiser")
        head = await api.call("HEAD", f"{NORTH}/exports/{name}", "organiser")
        for answer in (whole, head):
            assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
            assert answer.headers["content-disposition"].startswith('attachment; filename="north-')
            assert answer.headers["etag"] == f'"{await api.head()}"'
        assert (bool(whole.content), head.content) == (True, b"")
    assert problem(await api.call("GET", f"{NORTH}/exports/nothing", "organiser")) == (404, "not_found")


async def test_a_spreadsheet_gets_each_posting_and_no_formula(api: Api) -> None:
    body = {"from": "alva", "to": "berit", "asset": "krona", "amount": 2, "memo": "=1+1"}
    await api.ok("POST", f"{NORTH}/transfers", "organiser", body)
    await api.ok("POST", f"{NORTH}/characters", "organiser", {"character": "dana", "name": "=cmd()"})
    text = (await api.call("GET", f"{NORTH}/exports/journal.csv", "organiser")).text
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    moved = [row for row in rows if row["type"] == "purse.transferred"]
    assert [(row["from"], row["to"], row["asset"], row["amount"]) for row in moved] == [
        ("purse/alva", "purse/berit", "krona", "2")
    ]
    assert len({row["position"] for row in rows}) == await api.head()
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for cell in row.values())


async def test_a_statement_is_as_the_api_lists_it(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "PAGE", 2)
    for amount in range(1, 6):
        await api.ok(
            "POST", f"{NORTH}/transfers", "alva", {"from": "alva", "to": "berit", "asset": "krona", "amount": amount}
        )
    text = (await api.call("GET", f"{NORTH}/purses/alva/statement.csv", "alva")).text
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    listed = (await api.ok("GET", f"{NORTH}/purses/alva/statement", "alva"))["items"]
    assert len(rows) == len(listed) == 6
    for row, item in zip(rows, listed, strict=True):
        assert {k: row[k] for k in ("position", "asset", "change", "balance", "type")} == {
            k: str(item[k]) for k in ("position", "asset", "change", "balance", "type")
        }
    assert problem(await api.call("GET", f"{NORTH}/purses/nobody/statement.csv", "organiser")) == (
        404,
        "unknown_character",
    )
    assert problem(await api.call("GET", f"{NORTH}/purses/berit/statement.csv", "alva")) == (403, "forbidden")


# ---- under a real server ----

ACTOR = Actor(role="organiser", token="tok_test")


async def _long_journal(journals: Journals, larp: str) -> None:
    """More than a socket's buffers hold."""
    writers = Writers(journals)
    for at in range(4_000 // 40):
        from_, to = ("alva", "berit") if at % 2 else ("berit", "alva")
        wish = Transfer(from_=from_, to=to, asset="krona", amount=1, memo="m" * 2_000)
        await asyncio.gather(*(writers.submit(larp, wish, ACTOR) for _ in range(40)))
    await writers.close()


async def test_a_reader_that_stops_reading_does_not_hold_the_service_up(
    api: Api, journals: Journals, database_url: str, tmp_path: Path
) -> None:
    """While one export hangs, others are answered; at SIGTERM it ends, broken, so that nobody takes it for whole."""
    await _long_journal(journals, "north")
    service = Service(tmp_path, database_url=database_url)
    await asyncio.to_thread(service.start)
    try:
        bearer = {"authorization": f"Bearer {api.tokens['tool']}"}
        path = f"{NORTH}/exports/journal.ndjson"
        with socket.create_connection(("127.0.0.1", service.port)) as slow:
            asked = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {bearer['authorization']}\r\n\r\n"
            slow.sendall(asked.encode())
            begun = await asyncio.to_thread(slow.recv, 4096)
            assert b"200 OK" in begun
            async with httpx.AsyncClient(base_url=service.address, timeout=30) as client:
                for _ in range(3):
                    assert (await client.get(f"{NORTH}/events/1", headers=bearer)).is_success
                whole = await client.get(path, headers=bearer)
            assert len(whole.content.splitlines()) == 1 + await api.head()
            assert service.process is not None
            service.process.send_signal(signal.SIGTERM)
            rest = bytearray(begun)
            while part := await asyncio.to_thread(_received, slow):
                rest += part
        assert await asyncio.to_thread(service.stop) == 0
        assert not rest.endswith(b"0\r\n\r\n"), "what was cut off is not ended as if it were whole"
        assert len(rest) < len(whole.content)
    finally:
        if service.process is not None and service.process.returncode is None:
            service.kill()


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except ConnectionError:
        return b""
