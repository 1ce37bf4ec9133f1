"""The processes of this part: the service as users start it, the bare one beside it, and the one that loads them."""

import contextlib
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import httpx
import msgspec
import psutil  # type: ignore[import-untyped]  # no stubs in the environment

from tests.bench.http import bare, load, stream

ADMIN_TOKEN = "the-benchmark-makes-its-own-larp"
START_S, STOP_S = 20.0, 15.0
_SKUGGBOK = Path(sysconfig.get_path("scripts"), "skuggbok")

T = TypeVar("T")


class Server:
    """A running server, and what it has used so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self._process = psutil.Process(process.pid)
        self.port = port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def cpu_s(self) -> float:
        """In user mode and in the kernel, of all its threads."""
        times = self._process.cpu_times()
        return float(times.user + times.system)

    @property
    def memory_mb(self) -> float:
        return float(self._process.memory_info().rss) / 1_000_000


@contextlib.contextmanager
def service(database: str, folder: Path, *, as_it_comes: bool = False) -> Iterator[Server]:
    """`skuggbok serve`: with a line in the log for each request and with limits, if it is taken `as_it_comes`."""
    environment = {
        "SKUGGBOK_DATABASE_URL": database,
        "SKUGGBOK_DATA_DIR": str(folder / "http"),
        "SKUGGBOK_ADMIN_TOKEN": ADMIN_TOKEN,
    }
    if not as_it_comes:
        environment |= {"SKUGGBOK_LOG": "warning", "SKUGGBOK_RATE_LIMIT": "off"}
    command = [str(_SKUGGBOK), "serve", "--port", "0"]
    with _running(command, environment, folder / "service.log") as process:
        assert process.stdout is not None, "a pipe"
        ready = process.stdout.readline().decode()
        if "answers at" not in ready:
            raise RuntimeError(f"the service did not start; {folder / 'service.log'} says why")
        yield Server(process, int(ready.split(" answers at ")[1].split()[0].rpartition(":")[2]))


@contextlib.contextmanager
def bare_server(settings: bare.Bare, folder: Path) -> Iterator[Server]:
    """The handlers of `bare` on the same server."""
    with _running(_alone(bare), {}, folder / "bare.log") as process:
        assert process.stdin is not None and process.stdout is not None, "pipes"
        process.stdin.write(msgspec.json.encode(settings))
        process.stdin.close()
        port = process.stdout.readline()
        if not port:
            raise RuntimeError(f"the bare server did not start; {folder / 'bare.log'} says why")
        yield Server(process, int(port))


@contextlib.contextmanager
def _running(command: list[str], environment: Mapping[str, str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process of ours, told to stop at the end, and ended if it does not."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("SKUGGBOK_", "OTEL_"))}
    with log.open("ab") as lines:
        process = subprocess.Popen(
            command, env={**outer, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=lines
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def loaded(plan: load.Plan) -> load.Outcome:
    """Carry a plan out in a process of its own. Raises LoadFailed if anything but the expected was answered."""
    outcome = _told(load, plan, load.Outcome, plan.seconds + load.LATE_S + START_S)
    if outcome.faults or not outcome.answered:
        raise LoadFailed(f"{type(plan.work).__name__}: {outcome.answered} answers, among them {outcome.faults}")
    return outcome


def streamed(lines: stream.Lines) -> stream.Streamed:
    """Send a stream of commands from a process of its own."""
    return _told(stream, lines, stream.Streamed, stream.PATIENCE_S)


class LoadFailed(Exception):
    """Something else was answered than what is measured."""


def _alone(module: ModuleType) -> list[str]:
    """A module of this package as a program, without the package, which would take its time to import."""
    assert module.__file__ is not None, "it is a file"
    return [sys.executable, "-P", module.__file__]


def _told(module: ModuleType, asked: object, answer: type[T], patience_s: float) -> T:
    done = subprocess.run(
        _alone(module),
        input=msgspec.json.encode(asked),
        stdout=subprocess.PIPE,
        timeout=patience_s,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=answer)


def asking(server: Server, token: str) -> httpx.Client:
    """A client for what is asked once."""
    return httpx.Client(
        base_url=f"{server.url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=60.0, trust_env=False
    )
