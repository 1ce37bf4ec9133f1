"""The command `skuggbok` as its users run it: in a process of its own, on a database of ours."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.bench.scale.timed import Work

ROOT = Path(__file__).parents[3]
ADMIN_TOKEN = "admin-token-of-the-benchmark"
_STOP_S = 30


class CommandFailed(Exception):
    """A command did not end well; the message holds what it said."""


def environment(folder: Path, url: str | None = None) -> Mapping[str, str]:
    """That of a user with this database, or with an embedded one in `folder`. Byte code is kept there."""
    others = {k: v for k, v in os.environ.items() if not k.startswith(("SKUGGBOK_", "PYTHON"))}
    ours = {
        "SKUGGBOK_DATA_DIR": str(folder / "embedded"),
        "SKUGGBOK_ADMIN_TOKEN": ADMIN_TOKEN,
        "SKUGGBOK_LOG": "error",
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
    }
    return others | ours | ({"SKUGGBOK_DATABASE_URL": url} if url else {})


def run(environ: Mapping[str, str], *arguments: str) -> str:
    """What `skuggbok` with these arguments says. Raises CommandFailed."""
    with _started(environ, "api.cli", *arguments) as process:
        return _ended(process)[0]


def work(environ: Mapping[str, str], *arguments: str) -> Work:
    """The same, and how long it worked. Raises CommandFailed."""
    with _started(environ, "tests.bench.scale.timed", *arguments) as process:
        told = _ended(process)[1]
    return msgspec.json.decode(told.splitlines()[-1], type=Work)


def _ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What it said on stdout and stderr. Raises CommandFailed."""
    output, errors = process.communicate()
    if process.returncode:
        raise CommandFailed(f"{process.args!r} ended with {process.returncode}: {errors[-2000:]}")
    return output, errors


@contextmanager
def serving(environ: Mapping[str, str]) -> Iterator[str]:
    """`skuggbok serve` at a port that is free. Yields its address as soon as it says that it answers there."""
    with _started(environ, "api.cli", "serve", "--port", "0") as process:
        assert process.stdout is not None, "it is a pipe"
        for line in process.stdout:
            if "answers at " in line:
                yield line.partition("answers at ")[2].split()[0]
                return
        raise CommandFailed(f"the service ended before it served: {_ended(process)[1][-2000:]}")


@contextmanager
def _started(environ: Mapping[str, str], module: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is over when the block is, whatever happens in it."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
