"""Journals of whole games, and their exports, without a database."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from ledger.recorded import Recorded
from projections.exports import NDJSON_FORMAT, Format, Header, StoredRow
from tests.support.in_memory import MemoryLarp
from tests.test_scenarios_in_memory import FILES, filled, outcome

SCENARIOS = {file.stem: file for file in FILES}


def played(file: Path, name: str = "test") -> MemoryLarp:
    """A LARP in which a sample game was played to its end."""
    larp, positions = MemoryLarp(name), dict[int, int]()
    for step in json.loads(file.read_text())["steps"]:
        code, applied = outcome(larp, step | {"body": filled(step["body"], positions)}, positions)
        if not code:
            positions[step["n"]] = applied[-1].recorded.position
    return larp


def header(journal: Sequence[Recorded], larp: str = "test") -> Header:
    return Header(NDJSON_FORMAT, larp, len(journal), journal[-1].hash.hex())


def exported(journal: Sequence[Recorded], format_: Format, larp: str = "test") -> str:
    """All of an export."""
    events = b"".join(format_.event(StoredRow(*row)) for row in stored(journal))
    return (format_.begin(header(journal, larp)) + events).decode()


def stored(journal: Iterable[Recorded]) -> Iterable[tuple[int, bytes, bytes]]:
    return [(event.position, event.body, event.hash) for event in journal]
