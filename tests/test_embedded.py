"""The embedded database, with real servers: what it survives, what it refuses, and whom it keeps out."""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from ledger.embedded import (
    BinariesNotFoundError,
    EmbeddedPostgres,
    EmbeddedPostgresError,
    ForeignServerError,
    OtherMajorError,
)
from ledger.embedded_data import clear_traces
from ledger.embedded_host import account_for, reachable
from ledger.embedded_programs import Programs, package_folder
from tests.embedded_support import (
    Maker,
    Worker,
    as_user,
    ask,
    copied,
    host,
    lives,
    modes,
    postmaster,
    program_of,
    put_out,
    server_said,
    sketch_of_data,
    wait_for,
    working_process,
)

IS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can become another user")
ADMIN_TOKEN = "a token that servers must not see"
needs_proc = pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="looks into /proc")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a cluster that was made and stopped, shared to save the time of making more."""
    folder = tmp_path_factory.mktemp("cluster") / "data"
    with EmbeddedPostgres(folder):
        return folder


@pytest.fixture
def server(root: Path) -> Iterator[Maker]:
    """Makes users of a server, and ends all of them after the test."""
    with ExitStack() as stack:

        def make(folder: Path = root, bin_dir: Path | None = None) -> EmbeddedPostgres:
            stack.callback(put_out, folder)
            embedded = EmbeddedPostgres(folder, bin_dir=bin_dir)
            stack.callback(embedded.stop)
            return embedded

        yield make


@pytest.fixture
def worker(server: Maker) -> Iterator[Worker]:
    """Starts other processes that use the server, and ends them after the test."""
    with ExitStack() as stack:

        def make(folder: Path) -> "subprocess.Popen[str]":
            server(folder)
            return stack.enter_context(working_process(folder))

        yield make


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="skuggbok-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    put_out(folder / "data")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def running(cluster: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    folder = copied(cluster, tmp_path_factory.mktemp("running") / "data")
    embedded = EmbeddedPostgres(folder)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SKUGGBOK_ADMIN_TOKEN", ADMIN_TOKEN)
            conninfo = embedded.start()
        yield folder, conninfo
    finally:
        embedded.stop()
        put_out(folder)


def test_the_last_user_stops_the_server(root: Path, server: Maker) -> None:
    """Starting, attaching and stopping, each twice; and the rest of an initdb that a power cut tore is no hindrance."""
    (root / "18.new").mkdir(parents=True)
    (root / "18.new" / "PG_VERSION").write_text("18\n")
    above = modes(root.parent)
    first, second = server(), server()
    conninfo = first.start()
    assert first.start() == second.start() == conninfo
    assert ask(conninfo, "SELECT current_database() || current_user") == "skuggbokskuggbok"
    ask(conninfo, "CREATE TABLE kept AS SELECT 1")
    first.stop()
    first.stop()
    assert ask(conninfo, "SELECT 1") == 1
    second.stop()
    assert not lives(root)
    assert not (root / "18" / "postmaster.pid").exists()
    assert ask(second.start(), "SELECT count(*) FROM kept") == 1
    assert modes(root.parent) == above


def test_settings(running: tuple[Path, str]) -> None:
    """It keeps what it has acknowledged, and listens to nobody but its own folder."""
    settings = {
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "data_checksums": "on",
        "listen_addresses": "",
        "password_encryption": "scram-sha-256",
        "log_truncate_on_rotation": "on",
        "server_encoding": "UTF8",
    }
    assert {name: ask(running[1], f"SHOW {name}") for name in settings} == settings


def test_only_scram_opens(running: tuple[Path, str]) -> None:
    methods = "SELECT string_agg(DISTINCT auth_method, ' ') FROM pg_hba_file_rules"
    assert ask(running[1], methods) == "scram-sha-256"
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        ask(make_conninfo(running[1], password="guessed"), "SELECT 1")


def test_folders_are_private(running: tuple[Path, str]) -> None:
    root, conninfo = running
    folders = (root, root / "18", root / "18" / "log", host(conninfo))
    assert {oct(folder.stat().st_mode & 0o777) for folder in folders} == {"0o700"}
    assert {oct(file.stat().st_mode & 0o777) for file in root.iterdir() if file.is_file()} == {"0o600"}
    assert (root / "18").stat().st_uid != 0


@needs_proc
def test_the_password_is_nowhere_else(running: tuple[Path, str], capfd: pytest.CaptureFixture[str]) -> None:
    root, conninfo = running
    with EmbeddedPostgres(root), pytest.raises(psycopg.OperationalError) as refused:
        ask(make_conninfo(conninfo, dbname="none"), "SELECT 1")
    password = (root / "password").read_text().strip()
    assert len(password) == 43  # 256 bits
    said = "".join(capfd.readouterr()) + str(refused.value)
    files = [path for path in root.rglob("*") if path.is_file() and path.stat().st_size < 100_000]
    files.remove(root / "password")
    for process in Path("/proc").glob("[0-9]*"):
        if process.name != str(os.getpid()):
            files += [process / "cmdline", process / "environ"]
    for file in files:
        with suppress(OSError):  # processes come and go
            said += file.read_bytes().decode(errors="replace")
    assert password not in said
    assert ADMIN_TOKEN not in said


@pytest.mark.parametrize("name", ['My App\'s "Data", with $HOME', "å" * 75], ids=["signs", "150 bytes more"])
def test_any_path(
    name: str, cluster: Path, tmp_path: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch, server: Maker
) -> None:
    """Data can be moved. A socket that does not fit goes to a temporary folder, used again only if still private."""
    monkeypatch.setattr(tempfile, "tempdir", str(open_folder))
    open_folder.chmod(0o1777)
    root = cluster.rename(tmp_path / name)
    try:
        embedded = server(root)
        socket_folder = host(embedded.start())
        assert socket_folder.parent == open_folder
        assert socket_folder.stat().st_mode & 0o777 == 0o700
        os.kill(postmaster(root), signal.SIGKILL)
        wait_for(lambda: not lives(root))
        assert host(embedded.start()) == socket_folder
        embedded.stop()
        assert not socket_folder.exists()
        socket_folder.mkdir(mode=0o755)
        conninfo = embedded.start()
        assert host(conninfo) != socket_folder
        assert ask(conninfo, "SELECT 1") == 1
        embedded.stop()
    finally:
        put_out(root)
        root.rename(cluster)


def test_four_processes_at_once_get_one_server(root: Path, worker: Worker) -> None:
    processes = [worker(root) for _ in range(4)]
    assert len({server_said(process) for process in processes}) == 1
    for process in processes:
        assert lives(root)
        process.communicate("\n", timeout=20)
        assert process.returncode == 0
    assert not lives(root)


def test_stopping_and_starting_do_not_meet(cluster: Path, server: Maker) -> None:
    answers: list[object] = []

    def come_and_go() -> None:
        embedded = server(cluster)
        for _ in range(3):
            answers.append(ask(embedded.start(), "SELECT 1"))
            embedded.stop()

    threads = [threading.Thread(target=come_and_go) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == [1] * 6


def test_after_a_killed_user_the_next_attaches_and_stops(cluster: Path, worker: Worker, server: Maker) -> None:
    killed = worker(cluster)
    said = server_said(killed)
    killed.kill()
    killed.wait()
    embedded = server(cluster)
    assert str(ask(embedded.start(), "SELECT pg_postmaster_start_time()")) in said
    embedded.stop()
    assert not lives(cluster)


def test_after_a_killed_server_all_that_was_acknowledged_is_there(cluster: Path, server: Maker) -> None:
    embedded = server(cluster)
    conninfo = embedded.start()
    ask(conninfo, "CREATE TABLE kept (number int)")
    acknowledged: list[int] = []

    def write_until_cut() -> None:
        with suppress(psycopg.OperationalError), psycopg.connect(conninfo, autocommit=True) as connection:
            for number in count():
                connection.execute("INSERT INTO kept VALUES (%s)", (number,))
                acknowledged.append(number)

    thread = threading.Thread(target=write_until_cut)
    thread.start()
    wait_for(lambda: len(acknowledged) > 100)
    os.kill(postmaster(cluster), signal.SIGKILL)
    thread.join(20)
    assert embedded.start() == conninfo
    with psycopg.connect(conninfo) as connection:
        kept = {number for (number,) in connection.execute("SELECT number FROM kept")}
    assert kept >= set(acknowledged)


@pytest.mark.parametrize("by", ["a program", "another server"])
def test_a_pid_in_use_again_is_no_hindrance(by: str, cluster: Path, tmp_path: Path, server: Maker) -> None:
    embedded = server(cluster)
    embedded.start()
    files = [cluster / "18" / "postmaster.pid", cluster / "18" / ".s.PGSQL.5432.lock"]
    left = {file: file.read_bytes().split(b"\n") for file in files}
    embedded.stop()
    owner = (cluster / "18").stat()
    with program_of(owner) as program:
        pid = program.pid
        if by == "another server":
            other = copied(cluster, tmp_path / "other")
            server(other).start()
            pid = postmaster(other)
        for file, lines in left.items():
            file.write_bytes(b"\n".join([str(pid).encode(), *lines[1:]]))
            os.chown(file, owner.st_uid, owner.st_gid)
        assert ask(embedded.start(), "SELECT 1") == 1
        embedded.stop()
        os.kill(pid, 0)  # untouched


@needs_proc
def test_a_zombie_is_dead(tmp_path: Path) -> None:
    """Below a process 1 that does not look after its children, a killed server stays one."""
    zombie = subprocess.Popen(
        [Programs.find(None, tmp_path, None).folder / "postgres", "--version"], stdout=subprocess.DEVNULL, cwd=tmp_path
    )
    wait_for(lambda: Path(f"/proc/{zombie.pid}/stat").read_text().split()[2] == "Z")
    (tmp_path / "postmaster.pid").write_text(f"{zombie.pid}\n")
    clear_traces(tmp_path, tmp_path, None)
    zombie.wait()
    assert not (tmp_path / "postmaster.pid").exists()


def test_a_server_started_by_hand_is_left_alone(cluster: Path, server: Maker) -> None:
    embedded = server(cluster)
    conninfo = embedded.start()
    embedded.stop()
    programs = Programs.find(None, cluster, account_for(data := cluster / "18"))
    programs.run("pg_ctl", "start", "-D", programs.here, "--wait", folder=data, log=cluster / "hand.log")
    try:
        before = (data / "postmaster.pid").read_bytes()
        with pytest.raises(ForeignServerError, match=rf"process {postmaster(cluster)}\b"):
            embedded.start()
        assert (data / "postmaster.pid").read_bytes() == before
        assert ask(conninfo, "SELECT 1") == 1
    finally:
        programs.run("pg_ctl", "stop", "-D", programs.here, "--mode=fast", folder=data, log=cluster / "hand.log")


def test_data_of_another_major_is_refused(root: Path, server: Maker) -> None:
    sketch_of_data(root / "17")
    with pytest.raises(OtherMajorError, match=r"needs PostgreSQL 17.*SKUGGBOK_PG_BIN"):
        server().start()
    assert not (root / "18").exists()


def test_without_its_password_data_is_left_alone(root: Path, server: Maker) -> None:
    sketch_of_data(root / "18")
    with pytest.raises(EmbeddedPostgresError, match="password is missing"):
        server().start()
    assert {path.name for path in (root / "18").iterdir()} == {"PG_VERSION"}


def test_without_programs_it_says_what_to_do(root: Path, server: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BinariesNotFoundError, match="/nowhere"):
        server(bin_dir=Path("/nowhere")).start()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BinariesNotFoundError, match=r"install .* SKUGGBOK_PG_BIN.*SKUGGBOK_DATABASE_URL"):
        server().start()


@needs_root
def test_another_user_cannot_reach_it(cluster: Path, open_folder: Path, server: Maker) -> None:
    """Not even with the password, and with folders above that are open to all."""
    root = copied(cluster, open_folder / "data")
    root.chmod(0o755)
    conninfo = server(root).start()
    assert ask(conninfo, "SELECT 1") == 1
    said = as_user("games", lambda: ask(conninfo, "SELECT 1"))
    assert said.startswith("OperationalError") and "Permission denied" in said
    assert as_user("games", (root / "password").read_text).startswith("PermissionError")


@needs_root
def test_an_ordinary_user_needs_no_root(open_folder: Path) -> None:
    if not reachable(account_for(None), package_folder() or Path("/")):
        pytest.skip("PostgreSQL's programs are installed where other users cannot reach them")
    shutil.chown(open_folder, "games")
    above = modes(open_folder)

    def use() -> object:
        with EmbeddedPostgres(open_folder / "data") as embedded:
            return ask(embedded.start(), "SHOW data_directory")

    assert as_user("games", use) == str(open_folder / "data" / "18")
    assert not lives(open_folder / "data")
    assert (open_folder / "data" / "18").owner() == "games"
    assert modes(open_folder) == above


@needs_root
def test_programs_out_of_the_accounts_reach_are_copied(
    cluster: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch, server: Maker
) -> None:
    """As when root has installed the package, and keeps the data, below /root."""
    package = package_folder() or Path()
    private = open_folder / "private"
    private.mkdir(mode=0o700)
    for place in (package, package.with_name(f"{package.name}.libs")):
        (private / place.name).symlink_to(place)
    monkeypatch.syspath_prepend(private)
    monkeypatch.setattr(tempfile, "tempdir", str(open_folder))
    embedded = server(cluster)
    conninfo = embedded.start()
    assert ask(conninfo, "SELECT count(*) > 100 FROM pg_timezone_names")
    (copy,) = open_folder.glob("skuggbok-programs-*")
    assert (copy.stat().st_mode & 0o777, copy.stat().st_uid) == (0o755, 0)
    assert private.stat().st_mode & 0o777 == 0o700
    embedded.stop()
    embedded.start()
    assert list(open_folder.glob("skuggbok-programs-*")) == [copy]
    embedded.stop()
    shutil.rmtree(copy)
    assert ask(embedded.start(), "SELECT 1") == 1
