"""What the figures were measured on: they mean nothing without it."""

import json
import os
import platform
import sys
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

import psycopg
from msgspec import Struct

from tests.bench.place import Place

PACKAGES = ("eventsourcing", "umadb", "psycopg", "msgspec", "litestar", "uvicorn", "uvloop", "httptools")
NPM_PACKAGES = ("@eventide/message-db", "@event-driven-io/emmett-postgresql")
SETTINGS = (
    "fsync",
    "synchronous_commit",
    "wal_sync_method",
    "full_page_writes",
    "data_checksums",
    "shared_buffers",
    "max_wal_size",
    "max_connections",
)
NPM_FOLDER = Path(sys.prefix) / "npm"
"""Where `make bench` puts the peers from npm, unless there is no node."""
FLUSHES = 1000


class Machine(Struct, frozen=True, kw_only=True):
    """`flush_ms`: how long it takes to write 8 KiB over and flush them to the disk that was measured on; the median."""

    cpu: str
    cores: int
    memory_bytes: int
    kernel: str
    python: str
    postgresql: str
    settings: Mapping[str, str]
    versions: Mapping[str, str]
    flush_ms: float


def look(place: Place) -> Machine:
    """The machine, with the server that `place` has."""
    with psycopg.connect(place.empty_database("machine"), autocommit=True) as connection:
        settings = {name: connection.execute(f"SHOW {name}").fetchone() for name in ("server_version", *SETTINGS)}
    shown = {name: str(row[0]) if row else "" for name, row in settings.items()}
    return Machine(
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        postgresql=shown.pop("server_version"),
        settings=shown,
        versions=_versions(),
        flush_ms=_flush_ms(place.folder / "flushed"),
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _versions() -> Mapping[str, str]:
    found = dict[str, str]()
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    for package in NPM_PACKAGES:
        about = NPM_FOLDER / "node_modules" / package / "package.json"
        if about.exists():
            found[package] = json.loads(about.read_bytes())["version"]
    return found


def _flush_ms(path: Path) -> float:
    """Like a commit does it: write over what is there already, and wait until the disk has it."""
    flush = getattr(os, "fdatasync", os.fsync)
    taken, block = list[float](), b"\0" * 8192
    with path.open("wb", buffering=0) as file:
        file.write(block * FLUSHES)
        os.fsync(file.fileno())
        file.seek(0)
        for _ in range(FLUSHES):
            begun = time.perf_counter()
            file.write(block)
            flush(file.fileno())
            taken.append((time.perf_counter() - begun) * 1000)
    path.unlink()
    return median(taken)
