"""The key that signs checkpoints, made once and kept in a file of its own beside the embedded database."""

import os
import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from ledger.embedded_host import sync_folder
from ledger.errors import SkuggbokError

KEY_FILE = "checkpoint-key"
KEPT_FOLDER = "checkpoints"


class SigningKeyError(SkuggbokError):
    """The key that signs checkpoints is not there or not one; the message says what would help."""


def key_in(data_dir: Path) -> Ed25519PrivateKey:
    """The key in `data_dir`, made (PKCS #8 in PEM, mode 0600) if none ever signed anything. Raises SigningKeyError."""
    file = data_dir / KEY_FILE
    try:
        if not file.exists():
            _make(file)
        key = load_pem_private_key(file.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise SigningKeyError(f"{file} cannot be used to sign checkpoints: {error}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise SigningKeyError(f"{file} holds a key of another kind than Ed25519")
    return key


def _make(file: Path) -> None:
    """Several processes may do so at once: one of them wins, whole or not at all."""
    kept = file.with_name(KEPT_FOLDER)
    if kept.is_dir() and any(kept.iterdir()):
        raise SigningKeyError(
            f"{file} is missing, and it has signed the checkpoints in {kept}: put it back from a backup of the folder."
            f" Should it be lost for good, rename {kept}; a new key is made then"
        )
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    new = file.with_name(f"{file.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        opened.write(pem)
        opened.flush()
        os.fsync(opened.fileno())
    try:
        if sys.platform == "win32":
            new.rename(file)  # refuses to replace, there
        else:
            os.link(new, file)
    except FileExistsError:
        pass  # another process was faster, and its key counts
    finally:
        new.unlink(missing_ok=True)
    sync_folder(file.parent)
