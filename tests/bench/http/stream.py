"""Many commands in one request, from a process of its own, which reads results while it still sends commands.

usage: python -P stream.py < PLAN > OUTCOME        (both JSON: `Lines` and `Streamed`)
"""

import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence

import msgspec
from httptools import HttpResponseParser
from msgspec import Struct

PATIENCE_S = 120.0
RECEIVED_MAX = 256_000


class Lines(Struct, frozen=True, kw_only=True):
    """Transfers of 1 to 5 krona round a circle of characters. `keyed`: each with an idempotency key of its own."""

    port: int
    path: str
    token: str
    characters: Sequence[str]
    count: int
    keyed: bool
    run: str
    """What makes the keys of this run new ones."""

    def body(self) -> bytes:
        return b"".join(self._lines())

    def _lines(self) -> Iterator[bytes]:
        names = [name.encode() for name in self.characters]
        for number in range(self.count):
            at, amount = number % len(names), 1 + number // len(names) % 5
            key = b',"key":"%b-%d"' % (self.run.encode(), number) if self.keyed else b""
            yield b'{"command":"transfer","from":"%b","to":"%b","asset":"krona","amount":%d,"memo":"round %d"%b}\n' % (
                names[at],
                names[(at + 1) % len(names)],
                amount,
                number,
                key,
            )


class Streamed(Struct, frozen=True, kw_only=True):
    """What came of it: how many lines were recorded, and how many results say something else."""

    seconds: float
    recorded: int
    others: int


class _Answer:
    """What the parser found."""

    def __init__(self) -> None:
        self.parser = HttpResponseParser(self)
        self.chunks: list[bytes] = []
        self.is_complete = False

    def on_body(self, chunk: bytes) -> None:
        self.chunks.append(chunk)

    def on_message_complete(self) -> None:
        self.is_complete = True


def streamed(lines: Lines) -> Streamed:
    """Send all and read all."""
    body, answer = lines.body(), _Answer()
    head = (
        f"POST {lines.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {lines.token}\r\n"
        f"Content-Type: application/x-ndjson\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", lines.port), PATIENCE_S) as connection:
        begun = time.perf_counter()
        sending = threading.Thread(target=connection.sendall, args=(head.encode() + body,), daemon=True)
        sending.start()
        while not answer.is_complete:
            received = connection.recv(RECEIVED_MAX)
            if not received:
                break
            answer.parser.feed_data(received)
        seconds = time.perf_counter() - begun
    results = b"".join(answer.chunks)
    recorded = results.count(b'{"status":201,')
    return Streamed(seconds=seconds, recorded=recorded, others=results.count(b"\n") - recorded)


def main() -> None:
    sys.stdout.buffer.write(msgspec.json.encode(streamed(msgspec.json.decode(sys.stdin.buffer.read(), type=Lines))))


if __name__ == "__main__":
    main()
