"""Looking at embedded servers from outside: their processes, their folders, and other users' view of both."""

import os
import pwd
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ledger.embedded import EmbeddedPostgres
from ledger.embedded_locks import FileLock

Maker = Callable[..., EmbeddedPostgres]
Worker = Callable[[Path], "subprocess.Popen[str]"]

WORKER = """
import sys, psycopg
from pathlib import Path
from ledger.embedded import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
with psycopg.connect(server.start()) as connection:
    print("SERVER", *connection.execute("SELECT pg_postmaster_start_time()").fetchone(), flush=True)
sys.stdin.readline()
server.stop()
"""


@contextmanager
def working_process(root: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that uses the server until a line comes in, and prints when that was started."""
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(root)],
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def program_of(owner: os.stat_result) -> Iterator["subprocess.Popen[bytes]"]:
    """Some program that runs for a while as the owner, who is this user or, for root, anybody."""
    become = os.geteuid() == 0
    program = subprocess.Popen(
        ["sleep", "60"],
        user=owner.st_uid if become else None,
        group=owner.st_gid if become else None,
        extra_groups=[] if become else None,
    )
    with program:
        try:
            yield program
        finally:
            program.kill()


def wait_for(state: Callable[[], bool], timeout_s: float = 20) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not state():
        assert time.monotonic() < deadline_s, "the state that was waited for did not come"
        time.sleep(0.005)


def lives(root: Path) -> bool:
    with FileLock(root / "lock") as lock:
        return not lock.exclusive()


def postmaster(root: Path) -> int:
    return int((root / "18" / "postmaster.pid").read_text().split()[0])


def put_out(root: Path) -> None:
    """End whatever a failed test left running: all that works in the folder, or is said to."""
    left = set()
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if Path(os.readlink(link)).is_relative_to(root):
                left.add(int(link.parent.name))
    if root.is_dir() and lives(root):
        with suppress(FileNotFoundError):
            left.add(postmaster(root))
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not root.is_dir() or not lives(root))


def copied(cluster: Path, root: Path) -> Path:
    """A cluster of its own, with the owners and modes of the one that is copied."""
    root.parent.mkdir(exist_ok=True)
    subprocess.run(["cp", "-a", str(cluster), str(root)], check=True)
    return root


def sketch_of_data(folder: Path) -> None:
    """As much of a data folder as it takes to be refused."""
    folder.mkdir(parents=True)
    (folder / "PG_VERSION").write_text(folder.name + "\n")
    if os.geteuid() == 0:
        os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)


def host(conninfo: str) -> Path:
    return Path(str(conninfo_to_dict(conninfo)["host"]))


def modes(folder: Path) -> dict[Path, tuple[int, int, int]]:
    return {path: (path.stat().st_mode, path.stat().st_uid, path.stat().st_gid) for path in (folder, *folder.parents)}


def as_user(name: str, action: Callable[[], object]) -> str:
    """What the action returns, or its error, in a child process of that user."""
    user = pwd.getpwnam(name)
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
            said = str(action())
        except BaseException as error:  # a child must not come back into the tests
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as answer:
        if not select.select([answer], [], [], 30)[0]:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return answer.read()


def server_said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return next(line for line in process.stdout if line.startswith("SERVER"))


def ask(conninfo: str, query: str) -> object:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None
