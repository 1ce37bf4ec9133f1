"""Verifying the chain beside SHA-256 over the same bodies: in memory, and with reading them on both sides.

The chain's part is what loading a Book, the audit and an import do for each event: link it to the hash before it, and
compare. The hash covers more than the body (format, LARP, position, the hash before), which SHA-256 alone is not given.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence

import psycopg

from ledger import chain
from tests.bench.measured import Line, rated
from tests.bench.options import Options, progress
from tests.bench.scale.larps import Larp
from tests.bench.scale.lines import PART
from tests.bench.scale.whole import CHUNK, JOURNAL

AT_LEAST = 0.5

Row = tuple[int, bytes, bytes]


def measure(larp: Larp, options: Options) -> Sequence[Line]:
    progress(f"scale: {larp.words}: the chain")
    with psycopg.connect(larp.url, autocommit=True) as connection:
        rows = connection.execute(JOURNAL, binary=True).fetchall()

    def read(work: Callable[[Iterable[Row]], None]) -> float:
        with psycopg.connect(larp.url, autocommit=True) as connection, connection.cursor(binary=True) as cursor:
            begun = time.perf_counter()
            work(cursor.stream(JOURNAL, size=CHUNK))
            return time.perf_counter() - begun

    def in_memory(work: Callable[[Iterable[Row]], None]) -> float:
        begun = time.perf_counter()
        work(rows)
        return time.perf_counter() - begun

    def verify(rows: Iterable[Row]) -> None:
        _verify(larp.slug, rows)

    lines = list[Line]()
    for way, beside, timed in (
        ("in memory", "SHA-256 of the same bodies", in_memory),
        ("read", "SHA-256 of the same bodies, read the same way", read),
    ):
        taken = [(timed(verify), timed(_hash)) for _ in range(options.runs)]
        ours, theirs = ([larp.events / seconds for seconds in each] for each in zip(*taken, strict=True))
        work = f"verifying the chain, {larp.words}, {way}"
        lines.append(rated(PART, work, ours, theirs, beside=beside, at_least=AT_LEAST, unit="events per s"))
    return lines


def _verify(larp: str, rows: Iterable[Row]) -> None:
    before = chain.GENESIS
    for position, body, hash_ in rows:
        if chain.link(larp, position, before, body) != hash_:
            raise AssertionError(f"position {position} does not follow the event before it")
        before = hash_


def _hash(rows: Iterable[Row]) -> None:
    sha256 = hashlib.sha256
    for _, body, _ in rows:
        sha256(body).digest()
