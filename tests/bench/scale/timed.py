"""`python -m tests.bench.scale.timed COMMAND ...`: the command `skuggbok`, which says at the end what its work took.

Its work is all that runs in asyncio's loop, connecting included: everything but the start of the interpreter and the
look at the schema, which any command needs.
"""

import asyncio
import functools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")


class Work(Struct, frozen=True):
    """`memory_bytes`: the most that the process held at a time, None where the system does not tell."""

    seconds: float
    memory_bytes: int | None


def _told(run: Callable[..., T]) -> Callable[..., T]:
    """The same, and what it took is said on stderr."""

    @functools.wraps(run)
    def told(*arguments: Any, **options: Any) -> T:
        begun = time.perf_counter()
        try:
            return run(*arguments, **options)
        finally:
            work = Work(time.perf_counter() - begun, _memory_most())
            print(msgspec.json.encode(work).decode(), file=sys.stderr)

    return told


def _memory_most() -> int | None:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), None)


if __name__ == "__main__":
    from api.cli import main  # not where only `Work` is wanted

    asyncio.Runner.run = _told(asyncio.Runner.run)  # type: ignore[method-assign]
    main()
