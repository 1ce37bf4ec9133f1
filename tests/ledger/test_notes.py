"""Signed notes as https://c2sp.org/signed-note and the checkpoints of https://c2sp.org/tlog-checkpoint have them."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ledger.notes import Checkpoint, NoteError, Verifier, opened, signed

# Published examples of other implementations.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETERS = (
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
FOO = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
FOOS = (
    "This is an example message.\n\n"
    "— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
NAME = "skuggbok/0123456789abcdef/north"
VERIFIER = Verifier(NAME, KEY.public_key().public_bytes_raw())
CHECKPOINT = Checkpoint(NAME, 7, bytes(32), bytes([255]) * 32)
TEXT = f"{NAME}\n7\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nhead {'ff' * 32}\n"


@pytest.mark.parametrize(("key", "note"), [(PETER, PETERS), (FOO, FOOS)])
def test_notes_of_others_are_opened(key: str, note: str) -> None:
    verifier = Verifier.parse(key)
    assert str(verifier) == key
    assert opened(note, verifier) == note.partition("\n\n")[0] + "\n"


def test_what_is_signed_is_opened_by_its_key_and_no_other() -> None:
    note = signed("One line\n\nand another\n", NAME, KEY)
    assert opened(note, VERIFIER) == "One line\n\nand another\n"
    assert opened(note + PETERS.rpartition("\n\n")[2], VERIFIER), "signatures of others are ignored"
    with pytest.raises(NoteError, match="not signed by PeterNeumann"):
        opened(note, Verifier.parse(PETER))
    with pytest.raises(NoteError, match="not one of this text"):
        opened(note.replace("One", "Two"), VERIFIER)


@pytest.mark.parametrize(
    "note",
    [
        "",
        "text\n",
        "text\n\n",
        PETERS.replace("—", "-"),
        PETERS.rstrip("\n"),
        PETERS.replace("\n\n", "\n"),
        PETERS.replace("If", "If\t"),
        PETERS.replace("— PeterNeumann x", "— PeterNeumann  x"),
        PETERS.replace("x08go/", "x08g!/"),
        PETERS + "— PeterNeumann eA==\n",
        "\n" + PETERS.partition("\n\n")[2],
    ],
)
def test_what_is_no_note_is_refused(note: str) -> None:
    with pytest.raises(NoteError):
        opened(note, Verifier.parse(PETER))


@pytest.mark.parametrize(
    "key", ["", PETER[:-4], PETER.replace("c74f", "c74e"), PETER.replace("+c", " +c"), FOO.replace("Aeky", "Beky")]
)
def test_what_is_no_verifier_key_is_refused(key: str) -> None:
    with pytest.raises(NoteError):
        Verifier.parse(key)


def test_a_checkpoint_is_origin_size_root_and_head() -> None:
    assert CHECKPOINT.text == TEXT
    assert Checkpoint.parse(TEXT) == CHECKPOINT


@pytest.mark.parametrize(
    "text",
    [
        "",
        TEXT.replace("\n7\n", "\n07\n"),
        TEXT.replace("\n7\n", "\n-7\n"),
        TEXT.replace("\n7\n", "\n٧\n"),
        TEXT.replace("AAAA", "", 1),
        TEXT.replace("head ", "tail "),
        TEXT.replace("ff", "FF"),
        TEXT + "more\n",
        TEXT.replace(NAME, "two words"),
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(NoteError):
        Checkpoint.parse(text)
