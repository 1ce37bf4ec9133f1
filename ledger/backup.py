"""Backups of the embedded database by PostgreSQL's own programs: everything in it, hidden values and tokens too.

What is kept beside the database is not in them: the key that signs checkpoints, and the checkpoints, which tell
afterwards that a backup is older than what was signed.
"""

import os
import subprocess
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ledger.embedded_programs import Programs
from ledger.errors import SkuggbokError
from ledger.migrations import SERVICE_ROLE


class BackupError(SkuggbokError):
    """A backup could not be made or put back; the message says what would help."""


def backup(url: str, programs: Programs, file: Path) -> int:
    """Write a backup to a new file (mode 0600), whole or not at all, and return its bytes. Raises BackupError."""
    if file.exists():
        raise BackupError(f"{file} is there already, and no backup is overwritten")
    new = file.with_name(f"{file.name}.new")
    try:
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:
            _run(programs, "pg_dump", url, "--format=custom", "--no-password", stdout=output.fileno())
            os.fsync(output.fileno())
        new.rename(file)
    except OSError as error:
        raise BackupError(f"the backup cannot be written: {error}") from None
    finally:
        new.unlink(missing_ok=True)
    return file.stat().st_size


def restore(url: str, programs: Programs, file: Path) -> None:
    """Put a backup into a database that has nothing of ours in it, whole or not at all. Raises BackupError."""
    if not file.is_file():
        raise BackupError(f"there is no file {file}")
    with psycopg.connect(url, autocommit=True) as connection:
        if connection.execute("SELECT to_regnamespace('skuggbok')").fetchone() != (None,):
            raise BackupError(
                "this database has LARPs or was prepared for them, and nothing is overwritten: name an empty folder"
                " with --data"
            )
        if connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (SERVICE_ROLE,)).fetchone() is None:
            connection.execute(f"CREATE ROLE {SERVICE_ROLE} NOLOGIN")  # belongs to the server, not to a database
    options = ("--exit-on-error", "--single-transaction", "--no-owner", "--no-password")
    _run(programs, "pg_restore", url, *options, str(file.resolve()))


def _run(programs: Programs, name: str, url: str, *arguments: str, stdout: int = subprocess.DEVNULL) -> None:
    """As the caller, who owns the file; only servers refuse to run as root."""
    where, password = conninfo_to_dict(url), {}
    if "password" in where:
        password = {"PGPASSWORD": str(where.pop("password"))}  # others see arguments, but not the environment
    command = [str(programs.folder / name), f"--dbname={make_conninfo('', **where)}", *arguments]
    done = subprocess.run(  # noqa: S603 - PostgreSQL's programs, without a shell
        command, env=_environment() | password, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise BackupError(f"{name} failed: {said[0] if said else f'exit code {done.returncode}'}")


def _environment() -> dict[str, str]:
    """What finds libraries, and nothing of the caller's own PostgreSQL (PGHOST and the like)."""
    names = ("LD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
    return {"LC_ALL": "C", "TZ": "UTC"} | {name: os.environ[name] for name in names if name in os.environ}
