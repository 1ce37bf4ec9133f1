"""The host of the embedded database: whom its programs run as, and files that those may and others may not read.

PostgreSQL refuses to run as root. When root starts it, its programs run as an account that exists already; no account
is made, and no permission of an existing folder is changed.
"""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ledger.errors import SkuggbokError

if sys.platform != "win32":
    import pwd

TIMEOUT_S = 300
"""How long any of the programs may take: recovery after a crash reads up to max_wal_size (1 GB) of log."""

ELSEWHERE = "start as an ordinary user, or name a PostgreSQL server in SKUGGBOK_DATABASE_URL"


class EmbeddedPostgresError(SkuggbokError):
    """The embedded database could not be started, reached or stopped. The message says what would help."""


class BinariesNotFoundError(EmbeddedPostgresError):
    """There are no programs of PostgreSQL that could be run."""


class OtherMajorError(EmbeddedPostgresError):
    """The data belongs to another major version of PostgreSQL than the programs."""


class ForeignServerError(EmbeddedPostgresError):
    """A server that was not started from here runs on the data."""


class ProgramFailedError(EmbeddedPostgresError):
    """One of PostgreSQL's programs ended with an error, or took more than TIMEOUT_S."""


class Account(NamedTuple):
    """Whom the server runs as when root starts it."""

    name: str
    uid: int
    gid: int


def account_for(data: Path | None) -> Account | None:
    """The owner of the data; for new data (None) `postgres`, else `nobody`. None: run as oneself, not being root.

    Whatever else runs as that account can read the data, so whoever has a choice starts as a user of its own.
    """
    if sys.platform == "win32":
        return None
    else:
        if os.geteuid() != 0:
            return None
        if data is not None:
            return _owner(data)
        for name in ("postgres", "nobody"):
            with suppress(KeyError):
                entry = pwd.getpwnam(name)
                if entry.pw_uid != 0:
                    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
        raise EmbeddedPostgresError(f"PostgreSQL does not run as root, and there is no account nobody: {ELSEWHERE}.")


if sys.platform != "win32":

    def _owner(data: Path) -> Account:
        owner = data.stat()
        if owner.st_uid == 0:
            raise EmbeddedPostgresError(
                f"{data} belongs to root, and PostgreSQL does not run as root. If it was copied or restored, give it"
                f" and all in it to the account that had it, perhaps with: chown -R postgres: '{data}'"
            )
        try:
            entry = pwd.getpwuid(owner.st_uid)
        except KeyError:  # a container's, which the server does not mind
            return Account(str(owner.st_uid), owner.st_uid, owner.st_gid)
        return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def call_as(
    account: Account | None,
    command: list[str],
    *,
    stdout: int = subprocess.DEVNULL,
    folder: Path | None = None,
    keep_open: Collection[int] = (),
) -> subprocess.CompletedProcess[bytes]:
    """Run a command as the account, in a session of its own so that Ctrl-C does not reach it.

    It sees nothing of the caller's environment but what finds libraries: that may hold secrets, and settings (PGPORT).
    """
    inherited = ("LD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
    return subprocess.run(  # noqa: S603 - programs of ours, without a shell
        command,
        cwd=folder,
        env={"LC_ALL": "C", "TZ": "UTC"} | {name: os.environ[name] for name in inherited if name in os.environ},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        pass_fds=keep_open,
        start_new_session=True,
        timeout=TIMEOUT_S + 10,  # pg_ctl keeps to TIMEOUT_S itself and says more
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )


def reachable(account: Account | None, folder: Path) -> bool:
    """Whether the account may enter the folder by its full path."""
    return account is None or call_as(account, ["/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder)]).returncode == 0


def reachable_folders(account: Account | None, *first: Path) -> Iterator[Path]:
    """Of the named folders and the temporary ones those that the account may enter."""
    temporary = (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - for mkdtemp only
    for folder in dict.fromkeys((*first, *temporary)):
        if folder.is_dir() and os.access(folder, os.W_OK) and reachable(account, folder):
            yield folder


def write_private(path: Path, content: bytes, account: Account | None = None) -> None:
    """Write a file whole or not at all, mode 0600, and give it to the account.

    Safe in a folder of the account: whatever that may have put in the place of the file is replaced, not followed.
    """
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        if sys.platform != "win32" and account:
            os.fchown(file.fileno(), account.uid, account.gid)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def remember(note: Path, folder: Path, account: Account | None = None) -> None:
    """Note a folder in a temporary one for later starts, also for those by the account itself."""
    write_private(note, os.fsencode(folder), account)


def remembered(note: Path, *, uid: int, mode: int) -> Path | None:
    """The noted folder, if it still is one of that owner and mode: anybody may have put another one there."""
    try:
        folder = Path(os.fsdecode(note.read_bytes()))
        found = folder.lstat()
    except FileNotFoundError:
        return None
    return folder if (found.st_uid, found.st_mode) == (uid, stat.S_IFDIR | mode) else None


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
