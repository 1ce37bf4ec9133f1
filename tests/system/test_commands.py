"""The command, as its users run it: in processes of its own, on an embedded database and on one of their own."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import click
import httpx
import psycopg
import pytest

from api.cli import main
from tests.support.service import ADMIN_TOKEN, Service


def run(*arguments: str, url: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    where = {"SKUGGBOK_DATABASE_URL": url} if url else {}
    return subprocess.run(
        [sys.executable, "-m", "api.cli", *arguments],
        env={**os.environ, **where, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def post(service: Service, path: str, body: Mapping[str, object], token: str = ADMIN_TOKEN) -> httpx.Response:
    return httpx.post(
        f"{service.address}/api/v1{path}", json=dict(body), headers={"Authorization": f"Bearer {token}"}, timeout=30
    )


def test_every_command_is_explained_with_examples() -> None:
    """sqlite-utils: a test that every command is documented."""

    def walk(command: click.Command, path: tuple[str, ...]) -> None:
        if isinstance(command, click.Group):
            for name, sub in command.commands.items():
                walk(sub, (*path, name))
        else:
            text = command.help or ""
            assert "Examples:" in text, f"{' '.join(path)} has no example"
            assert f"skuggbok {' '.join(path)}" in text

    walk(main, ())
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    for name in main.commands:
        assert f"skuggbok {name}" in readme, f"README.md does not tell of {name}"


def test_a_whole_evening_on_the_embedded_database(tmp_path: Path) -> None:
    """Start, write, stop, start again: everything is there; verify says so; tokens can be made without the API."""
    with Service(tmp_path) as service:
        assert post(service, "/larps", {"larp": "north", "name": "North"}).status_code == 201
        made = run("token", "create", "--larp", "north", "--role", "organiser", "--data", str(tmp_path / "data"))
        token = made.stdout.strip()
        assert token.startswith("skb_"), made.stderr
        body = {"asset": "krona", "kind": "token", "name": "Krona"}
        assert post(service, "/larps/north/assets", body, token).status_code == 201
    assert service.process is not None
    assert service.process.returncode == 0
    with Service(tmp_path) as again:
        answer = httpx.get(f"{again.address}/api/v1/larps/north", headers={"Authorization": f"Bearer {token}"})
        assert answer.json()["position"] == 2
        checked = run("verify", "north", "--data", str(tmp_path / "data"))
        assert checked.returncode == 0, checked.stderr
        assert re.search(r"north: all is well, 2 events", checked.stdout)
    assert ADMIN_TOKEN not in again.log()
    assert token not in again.log()


def test_an_embedded_server_that_dies_is_started_again(tmp_path: Path) -> None:
    """Nobody is in the forest at night to restart the service; what was acknowledged is there."""
    with Service(tmp_path) as service:
        assert post(service, "/larps", {"larp": "north", "name": "North"}).status_code == 201
        (pid_file,) = (tmp_path / "data").glob("*/postmaster.pid")
        os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)
        for _ in range(30):  # each waits for a connection
            answer = post(service, "/larps", {"larp": "south", "name": "South"})
            if answer.status_code != 503:
                break
            assert answer.headers["retry-after"]
        assert answer.status_code in (201, 409), "409: an attempt whose answer was lost had been recorded"
        larps = httpx.get(f"{service.address}/api/v1/larps", headers={"Authorization": f"Bearer {ADMIN_TOKEN}"})
        assert [larp["larp"] for larp in larps.json()["items"]] == ["north", "south"]


def test_verify_ends_with_status_1_and_names_what_is_damaged(database_url: str, tmp_path: Path) -> None:
    with Service(tmp_path, database_url=database_url) as service:
        assert post(service, "/larps", {"larp": "north", "name": "North"}).status_code == 201
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("SET session_replication_role = replica")
        owner.execute("UPDATE skuggbok.event SET body = convert_to('{}', 'UTF8')")
    result = run("verify", url=database_url)
    assert result.returncode == 1
    assert "north: DAMAGED" in result.stdout
    assert "chain at position 1" in result.stdout
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "environment", "says"),
    [
        (("serve",), {"SKUGGBOK_DATABASEURL": "x"}, "SKUGGBOK_DATABASEURL is no setting"),
        (("serve",), {"SKUGGBOK_DATABASE_URL": "postgresql://127.0.0.1:1/none"}, "leads to no database that answers"),
        (("serve", "--host", "192.0.2.1"), {}, "nothing can listen at 192.0.2.1"),
        (("verify", "nowhere"), {}, "there is no LARP 'nowhere'"),
        (("token", "create", "--larp", "nowhere", "--role", "tool"), {}, "there is no LARP 'nowhere'"),
        (("token", "create", "--larp", "x", "--role", "player"), {}, "a player's token needs a character"),
        (("token", "create", "--larp", "x", "--role", "king"), {}, "'king' is not one of"),
    ],
)
def test_a_mistake_is_said_in_a_line(
    database_url: str, arguments: tuple[str, ...], environment: dict[str, str], says: str
) -> None:
    result = run(*arguments, **{"SKUGGBOK_DATABASE_URL": database_url, **environment})
    assert result.returncode != 0
    assert says in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("arguments", [("verify",), ("rebuild",), ("export", "x"), ("checkpoint", "x")])
def test_a_folder_without_a_database_is_said_and_stays_as_it_is(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """A misspelt folder is no empty ledger in which all is well."""
    result = run(*arguments, "--data", str(tmp_path / "typo"), url=None)
    assert result.returncode != 0
    assert "there is no Skuggbok database in" in result.stderr
    assert not (tmp_path / "typo").exists()


def test_a_newer_schema_is_refused_at_the_start(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("INSERT INTO skuggbok.migration SELECT max(number) + 1, 'later', 'x' FROM skuggbok.migration")
    result = run("serve", "--port", "0", url=database_url)
    assert result.returncode != 0
    assert "install the newer version" in result.stderr


def test_a_port_that_is_taken_is_said(database_url: str, tmp_path: Path) -> None:
    with Service(tmp_path, database_url=database_url) as service:
        result = run("serve", "--port", str(service.port), url=database_url)
        assert result.returncode != 0
        assert "choose another --port" in result.stderr


def test_the_demonstration_is_played_once(database_url: str, tmp_path: Path) -> None:
    """It prints an address, an organiser's token and three requests that are answered; the next start plays nothing."""
    for played in ("was played just now", "is still there"):
        service = Service(tmp_path, database_url=database_url, command="demo")
        with service:
            assert service.process is not None
            assert service.process.stdout is not None
            text = "".join(iter(service.process.stdout.readline, "Stop with Ctrl-C.\n"))
            assert played in service.before + text
            requests = re.findall(r'curl -H "(Authorization: Bearer \S+)" "?(\S+?)"?\n', text)
            assert len(requests) == 3
            for header, url in requests:
                name, value = header.split(": ")
                answer = httpx.get(url, headers={name: value})
                assert answer.status_code == 200, url
                assert answer.json()
    assert run("verify", url=database_url).returncode == 0
