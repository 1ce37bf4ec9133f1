"""Locks on files, which the kernel gives back when their holders have ended, however they ended.

They need a local disk: network file systems keep such locks differently, or not at all.
"""

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

if sys.platform == "win32":
    import msvcrt

    # The C library there has exclusive locks only: a shared one takes the first free byte of these, an exclusive all.
    SHARERS_MAX = 1024
else:
    import fcntl


class FileLock:
    """One claim on a lock file: open, neither shared nor exclusive, until asked; held until `close`.

    Two objects are two claims, also inside one process. A child that inherits `fileno()` holds the claim as well.
    The file is created if it is missing (mode 0600) and must never be deleted.
    """

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def exclusive(self) -> bool:
        """Take the lock alone. Never waits: False when anybody else holds it."""
        if sys.platform == "win32":
            return self._lock_bytes(0, SHARERS_MAX)
        else:
            return self._flock(fcntl.LOCK_EX)

    def shared(self) -> bool:
        """Take the lock along with others. Never waits: False when somebody holds it alone."""
        if sys.platform == "win32":
            return any(self._lock_bytes(position, 1) for position in range(SHARERS_MAX))
        else:
            return self._flock(fcntl.LOCK_SH)

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        # Closing, not unlocking: an unlock would also take the claim from the children that inherited it.
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    if sys.platform == "win32":

        def _lock_bytes(self, position: int, count: int) -> bool:
            os.lseek(self._fd, position, os.SEEK_SET)
            try:
                msvcrt.locking(self._fd, msvcrt.LK_NBLCK, count)
            except OSError:
                return False
            return True

    else:

        def _flock(self, kind: int) -> bool:
            try:
                fcntl.flock(self._fd, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True
