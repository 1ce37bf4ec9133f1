"""What is ready to be sent while the receiver is not ready: some of it in memory, the rest in a file.

A client that sends a hundred megabytes before it reads the first result must not make the service wait for it
while it waits for the service.
"""

import asyncio
import tempfile
from collections import deque
from typing import IO

MEMORY_BYTES_MAX = 1_000_000
CHUNK_BYTES = 64_000


class Spool:
    """Bytes in order, from one writer to one reader."""

    def __init__(self) -> None:
        self._ready: deque[bytes] = deque()
        self._ready_bytes = 0
        self._file: IO[bytes] | None = None
        self._read_at = 0
        self._written_at = 0
        self._ended = False
        self._more = asyncio.Event()

    def put(self, chunk: bytes) -> None:
        if self._file is None and self._ready_bytes + len(chunk) <= MEMORY_BYTES_MAX:
            self._ready.append(chunk)
            self._ready_bytes += len(chunk)
        else:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by close()
            self._file.seek(self._written_at)
            self._file.write(chunk)
            self._written_at += len(chunk)
        self._more.set()

    def end(self) -> None:
        self._ended = True
        self._more.set()

    async def get(self) -> bytes:
        """The next bytes, empty at the end."""
        while True:
            if self._ready:
                chunks = b"".join(self._ready)
                self._ready.clear()
                self._ready_bytes = 0
                return chunks
            if self._file is not None and self._read_at < self._written_at:
                self._file.seek(self._read_at)
                chunk = self._file.read(min(CHUNK_BYTES, self._written_at - self._read_at))
                self._read_at += len(chunk)
                return chunk
            self._forget_file()
            if self._ended:
                return b""
            self._more.clear()
            await self._more.wait()

    def _forget_file(self) -> None:
        """All of it was read: what comes next may go through memory again."""
        if self._file is not None:
            self._file.close()
            self._file, self._read_at, self._written_at = None, 0, 0

    def close(self) -> None:
        self._forget_file()
        self._ready.clear()
