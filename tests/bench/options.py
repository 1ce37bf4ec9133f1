"""What a run of the benchmark was asked for, and how it tells that it goes on."""

import sys
import time

from msgspec import Struct

_BEGUN = time.monotonic()


class Options(Struct, frozen=True, kw_only=True):
    """`runs`: how often each thing is measured; medians are told. `seconds`: how long one measurement lasts.

    `ten_million`: journals up to ten million events instead of one.
    """

    runs: int = 3
    seconds: float = 2.0
    ten_million: bool = False


def progress(step: str) -> None:
    """One line a step, on stderr."""
    print(f"{time.monotonic() - _BEGUN:6.1f} s  {step}", file=sys.stderr, flush=True)
