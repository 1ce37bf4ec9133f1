"""How long it takes until the service answers, and what importing the package costs.

From the start of the process to the first answer of /health/ready. Warm is the second start in a row, so that
programs, byte code and data lie in the system's cache. Once with the embedded database already running, because
another process of this user's uses it, and once with that to be started, too.
"""

import http.client
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from urllib.parse import urlsplit

from ledger.embedded import EmbeddedPostgres
from tests.bench.measured import Line
from tests.bench.options import Options, progress
from tests.bench.place import Place
from tests.bench.scale import commands
from tests.bench.scale.lines import below, told

START_S = 1.0
IMPORT_S = 0.2


def measure(place: Place, options: Options) -> Sequence[Line]:
    environ = commands.environment(place.folder)
    progress("scale: starts, the first of all")
    very_first = _start(environ)
    lines = list[Line]()
    for what, running in (("its database running", True), ("its database not running", False)):
        progress(f"scale: starts, {what}")
        with EmbeddedPostgres(place.folder / "embedded") if running else nullcontext():
            _start(environ)
            seconds = [_start(environ) for _ in range(options.runs)]
        lines.append(below(f"start of the service, warm, {what}", seconds, START_S))
    lines.append(told("start of the service, the very first, making its database", [very_first], "s"))
    progress("scale: imports of packages")
    lines.append(below("import ledger", _imports(environ, "ledger", options), IMPORT_S))
    lines += [
        told(f"import {name}", _imports(environ, name, options), "s")
        for name in ("ledger.writer", "api.app", "api.cli")
    ]
    lines.append(told("a Python that imports nothing", _imports(environ, "sys", options), "s"))
    return lines


def _start(environ: Mapping[str, str]) -> float:
    begun = time.perf_counter()
    with commands.serving(environ) as address:
        connection = http.client.HTTPConnection(str(urlsplit(address).netloc), timeout=60)
        connection.request("GET", "/health/ready")
        answer = connection.getresponse()
        answer.read()
        seconds = time.perf_counter() - begun
        connection.close()
        if answer.status != 200:
            raise AssertionError(f"/health/ready was answered with {answer.status}")
    return seconds


def _imports(environ: Mapping[str, str], module: str, options: Options) -> Sequence[float]:
    """Whole processes, interpreter included, after one that leaves the byte code behind."""
    taken = list[float]()
    for _ in range(options.runs + 1):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {module}"], env=environ, check=True)
        taken.append(time.perf_counter() - begun)
    return taken[1:]
