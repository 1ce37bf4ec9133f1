"""Journals of old versions decode, fold and hash for ever (see tests/golden/README.md)."""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ledger import chain
from ledger.book import EVENTS, READER, table_history
from ledger.games import GAMES
from ledger.verify import StoredEvent, Verifier
from tests.golden.files import FOLDER, folded, journal, last_views, names, views

Json = Any
NAMES = names()


@pytest.mark.parametrize("name", NAMES)
def test_it_hashes_and_folds_as_kept(name: str) -> None:
    """Every check of the audit that needs no database: the chain, the money, lids, commitments, empty tables."""
    lines = journal(FOLDER / f"{name}.ndjson")
    verifier = Verifier(msgspec.json.decode(lines[0].body)["data"]["larp"])
    previous = chain.GENESIS
    for line in lines:
        previous = chain.link(verifier.larp, line.position, previous, line.body)
        assert previous == line.hash, f"position {line.position}"
        read = READER.read(line.position, line.body, line.hash)
        row = StoredEvent(
            position=line.position,
            body=line.body,
            hash=line.hash,
            type=read.type,
            table=read.table,
            character=read.event.character_concerned,
            at=read.at,
            recorded_at=read.recorded_at,
        )
        findings, applied = verifier.see(row)
        assert findings == []
        assert applied is not None
        assert applied.recorded.to_json() in (FOLDER / f"{name}.ndjson").read_bytes()
    assert list(verifier.end(len(lines), previous)) == []


@pytest.mark.parametrize("name", NAMES)
def test_its_tables_look_as_kept(name: str) -> None:
    _, applied = folded(journal(FOLDER / f"{name}.ndjson"))
    now, kept = last_views(applied), views(name)
    assert now.keys() == kept.keys()
    for table, view in kept.items():
        assert differences(view, msgspec.json.decode(now[table]), table) == []


@pytest.mark.parametrize("name", NAMES)
def test_its_tables_can_be_looked_at_again_by_themselves(name: str) -> None:
    """As of any event, from the table's own events alone."""
    _, applied = folded(journal(FOLDER / f"{name}.ndjson"))
    of_tables = defaultdict(list)
    for each in applied:
        if each.recorded.table is not None:
            of_tables[each.recorded.table].append(each)
    for history in of_tables.values():
        again = table_history(each.recorded for each in history)
        assert [each.table for each in again] == [each.table for each in history]


def differences(kept: Json, now: Json, at: str) -> list[str]:
    """What was kept and is not so any more. There may be more keys than there were."""
    if isinstance(kept, dict) and isinstance(now, dict):
        return [text for key in kept for text in differences(kept[key], now.get(key, "nothing"), f"{at}.{key}")]
    if isinstance(kept, list) and isinstance(now, list) and len(kept) == len(now):
        return [
            text
            for i, (was, is_) in enumerate(zip(kept, now, strict=True))
            for text in differences(was, is_, f"{at}[{i}]")
        ]
    return [] if kept == now else [f"{at} was {kept!r} and is {now!r}"]


def test_every_event_occurs() -> None:
    occurring = {
        type(READER.read(line.position, line.body, line.hash).event)
        for name in NAMES
        for line in journal(FOLDER / f"{name}.ndjson")
    }
    missing = [event.TYPE for event in EVENTS if event not in occurring]
    assert missing == [], "an event needs a journal that is kept: see tests/golden/README.md"


@pytest.mark.parametrize("game", [game.name for game in GAMES])
def test_every_game_has_several_with_both_ways_of_rolling(game: str) -> None:
    kept = [view for name in NAMES for view in views(name).values() if view["game"] == game]
    assert len(kept) >= 3
    assert {"closed", "voided"} <= {view["phase"] for view in kept}
    dice = {view["dice"] for view in kept}
    assert dice == ({None} if game == "schattenspiel" else {"service", "reported"})


def test_none_is_ever_written_again() -> None:
    before = {file.name: file.read_bytes() for file in FOLDER.glob("*.ndjson")}
    keeping = [sys.executable, "-m", "tests.golden.keep", NAMES[0], "--game", GAMES[0].name]
    made = subprocess.run(keeping, capture_output=True, text=True, cwd=Path(__file__).parent.parent, check=False)
    assert made.returncode == 1
    assert "kept for ever" in made.stderr
    assert {file.name: file.read_bytes() for file in FOLDER.glob("*.ndjson")} == before
