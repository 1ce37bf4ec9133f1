"""Checkpoints are signed only over a journal that continues what was signed before, and proofs lead to them."""

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from ledger import merkle
from ledger.database import Database
from ledger.errors import Unavailable, UnknownLarp, UnknownPosition
from ledger.kept import Kept
from ledger.notes import Checkpoint, opened, signed
from ledger.signing import KEY_FILE, SigningKeyError
from ledger.verify import Finding
from ledger.writer import Writers
from projections import tree
from projections.checkpoint_audit import audit_all, compare_all
from projections.checkpoints import Contradicted, Issued, Notary
from tests.ledger.test_notes import KEY, NAME, VERIFIER
from tests.ledger.test_writer import ACTOR, founded, rows, transfer

LARP = 1
PEM = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.fixture
def notary(tmp_path: Path) -> Notary:
    return Notary(tmp_path, key_in_database=False)


@pytest.fixture
async def evening(writers: Writers, monkeypatch: pytest.MonkeyPatch) -> None:
    """26 events, in tiles of four instead of 256, so that there are several levels of them."""
    monkeypatch.setattr(tree, "TILE_HEIGHT", 2)
    monkeypatch.setattr(tree, "TILE", 4)
    monkeypatch.setattr("projections.checkpoint_audit.TILE", 4)
    await founded(writers)
    for _ in range(20):
        await writers.submit("north", transfer(), ACTOR)


