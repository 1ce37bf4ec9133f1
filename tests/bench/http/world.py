"""The LARP that is measured: 500 characters with money, made by requests as its users would make it."""

from collections.abc import Mapping
from pathlib import Path

import httpx
import msgspec
from msgspec import Struct

from tests.bench.http.processes import ADMIN_TOKEN, Server, asking

LARP = "bench"
CHARACTERS = tuple(f"c{number:03}" for number in range(500))
MONEY = 1_000_000
LINES = {"Content-Type": "application/x-ndjson"}


class World(Struct, frozen=True):
    """The token with which everything in it is done."""

    organiser: str

    @property
    def below(self) -> str:
        """Its path below the base path."""
        return f"/larps/{LARP}"

    @property
    def path(self) -> str:
        return f"/api/v1{self.below}"


def made(server: Server) -> World:
    """Found the LARP."""
    with asking(server, ADMIN_TOKEN) as admin:
        _ok(admin.post("/larps", json={"larp": LARP, "name": "Benchmark"}))
        token = _ok(admin.post(f"/larps/{LARP}/tokens", json={"role": "organiser", "label": "benchmark"}))
        organiser: str = token.json()["token"]
    commands: list[Mapping[str, object]] = [
        {"command": "asset", "asset": "krona", "kind": "token", "name": "Krona"},
        *({"command": "character", "character": name, "name": name.title()} for name in CHARACTERS),
        *({"command": "grant", "to": name, "asset": "krona", "amount": MONEY} for name in CHARACTERS),
    ]
    lines = b"\n".join(map(msgspec.json.encode, commands))
    with asking(server, organiser) as client:
        answer = _ok(client.post(f"/larps/{LARP}/commands", content=lines, headers=LINES))
    if answer.text.count('"status":201') != len(commands):
        raise RuntimeError("the LARP could not be made")
    return World(organiser)


def _ok(answer: httpx.Response) -> httpx.Response:
    return answer.raise_for_status()


def folder_of(place_folder: Path) -> Path:
    """A folder for what the servers of this part write."""
    folder = place_folder / "http"
    folder.mkdir(exist_ok=True)
    return folder
