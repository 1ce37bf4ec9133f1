"""The data folder of the embedded database: its settings, its socket, and what a server that died leaves in it."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ledger.embedded_host import (
    Account,
    EmbeddedPostgresError,
    ForeignServerError,
    call_as,
    reachable_folders,
    remember,
    remembered,
)

PORT = 5432
"""Only a part of the socket's name, in a folder of its own. Windows, without such sockets, gets a free port."""

SOCKET_PATH_BYTES_MAX = 100  # a few less than the address of a socket holds (macOS 104, Linux 108)

POSTGRESQL_CONF = """\
# The included file is written anew at each start. Settings of your own go below it.
include 'embedded.conf'
"""


def settings_text(socket_folder: str, port: int) -> str:
    """The content of embedded.conf. The folder may be relative to the data folder."""
    settings: dict[str, str | int] = {
        "listen_addresses": "127.0.0.1" if sys.platform == "win32" else "",
        "port": port,
        "timezone": "UTC",
        "log_timezone": "UTC",
        # All that was acknowledged survives a power cut. The first three are PostgreSQL's own choice, said aloud.
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        # One file per day of the week, which the next week overwrites. Neither statements nor values: those of this
        # service hold secrets, and an error that repeats must not fill the disk.
        "logging_collector": "on",
        "log_directory": "log",
        "log_filename": "postgresql-%a.log",
        "log_rotation_age": "1d",
        "log_rotation_size": 0,
        "log_truncate_on_rotation": "on",
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
    }
    if sys.platform == "win32":
        settings["wal_sync_method"] = "fsync"  # the default leaves commits in the drive's write cache
    else:
        # A list, whose elements may stand between double quotes.
        settings["unix_socket_directories"] = '"' + socket_folder.replace('"', '""') + '"'
        settings["unix_socket_permissions"] = "0700"
        # Not in /dev/shm: containers give it 64 MB, and systemd-logind empties it when the user logs out.
        settings["dynamic_shared_memory_type"] = "mmap"
    if sys.platform == "darwin":
        settings["wal_sync_method"] = "fsync_writethrough"  # likewise
    return "".join(f"{name} = {_quoted(str(value))}\n" for name, value in settings.items())


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def socket_folder(data: Path, account: Account | None) -> Path | None:
    """Where the socket is: in the data folder, else where `new_socket_folder` said. None if that is no more."""
    if sys.platform == "win32" or _holds_socket(data):
        return data
    return remembered(data.with_name("socket"), uid=account.uid if account else os.getuid(), mode=0o700)


def new_socket_folder(data: Path, account: Account | None) -> Path:
    """Make a private folder for the socket in a temporary one, and note it for later starts."""
    for base in reachable_folders(account):
        folder = Path(tempfile.mkdtemp(prefix="skuggbok-", dir=base))
        if _holds_socket(folder):
            if sys.platform != "win32" and account:
                os.chown(folder, account.uid, account.gid, follow_symlinks=False)
            remember(data.with_name("socket"), folder, account)
            return folder
        folder.rmdir()
    raise EmbeddedPostgresError(
        f"The path {data} is too long for a socket (or has a comma or a line break), and the account of the server may"
        " use no temporary folder: choose a shorter data folder."
    )


def _holds_socket(folder: Path) -> bool:
    """Whether a client can name a socket in this folder; it takes a comma for the end of one of several names."""
    path = str(folder / f".s.PGSQL.{PORT}")
    return path.isprintable() and "," not in path and len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX


def clear_traces(data: Path, sockets: Path, account: Account | None) -> None:
    """Remove the pid file and the sockets of a dead server; PostgreSQL keeps them if their pid is in use again.

    Only for who knows that no server of ours runs. Raises ForeignServerError if one does that was started by hand.
    """
    pid_file = data / "postmaster.pid"
    try:
        pid = abs(int(pid_file.read_bytes().partition(b"\n")[0]))  # negative in single-user mode
    except (FileNotFoundError, ValueError):  # a power cut can leave the file empty
        pid = 0
    if pid and _serves(pid, data, account):
        raise ForeignServerError(
            f"A PostgreSQL server that was not started by Skuggbok (process {pid}) runs on {data}. Stop it, and start"
            f" again; or, if that process serves other data, delete {pid_file}."
        )
    pid_file.unlink(missing_ok=True)
    for path in sockets.glob(".s.PGSQL.*"):
        path.unlink()


def _serves(pid: int, data: Path, account: Account | None) -> bool:
    """Whether the process is a PostgreSQL server on this folder. In doubt, yes: a live one must not be disturbed."""
    if sys.platform != "linux":
        # Its folder is not to be had here without further programs, so any PostgreSQL with this pid counts.
        shown = subprocess.run(  # noqa: S603 - the only argument is a number
            ["/bin/ps", "-o", "stat=,comm=", "-p", str(pid)], capture_output=True, check=False
        )
        state, _, program = shown.stdout.decode(errors="replace").strip().partition(" ")
        return not state.startswith("Z") and Path(program.strip()).name == "postgres"
    process = Path(f"/proc/{pid}")
    try:
        program, _, rest = (process / "stat").read_text(errors="replace").partition("(")[2].rpartition(")")
        if program != "postgres" or rest.split()[0] in "ZX":  # a zombie's parent just has not looked yet
            return False
        try:
            return os.path.samefile(process / "cwd", data)
        except PermissionError:
            if process.stat().st_uid != data.stat().st_uid:
                return False  # a server has the owner of its folder
            # Root itself may not look at it in a container, but its owner may.
            same = ["/bin/sh", "-c", '! test -e "$1" || test "$1" -ef .', "sh", str(process / "cwd")]
            return account is None or call_as(account, same, folder=data).returncode == 0
    except (FileNotFoundError, ProcessLookupError):
        return False
