"""The verifier that needs nothing of ours finds what ours finds, on healthy journals and on damaged ones."""

import base64
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from ledger import chain, merkle
from ledger.book import READER
from ledger.errors import Damaged
from ledger.merkle import Growing, Range, Subtree
from ledger.notes import Checkpoint, Verifier, signed
from ledger.recorded import Recorded, event_json
from ledger.verify import StoredEvent
from ledger.verify import Verifier as Ours
from projections.exports import Ndjson
from tests.ledger.test_notes import KEY
from tests.support.journals import SCENARIOS, exported, played, stored

PROGRAM = Path(__file__).parents[2] / "deploy" / "verify_journal.py"
Rows = list[tuple[int, bytes, bytes]]


def theirs(*arguments: object) -> tuple[int, str]:
    """Status and output of the program, in a Python that sees no package of ours."""
    command = [sys.executable, "-P", str(PROGRAM), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/")
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout


def is_ours_content(rows: Rows, head: tuple[int, bytes]) -> bool:
    """Whether `skuggbok verify` has no finding in the journal."""
    verifier, findings = Ours("test"), list[object]()
    for position, body, hash_ in rows:
        try:
            said = READER.read(position, body, hash_)
        except Damaged:
            return False
        columns = (said.type, said.table, said.event.character_concerned, said.at, said.recorded_at)
        findings += verifier.see(StoredEvent(position, body, hash_, *columns))[0]
    return not [*findings, *verifier.end(*head)]


def written(folder: Path, rows: Rows, head: tuple[int, bytes]) -> Path:
    file = folder / "journal.ndjson"
    first = {"format": "skuggbok.journal.v1", "larp": "test", "position": head[0], "hash": head[1].hex()}
    file.write_bytes(b"\n".join([json.dumps(first).encode(), *(event_json(*row) for row in rows), b""]))
    return file


@pytest.fixture(scope="module")
def journal() -> list[Recorded]:
    """Skuggkast with dice of the service, so that there are sealed values that were uncovered, and with notes."""
    return played(SCENARIOS["skuggkast-credit"]).journal


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_sample_game_is_well(name: str, tmp_path: Path) -> None:
    file = tmp_path / "journal.ndjson"
    journal = played(SCENARIOS[name]).journal
    file.write_text(exported(journal, Ndjson()))
    status, said = theirs(file)
    assert (status, said) == (0, f"test: all is well, {len(journal)} events\n")
    assert is_ours_content(list(stored(journal)), (len(journal), journal[-1].hash))


# ---- damages: to the stored rows, with the hashes as they were, or with hashes that were made to fit ----


def at(rows: Rows, position: int, change: Callable[[bytes], bytes]) -> Rows:
    return [(p, change(body) if p == position else body, hash_) for p, body, hash_ in rows]


def relinked(rows: Iterable[tuple[int, bytes, bytes]]) -> Rows:
    """Hashes for whatever it says: a forger knows how to reckon, too."""
    previous, made = chain.GENESIS, Rows()
    for position, (_, body, _) in enumerate(rows, start=1):
        previous = chain.link("test", position, previous, body)
        made.append((position, body, previous))
    return made


def position_of(rows: Rows, text: bytes) -> int:
    return next(position for position, body, _ in rows if text in body)


def bigger(body: bytes) -> bytes:
    return re.sub(rb'"amount":(\d+)\}\]\}$', rb'"amount":9\1}]}', body)


def other_value(body: bytes) -> bytes:
    changed = re.sub(rb'("nonce":"\w+","value":)', rb'\1[1,1,1,"x"],"more":', body, count=1)
    assert changed != body
    return changed


def sealing_of(rows: Rows) -> bytes:
    """What stands where a value was sealed that is uncovered later."""
    shown = next(body for _, body, _ in rows if UNCOVERED in body)
    found = re.search(rb'"uncovered":\[\{("commitment":"..)', shown)
    assert found
    return found[1]


PAID = b'"from":"purse/'
GRANT, UNCOVERED = b'"purse.granted"', b'"nonce":"'
DAMAGES: dict[str, Callable[[Rows], Rows]] = {
    "an amount": lambda rows: at(rows, position_of(rows, GRANT), bigger),
    "a memo": lambda rows: at(rows, position_of(rows, GRANT), lambda body: body.replace(b'"at":"2026', b'"at":"2025')),
    "an event that is gone": lambda rows: [row for row in rows if row[0] != 5],
    "the first event": lambda rows: rows[1:],
    "the last event": lambda rows: rows[:-1],
    "an event twice": lambda rows: [*rows[:5], rows[4], *rows[5:]],
    "two events that change places": lambda rows: [*rows[:4], rows[5], rows[4], *rows[6:]],
    "two bodies that change places": lambda rows: [
        *rows[:4],
        (5, rows[5][1], rows[4][2]),
        (6, rows[4][1], rows[5][2]),
        *rows[6:],
    ],
    "a hash": lambda rows: [*rows[:4], (5, rows[4][1], bytes(32)), *rows[5:]],
    "a body that is no JSON": lambda rows: at(rows, 5, lambda body: body[:-9]),
    "a space": lambda rows: at(rows, 5, lambda body: body.replace(b":", b": ", 1)),
    "nothing but the head": lambda rows: [],
    "an uncovered value": lambda rows: at(rows, position_of(rows, UNCOVERED), other_value),
    "more money than there is, with fitting hashes": lambda rows: relinked(
        at(rows, position_of(rows, PAID), lambda body: re.sub(PAID + rb'[^}]+"amount":', rb"\g<0>9999", body, count=1))
    ),
    "an amount of nothing, with fitting hashes": lambda rows: relinked(
        at(rows, position_of(rows, GRANT), lambda body: re.sub(rb'"amount":\d+\}\]\}$', b'"amount":0}]}', body))
    ),
    "another nonce, with fitting hashes": lambda rows: relinked(
        at(rows, position_of(rows, UNCOVERED), lambda body: re.sub(rb'"nonce":"..', b'"nonce":"ab', body, count=1))
    ),
    "another commitment, with fitting hashes": lambda rows: relinked(
        at(rows, position_of(rows, sealing_of(rows)), lambda body: body.replace(sealing_of(rows), b'"commitment":"zz'))
    ),
    "a body that is a list, with fitting hashes": lambda rows: relinked(at(rows, 5, lambda body: b"[]")),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_journal_is_damaged_for_both(what: str, journal: list[Recorded], tmp_path: Path) -> None:
    healthy = list(stored(journal))
    rows = DAMAGES[what](healthy)
    assert rows != healthy, "this damages something"
    head = (len(healthy), healthy[-1][2]) if "fitting" not in what else (len(rows), rows[-1][2])
    status, said = theirs(written(tmp_path, rows, head))
    assert (status, is_ours_content(rows, head)) == (1, False), said
    assert "DAMAGED" in said
    assert re.search(r"^position \d+: .+ \(\w+\)$", said, re.MULTILINE), said


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b"[]\n", b"no\n", b'{"format":"x","larp":"a","position":1,"hash":""}\n']
)
def test_what_is_no_journal_is_told(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "journal.ndjson"
    file.write_bytes(content)
    status, said = theirs(file)
    assert status == 1
    assert "not that of a journal.ndjson" in said


# ---- checkpoints and proofs ----


def roots_of(journal: list[Recorded]) -> list[bytes]:
    """The root for every size, from 0 on."""
    growing, roots = Growing(), [merkle.EMPTY]
    for event in journal:
        growing.add(event.hash)
        roots.append(growing.root)
    return roots


def proof_of(journal: list[Recorded], position: int, old: int, note: str) -> dict[str, object]:
    """As the API answers it."""
    hashes = [merkle.leaf(event.hash) for event in journal]

    def hash_of(subtree: Subtree) -> bytes:
        return merkle.complete_root(hashes[subtree.index << subtree.height : (subtree.index + 1) << subtree.height])

    def texts(ranges: list[Range]) -> list[str]:
        return [base64.b64encode(merkle.root_of(range_, hash_of)).decode() for range_ in ranges]

    size = len(journal)
    return {
        "position": position,
        "hash": journal[position - 1].hash.hex(),
        "inclusion": texts(merkle.inclusion(position - 1, size)),
        "consistency": {
            "from": old,
            "root": texts([Range(0, old)])[0],
            "hashes": texts(merkle.consistency(old, size)),
        },
        "checkpoint": note,
    }


def test_a_checkpoint_and_a_proof_are_checked(journal: list[Recorded], tmp_path: Path) -> None:
    file, roots, name = tmp_path / "journal.ndjson", roots_of(journal), "skuggbok/0123456789abcdef/test"
    file.write_text(exported(journal, Ndjson()))
    key = Verifier(name, KEY.public_key().public_bytes_raw())
    size = len(journal)
    note = signed(Checkpoint(name, size, roots[size], journal[-1].hash).text, name, KEY)
    earlier = signed(Checkpoint(name, 9, roots[9], journal[8].hash).text, name, KEY)
    (tmp_path / "note").write_text(earlier)
    proof = proof_of(journal, 7, 9, note)
    (tmp_path / "proof").write_text(json.dumps(proof))
    both = ("--checkpoint", tmp_path / "note", "--proof", tmp_path / "proof")
    assert theirs(file, *both, "--key", key) == (0, f"test: all is well, {size} events\n")
    status, said = theirs(file, *both)
    assert (status, said.count("was not checked")) == (0, 2)

    def refused(words: str) -> None:
        status, said = theirs(file, *both, "--key", key)
        assert status == 1, words
        assert words in said

    (tmp_path / "note").write_text(earlier.replace("\n9\n", "\n8\n"))
    refused("signature is not one of this")
    other = Checkpoint(name, 9, roots[8], journal[8].hash)
    (tmp_path / "note").write_text(signed(other.text, name, KEY))
    refused("not the one whose 9 events")
    other = Checkpoint(name, 9, roots[9], journal[7].hash)
    (tmp_path / "note").write_text(signed(other.text, name, KEY))
    refused("not the one whose 9 events")
    (tmp_path / "note").write_text(earlier)
    for change, words in (
        ({"hash": journal[7].hash.hex()}, "not one of those"),
        ({"position": 8}, "not one of those"),
        ({"inclusion": []}, "shorter"),
        ({"position": size + 1}, "does not have"),
        ({"consistency": {**proof["consistency"], "from": 8}}, "longer"),  # type: ignore[dict-item]
        ({"checkpoint": "nothing"}, "checkpoint"),
    ):
        (tmp_path / "proof").write_text(json.dumps(proof | change))
        refused(words)


def test_a_journal_that_was_written_anew_contradicts_its_checkpoint(journal: list[Recorded], tmp_path: Path) -> None:
    """Who has the database can make everything fit, except what was signed and kept elsewhere."""
    name, roots, healthy = "skuggbok/0123456789abcdef/test", roots_of(journal), list(stored(journal))
    (tmp_path / "note").write_text(signed(Checkpoint(name, 9, roots[9], journal[8].hash).text, name, KEY))
    key = Verifier(name, KEY.public_key().public_bytes_raw())
    forged = relinked(at(healthy, 2, lambda body: body.replace(b'"at":"2026', b'"at":"2025')))
    assert is_ours_content(forged, (len(forged), forged[-1][2]))
    file = written(tmp_path, forged, (len(forged), forged[-1][2]))
    assert theirs(file)[0] == 0
    assert theirs(file, "--checkpoint", tmp_path / "note", "--key", key)[0] == 1


def test_it_can_be_read_in_one_sitting() -> None:
    text = PROGRAM.read_text()
    assert text.count("\n") <= 250
    imported = set(re.findall(r"^import (\w+)|^from (\w+)", text, re.MULTILINE))
    assert {a or b for a, b in imported} <= set(sys.stdlib_module_names)
