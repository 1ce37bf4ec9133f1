"""The commands for what is kept outside of the database, as their users type them."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import structlog
from click.testing import CliRunner

from api.cli import main
from ledger.embedded import EmbeddedPostgres
from ledger.migrations import migrate
from ledger.notes import Checkpoint, Verifier, opened
from projections.exports import Ndjson
from tests.support.journals import SCENARIOS, exported, played
from tests.support.service import Service


class Command:
    """`skuggbok`, with a folder of its own for what lies beside the database."""

    def __init__(self, folder: Path, **environment: str) -> None:
        others = {name: None for name in os.environ if name.startswith("SKUGGBOK_")}
        ours = {"SKUGGBOK_DATA_DIR": str(folder), "SKUGGBOK_LOG": "warning", **environment}
        self._runner = CliRunner(env=others | ours)

    def run(self, *arguments: object, status: int = 0, stdin: str = "") -> tuple[str, str]:
        """Standard output and error; the exit status must be `status`."""
        done = self._runner.invoke(main, list(map(str, arguments)), input=stdin)
        assert done.exit_code == status, f"{arguments}: {done.exit_code} {done.exception!r}\n{done.output}"
        return done.stdout, done.stderr


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """Commands set up the log of the process."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.fixture
def command(database_url: str, tmp_path: Path) -> Command:
    return Command(tmp_path / "data", SKUGGBOK_DATABASE_URL=database_url)


JOURNAL = played(SCENARIOS["ledger-debts"]).journal
WHOLE, HALF = exported(JOURNAL, Ndjson()), exported(JOURNAL[:20], Ndjson())


def test_a_journal_comes_in_and_goes_out_again(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "test.ndjson"
    assert command.run("import", "-", stdin=WHOLE)[0].startswith(f"test: {len(JOURNAL)} events imported")
    command.run("export", "test", "--output", file)
    assert file.read_text() == WHOLE == command.run("export", "test")[0]
    for format_ in ("journal.csv", "hledger", "beancount"):
        assert "krona" in command.run("export", "test", "--format", format_)[0].lower()
    assert f"all is well, {len(JOURNAL)} events" in command.run("verify")[0]
    _, err = command.run("import", file, status=1)
    assert "there is a LARP 'test' already" in err
    assert "there is no LARP" in command.run("export", "nowhere", status=1)[1]
    assert "first line" in command.run("import", "-", stdin="nothing", status=1)[1]


def test_a_table_that_hides_something_is_named(command: Command) -> None:
    larp = played(SCENARIOS["skuggkast-plain"])
    hidden = next(a for a in larp.applied if getattr(a.recorded.event, "sealed", ()))
    out, _ = command.run("import", "-", stdin=exported(larp.journal[: hidden.recorded.position], Ndjson()))
    assert f"can only be voided: {hidden.recorded.table}" in out


def test_a_checkpoint_is_printed_kept_and_drawn(command: Command, database_url: str, tmp_path: Path) -> None:
    command.run("import", "-", stdin=WHOLE)
    picture = tmp_path / "test.svg"
    note, said = command.run("checkpoint", "test", "--svg", picture)
    key = command.run("checkpoint", "test", "--key")[0].strip()
    assert key in said
    assert Checkpoint.parse(opened(note, Verifier.parse(key))).size == len(JOURNAL)
    assert re.match(r'<\?xml[^>]+>\s*<svg xmlns="http://www.w3.org/2000/svg"', picture.read_text())
    assert "there is no LARP" in command.run("checkpoint", "nowhere", status=1)[1]
    assert "all is well" in command.run("verify", "test")[0]
    cut(database_url)
    out, _ = command.run("verify", "test", status=1)
    assert (
        f"checkpoints at position 20: the journal has 20 events, but a checkpoint was signed over {len(JOURNAL)}" in out
    )
    assert "Nothing is signed" in command.run("checkpoint", "test", status=1)[1]


def cut(url: str) -> None:
    """Twenty events, as an older backup had them, and nothing that does not fit."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("DELETE FROM skuggbok.event WHERE position > 20")
        connection.execute("UPDATE skuggbok.head SET position = 20, hash = %s", (JOURNAL[19].hash,))


def test_a_service_keeps_checkpoints_and_notices_what_contradicts_them(database_url: str, tmp_path: Path) -> None:
    """At its end it signs what is new; at its start it compares, tells, and serves all the same."""
    Command(tmp_path / "data", SKUGGBOK_DATABASE_URL=database_url).run("import", "-", stdin=WHOLE)
    with Service(tmp_path, database_url=database_url) as service:
        assert "checkpoint_" not in service.log()
    (kept,) = (tmp_path / "data" / "checkpoints").rglob("test.notes")
    assert kept.read_text().splitlines()[1] == str(len(JOURNAL))
    cut(database_url)
    with Service(tmp_path, database_url=database_url) as service:
        assert "checkpoint_contradicted" in service.log()
        assert f"a checkpoint was signed over {len(JOURNAL)}" in service.log()
    assert kept.read_text().count("\n\n") == 2, "nothing was signed over it"


def test_an_older_backup_that_is_put_back_is_noticed(tmp_path: Path) -> None:
    """With the embedded database, whose checkpoints lie beside it and are not put back with it."""
    folder, file = tmp_path / "data", tmp_path / "friday.backup"
    command = Command(folder)
    with EmbeddedPostgres(folder) as embedded:  # a server that runs already saves each command the time of starting one
        url = embedded.start()

        def lose_everything() -> None:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("DROP SCHEMA skuggbok CASCADE")

        migrate(url)
        command.run("import", "-", stdin=HALF)
        assert command.run("checkpoint", "test")[0].splitlines()[1] == "20"
        assert (folder / "checkpoint-key").stat().st_mode & 0o777 == 0o600
        assert command.run("backup", file)[0].endswith("bytes\n")
        assert "is there already" in command.run("backup", file, status=1)[1]
        assert "nothing is overwritten" in command.run("restore", file, status=1)[1]
        lose_everything()
        assert command.run("restore", file)[0].endswith("test: 20 events\n")
        assert "all is well, 20 events" in command.run("verify")[0]
        lose_everything()
        command.run("import", "-", stdin=WHOLE)
        command.run("checkpoint", "test")
        lose_everything()
        assert "an older backup was put back" in command.run("restore", file, status=1)[0]
    external = Command(folder, SKUGGBOK_DATABASE_URL="postgresql://nowhere")
    assert "pg_dump" in external.run("backup", tmp_path / "x", status=1)[1]
