"""Checkpoints that were issued, in files beside the database: what a backup that is put back does not put back.

One file per signing key and LARP, to which notes are only ever appended, each followed by an empty line. A note that
a power cut tore is not one, and is overwritten by the next.
"""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ledger.embedded_host import sync_folder
from ledger.errors import Damaged, Unavailable
from ledger.notes import Checkpoint, NoteError, Verifier, opened

if sys.platform != "win32":
    import fcntl

RETRY_AFTER_S = 60
_TAIL_BYTES = 4096
"""More than one note has: a name of a LARP has 64 characters at most."""
_NOTE = re.compile("(?:(?!— )[^\n]+\n)+\n(?:— [^\n]+\n)+\n".encode())


class Kept:
    """The checkpoints of one LARP, in `folder`, which is made with the first."""

    def __init__(self, folder: Path, larp: str, verifier: Verifier) -> None:
        self._file = folder / f"{larp}.notes"
        self._verifier = verifier

    def newest(self) -> Checkpoint | None:
        """The last one. Raises Damaged if somebody else wrote it, and Unavailable if the file cannot be read."""
        try:
            with self._file.open("rb") as file:
                found = _NOTE.findall(_tail(file.fileno()))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unavailable(error) from error
        return self._opened(found[-1].decode(errors="replace")) if found else None

    def all(self) -> Iterator[Checkpoint]:
        """In the order in which they were issued. Raises Damaged and Unavailable."""
        try:
            with self._file.open(encoding="utf-8", errors="replace", newline="\n") as file:
                note, blanks = "", 0
                for line in file:
                    note, blanks = note + line, blanks + (line == "\n")
                    if blanks == 2:  # one within the note, one behind it
                        yield self._opened(note)
                        note, blanks = "", 0
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unavailable(error) from error

    def add(self, size: int, note: str) -> None:
        """Append a note over `size` events, durably, unless there is one over as many. Processes may do so at once.

        Raises Unavailable, where the disk is full or the folder not ours.
        """
        try:
            self._add(size, note)
        except OSError as error:
            raise _unavailable(error) from error

    def _add(self, size: int, note: str) -> None:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if sys.platform != "win32":
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            tail = _tail(descriptor)
            whole = list(_NOTE.finditer(tail))
            if whole and int(whole[-1][0].split(b"\n")[1]) >= size:
                return
            torn = len(tail) - (whole[-1].end() if whole else 0)
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - torn)
            os.lseek(descriptor, 0, os.SEEK_END)
            os.write(descriptor, f"{note}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(self._file.parent)

    def _opened(self, note: str) -> Checkpoint:
        try:
            return Checkpoint.parse(opened(note.removesuffix("\n"), self._verifier))
        except NoteError as error:
            raise Damaged(f"{self._file} holds a checkpoint that this service did not issue: {error}") from None


def _unavailable(error: OSError) -> Unavailable:
    return Unavailable(f"checkpoints cannot be kept beside the database: {error.strerror}", RETRY_AFTER_S)


def _tail(descriptor: int) -> bytes:
    """The end of the file, with a whole note in it if there is one."""
    os.lseek(descriptor, max(0, os.fstat(descriptor).st_size - _TAIL_BYTES), os.SEEK_SET)
    return os.read(descriptor, _TAIL_BYTES)
