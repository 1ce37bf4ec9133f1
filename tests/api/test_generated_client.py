"""A client that openapi-python-client makes of the document plays a game of Skuggkast, typed from end to end."""

import importlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.games.players import player_of
from tests.support.service import Service

PACKAGE = "skuggbok_generated_client"
LARP, TABLE = "north", "eagle"
BOT = player_of("skuggkast")
TURNS_MAX = 500
Json = dict[str, Any]


@pytest.fixture
def service(database_url: str, world: Mapping[str, str], tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path, database_url=database_url) as running:
        yield running


def generated(service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make the client and let it be imported; what its maker had to complain about is returned."""
    (folder / "openapi.json").write_bytes(httpx.get(f"{service.address}/schema/openapi.json").content)
    # The generator knows no lines of JSON; as bytes they are as good as any. It needs no formatter.
    settings = {"content_type_overrides": {"application/x-ndjson": "application/octet-stream"}, "post_hooks": []}
    (folder / "settings.json").write_text(json.dumps(settings))
    command = [
        *(sys.executable, "-m", "openapi_python_client", "generate", "--path", "openapi.json", "--meta", "none"),
        *("--config", "settings.json", "--output-path", PACKAGE),
    ]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    monkeypatch.syspath_prepend(folder)
    return ran.stdout + ran.stderr


def module(name: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.{name}")


def test_it_plays_a_game(
    service: Service, world: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = generated(service, tmp_path, monkeypatch)
    assert "WARNING" not in told, "nothing of the document was left out"
    models, client_type = module("models"), module("client").AuthenticatedClient
    keeper = client_type(base_url=service.address, token=world["keeper"])
    players = {seat: client_type(base_url=service.address, token=world[seat]) for seat in ("alva", "berit")}
    rng = random.Random(7)

    opening = models.OpenSkuggkast.from_dict(
        {
            **{"table": TABLE, "game": "skuggkast", "seats": list(players), "dice": "service"},
            **{"stake": {"asset": "krona", "amount": 2}, "rules": {"target": 2, "starter": "alva"}},
        }
    )
    receipt = module("api.tables.open_table").sync(LARP, client=keeper, body=opening)
    assert isinstance(receipt, models.TableReceipt)
    assert isinstance(receipt.events[0], models.SkuggkastOpenedEvent), "events are told apart by their type"
    view = receipt.table
    for _ in range(TURNS_MAX):
        assert isinstance(view, models.SkuggkastView), "and tables by their game"
        if view.phase == "closed":
            break
        view = played(view, players, models, rng)
    assert view.phase == "closed"
    assert view.winner in players

    purses = {seat: module("api.purses.get_purse").sync(LARP, seat, client=players[seat]) for seat in players}
    krona = {seat: purse.balances.additional_properties["krona"] for seat, purse in purses.items()}
    assert sum(krona.values()) == 100, "the pot was paid out"
    assert krona[view.winner] > 50
    refused = module("api.purses.get_purse").sync_detailed(LARP, "berit", client=players["alva"])
    assert (refused.status_code, refused.parsed.code) == (403, "forbidden"), "problems are typed, too"
    events = module("api.journal.list_events").sync(
        LARP, client=client_type(base_url=service.address, token=world["tool"])
    )
    assert events.items[-1].to_dict()["type"] == "table.closed"


def played(view: Any, players: Mapping[str, Any], models: Any, rng: random.Random) -> Any:
    """The table after somebody did something at it, or tried to."""
    now: Json = view.to_dict()
    seat = rng.choice(now["waiting_for"] or list(players))
    seen = module("api.tables.list_sealed").sync(LARP, TABLE, client=players[seat])
    sealed = [item.to_dict() for item in seen.items]
    proposed = BOT.propose(now, seat, sealed, rng)
    if proposed is None:
        return view
    body = getattr(models, "Skuggkast" + "".join(word.title() for word in proposed["action"].split("_")))
    done = module("api.tables.act").sync(LARP, TABLE, client=players[seat], body=body.from_dict(proposed))
    if isinstance(done, models.Problem):
        assert done.status == 409, done
        return view
    return done.table
