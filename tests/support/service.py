"""The real service as its users run it: the command, in a process of its own."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ADMIN_TOKEN = "admin-token-of-the-tests"
_ADDRESS = re.compile(r"answers at (http://\S+)")


class Service:
    """`skuggbok serve` on a free port. Its log is kept in `log_file`; `stop` or `kill` it, or use it with `with`."""

    def __init__(self, folder: Path, *, database_url: str | None = None, command: str = "serve") -> None:
        where = {"SKUGGBOK_DATA_DIR": str(folder / "data")}
        if database_url:
            where["SKUGGBOK_DATABASE_URL"] = database_url
        self._environment: Mapping[str, str] = {**os.environ, **where, "SKUGGBOK_ADMIN_TOKEN": ADMIN_TOKEN}
        self._command = command
        self.log_file = Path(tempfile.mkstemp(prefix="service-", suffix=".log", dir=folder)[1])
        self.process: subprocess.Popen[str] | None = None
        self.address = ""
        self.before = ""
        """What was printed up to the address."""

    def start(self, port: int = 0) -> str:
        """The address, once requests are answered there."""
        with self.log_file.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "api.cli", self._command, "--port", str(port)],
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        self.before = ""
        for line in self.process.stdout:
            self.before += line
            if found := _ADDRESS.search(line):
                self.address = found[1]
                return self.address
        raise AssertionError(f"the service did not start: {self.log()}")

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def log(self) -> str:
        return self.log_file.read_text()

    def stop(self, timeout_s: float = 30) -> int:
        """SIGTERM, and the exit status."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._ended(timeout_s)

    def kill(self) -> None:
        """SIGKILL: nothing is tidied up."""
        assert self.process is not None
        self.process.kill()
        self._ended(10)

    def _ended(self, timeout_s: float) -> int:
        assert self.process is not None
        assert self.process.stdout is not None
        status = self.process.wait(timeout_s)
        self.process.stdout.close()
        return status

    def __enter__(self) -> "Service":
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process is not None and self.process.returncode is None:
            try:
                self.stop()
            except subprocess.TimeoutExpired:
                self.kill()
                raise