@pytest.fixture
def superuser(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        yield connection


async def issue(database: Database, notary: Notary) -> Issued:
    async with database.connection() as connection:
        return await notary.issue(connection, "north")


async def found(database: Database, notary: Notary) -> list[Finding]:
    async with database.connection() as connection, connection.transaction():
        kept = await notary.kept(connection, "north")
        position = (await rows(database.url, "SELECT position FROM skuggbok.head"))[0][0]
        assert isinstance(position, int)
        return list(await compare_all(connection, LARP, position, kept))


def kept_files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*.notes")}


async def event_hashes(url: str) -> list[bytes]:
    return [bytes(h) for (h,) in await rows(url, "SELECT hash FROM skuggbok.event ORDER BY position")]  # type: ignore[arg-type,call-overload]


async def test_a_checkpoint_is_of_the_head_and_signed(evening: None, database: Database, notary: Notary) -> None:
    issued = await issue(database, notary)
    hashes = await event_hashes(database.url)
    growing = merkle.Growing()
    for hash_ in hashes:
        growing.add(hash_)
    assert issued.checkpoint == Checkpoint(issued.verifier.name, 26, growing.root, hashes[-1])
    assert Checkpoint.parse(opened(issued.note, issued.verifier)) == issued.checkpoint
    assert issued.note == (await issue(database, notary)).note, "the same journal gives the same note"
    assert await rows(database.url, "SELECT level, count(*) FROM skuggbok.tree GROUP BY 1 ORDER BY 1") == [
        (1, 6),
        (2, 1),
    ]


async def test_every_event_and_every_earlier_size_is_proved(evening: None, database: Database, notary: Notary) -> None:
    growing, roots = merkle.Growing(), {}
    for hash_ in await event_hashes(database.url):
        growing.add(hash_)
        roots[growing.size] = growing.root
    async with database.connection() as connection:
        for position in range(1, 27):
            proof = await notary.prove(connection, "north", position, position)
            checkpoint = proof.issued.checkpoint
            leaf = merkle.leaf(proof.hash)
            assert merkle.includes(position - 1, 26, leaf, proof.inclusion, checkpoint.root)
            assert proof.old_root == roots[position]
            assert merkle.extends(position, roots[position], 26, checkpoint.root, proof.consistency)
        for position, old in ((0, None), (27, None), (1, 27)):
            with pytest.raises(UnknownPosition):
                await notary.prove(connection, "north", position, old)
        with pytest.raises(UnknownLarp):
            await notary.issue(connection, "nowhere")


async def test_a_later_checkpoint_only_appends(
    evening: None, database: Database, writers: Writers, notary: Notary
) -> None:
    first = await issue(database, notary)
    for _ in range(9):
        await writers.submit("north", transfer(), ACTOR)
    async with database.connection() as connection:
        proof = await notary.prove(connection, "north", 30, first.checkpoint.size)
        kept = [checkpoint.size for checkpoint in (await notary.kept(connection, "north")).all()]
    second = proof.issued.checkpoint
    assert (second.size, kept) == (35, [26, 35])
    assert merkle.extends(26, first.checkpoint.root, 35, second.root, proof.consistency)
    assert await found(database, notary) == []


TAMPERINGS = {
    "a tail that is cut": (
        "DELETE FROM skuggbok.event WHERE position > 20;"
        " UPDATE skuggbok.head SET position = 20, hash = (SELECT hash FROM skuggbok.event WHERE position = 20)",
        20,
        "its tail was cut",
    ),
    "a journal that was written anew, with hashes that fit": (
        "UPDATE skuggbok.event SET hash = sha256(hash) WHERE position >= 22;"
        " UPDATE skuggbok.head SET hash = (SELECT hash FROM skuggbok.event WHERE position = 26)",
        26,
        "positions 11 to 26",
    ),
}


@pytest.mark.parametrize("what", TAMPERINGS)
async def test_what_contradicts_a_checkpoint_is_found_and_not_signed_over(
    what: str,
    evening: None,
    database: Database,
    notary: Notary,
    tmp_path: Path,
    superuser: psycopg.Connection,
) -> None:
    """The hashes fit, and only who remembers knows better."""
    for head in (10, 26):
        superuser.execute(
            "UPDATE skuggbok.head SET position = event.position, hash = event.hash FROM skuggbok.event"
            " WHERE event.position = %s",
            (head,),
        )
        await issue(database, notary)
    before = kept_files(tmp_path)
    statement, position, detail = TAMPERINGS[what]
    for part in statement.split(";"):
        superuser.execute(part.encode())
    async with database.connection() as connection:
        (quick,) = await notary.compare(connection, "north")
        with pytest.raises(Contradicted):
            await notary.issue(connection, "north")
    thorough = await found(database, notary)
    assert (quick.check, quick.position) == ("checkpoints", position)
    assert (thorough[-1].check, thorough[-1].position) == ("checkpoints", position)
    assert detail in thorough[-1].detail
    assert kept_files(tmp_path) == before


async def test_the_audit_compares_with_what_was_signed(
    evening: None, database: Database, notary: Notary, superuser: psycopg.Connection
) -> None:
    await issue(database, notary)
    async with database.connection() as connection:
        healthy = await audit_all(connection, "north", notary)
        superuser.execute(TAMPERINGS["a tail that is cut"][0].encode())
        cut = await audit_all(connection, "north", notary)
    assert healthy.ok
    assert [check.name for check in healthy.checks[-2:]] == ["tree", "checkpoints"]
    assert not cut.ok
    assert [f.position for check in cut.checks if check.name == "checkpoints" for f in check.findings] == [20]


async def test_a_kept_subtree_that_was_changed_is_found(
    evening: None, database: Database, notary: Notary, superuser: psycopg.Connection
) -> None:
    await issue(database, notary)
    superuser.execute("UPDATE skuggbok.tree SET hash = sha256('x') WHERE level = 1 AND index = 2")
    assert [(f.check, f.position) for f in await found(database, notary)] == [("tree", 12)]


async def test_an_event_that_is_missing_is_told(
    evening: None, database: Database, notary: Notary, superuser: psycopg.Connection
) -> None:
    superuser.execute("DELETE FROM skuggbok.event WHERE position = 26")
    with pytest.raises(Contradicted):
        await issue(database, notary)
    superuser.execute("DELETE FROM skuggbok.event WHERE position IN (3, 25)")
    superuser.execute("DELETE FROM skuggbok.tree")
    with pytest.raises(Contradicted, match="among 1 to"):
        await issue(database, notary)


async def test_a_checkpoint_that_somebody_else_kept_is_found(
    evening: None, database: Database, notary: Notary, tmp_path: Path
) -> None:
    await issue(database, notary)
    ((file, content),) = kept_files(tmp_path).items()
    file.write_bytes(content.replace(b"\n26\n", b"\n25\n"))
    with pytest.raises(Contradicted, match="did not issue"):
        await issue(database, notary)
    assert [f.check for f in await found(database, notary)] == ["checkpoints"]


async def test_the_key_is_made_once_and_private(
    evening: None, database: Database, notary: Notary, tmp_path: Path
) -> None:
    first = await issue(database, notary)
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
    again = await issue(database, Notary(tmp_path, key_in_database=False))
    assert again.verifier == first.verifier
    (tmp_path / KEY_FILE).unlink()
    with pytest.raises(SigningKeyError, match="put it back"):
        await issue(database, Notary(tmp_path, key_in_database=False))
    (tmp_path / KEY_FILE).write_text("no key")
    with pytest.raises(SigningKeyError):
        await issue(database, Notary(tmp_path, key_in_database=False))


async def test_processes_that_share_a_database_share_its_key(evening: None, database: Database, tmp_path: Path) -> None:
    first = await issue(database, Notary(tmp_path / "a", key_in_database=True))
    second = await issue(database, Notary(tmp_path / "b", key_in_database=True))
    assert first == second
    assert not (tmp_path / "a" / KEY_FILE).exists()


async def test_where_nothing_can_be_kept_nothing_is_signed(
    evening: None, database: Database, notary: Notary, tmp_path: Path
) -> None:
    (tmp_path / "checkpoints").write_text("a file where a folder should be")
    (tmp_path / KEY_FILE).write_bytes(PEM)
    with pytest.raises(Unavailable, match="Not a directory"):
        await issue(database, notary)


def test_a_note_that_was_torn_is_overwritten(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "north", VERIFIER)
    assert (kept.newest(), list(kept.all())) == (None, [])
    notes = {size: signed(Checkpoint(NAME, size, bytes(32), bytes(32)).text, NAME, KEY) for size in range(1, 60)}
    for size in range(1, 59):
        kept.add(size, notes[size])
    file = tmp_path / "north.notes"
    whole = file.read_bytes()
    for torn in (1, 40, 100, len(notes[59].encode()) - 1, len(notes[59].encode())):
        file.write_bytes(whole + notes[59].encode()[:torn])
        newest = kept.newest()
        assert newest is not None
        assert newest.size == 58
        kept.add(59, notes[59])
        assert [checkpoint.size for checkpoint in kept.all()] == list(range(1, 60))
        kept.add(58, notes[58])
        assert file.read_bytes() == whole + notes[59].encode() + b"\n", "an older one is not appended"
    assert os.stat(file).st_mode & 0o777 == 0o600
