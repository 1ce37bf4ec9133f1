"""Checkpoints and proofs, as who has nothing but the API's answers checks them."""

import base64
from pathlib import Path

import psycopg

from ledger import merkle
from ledger.notes import Checkpoint, Verifier, opened
from tests.api.support import NORTH, Api, problem


def decoded(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


async def test_a_checkpoint_is_the_signed_head(api: Api) -> None:
    answer = await api.ok("GET", f"{NORTH}/checkpoint", "alva")
    verifier = Verifier.parse(answer["verifier_key"])
    checkpoint = Checkpoint.parse(opened(answer["note"], verifier))
    assert checkpoint.origin == verifier.name
    assert checkpoint.origin.endswith("/north")
    last = await api.ok("GET", f"{NORTH}/events/{checkpoint.size}", "tool")
    assert answer["position"] == checkpoint.size == await api.head()
    assert (answer["hash"], decoded(answer["root"])) == (last["hash"], checkpoint.root)
    assert checkpoint.head.hex() == last["hash"]


async def test_a_player_proves_what_the_receipt_said(api: Api) -> None:
    """With the receipt of Friday, the checkpoint of Friday and the answer of Sunday, and nobody's word for it."""
    body = {"from": "alva", "to": "berit", "asset": "krona", "amount": 3}
    receipt = (await api.ok("POST", f"{NORTH}/transfers", "alva", body))["events"][0]
    friday = await api.ok("GET", f"{NORTH}/checkpoint", "alva")
    for amount in range(1, 8):
        await api.ok("POST", f"{NORTH}/transfers", "alva", body | {"amount": amount})
    path = f"{NORTH}/events/{receipt['position']}/proof?from={friday['position']}"
    proof = await api.ok("GET", path, "alva")
    verifier = Verifier.parse(friday["verifier_key"])
    sunday = Checkpoint.parse(opened(proof["checkpoint"], verifier))
    inclusion = [decoded(hash_) for hash_ in proof["inclusion"]]
    leaf = merkle.leaf(bytes.fromhex(receipt["hash"]))
    assert merkle.includes(receipt["position"] - 1, sunday.size, leaf, inclusion, sunday.root)
    earlier = proof["consistency"]
    hashes = [decoded(hash_) for hash_ in earlier["hashes"]]
    assert (earlier["from"], earlier["root"]) == (friday["position"], friday["root"])
    assert merkle.extends(earlier["from"], decoded(friday["root"]), sunday.size, sunday.root, hashes)
    assert (await api.ok("GET", f"{NORTH}/events/{receipt['position']}/proof", "alva"))["consistency"] is None


async def test_what_is_not_there_is_not_proved(api: Api) -> None:
    head = await api.head()
    for path in ("0", str(head + 1), "x", "-1", "1" * 30, "%00"):
        answer = await api.call("GET", f"{NORTH}/events/{path}/proof", "tool")
        assert problem(answer) == (404, "unknown_position"), path
    assert problem(await api.call("GET", f"{NORTH}/events/1/proof?from={head + 1}", "tool")) == (
        404,
        "unknown_position",
    )
    for query in ("from=0", "from=x", "form=1", "from=1&from=2"):
        answer = await api.call("GET", f"{NORTH}/events/1/proof?{query}", "tool")
        assert problem(answer) == (400, "malformed"), query


async def test_a_journal_that_was_cut_is_not_signed(api: Api, database_url: str, tmp_path: Path) -> None:
    await api.ok("GET", f"{NORTH}/checkpoint", "tool")
    kept = {path: path.read_bytes() for path in _kept(tmp_path)}
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "UPDATE skuggbok.head SET position = event.position, hash = event.hash FROM skuggbok.event"
            " WHERE event.larp = head.larp AND event.position = 4"
        )
    for path in ("checkpoint", "events/1/proof"):
        answer = await api.call("GET", f"{NORTH}/{path}", "tool")
        assert problem(answer) == (409, "contradicted")
        assert "its tail was cut, or an older backup was put back" in answer.json()["detail"]
    assert kept == {path: path.read_bytes() for path in _kept(tmp_path)}


def _kept(folder: Path) -> list[Path]:
    found = list(folder.rglob("*.notes"))
    assert found, "a checkpoint was kept"
    return found
