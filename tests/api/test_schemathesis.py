"""The document describes exactly what is answered: Schemathesis, with all its checks, finds nothing.

It runs as its users run it, a command against the running service, and the same requests each time.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.support.service import Service

HOOKS = Path(__file__).parent / "schemathesis_hooks.py"
EXAMPLES_MAX = 1
"""Random requests of each operation, beside those that go through each key, type and bound once."""
TIME_MAX_S = 120
ACCEPTED = ["2xx", "3xx", "401", "403", "404", "409", "412", "422", "429"]
"""What may be answered to a request that is as the document says: state and rules have their say."""


NOT_IN_A_SCHEMA = {
    "create_token": "a player's needs a character, no other's has one",
    "create_webhook": "there are types of events, and targets that are nobody's",
    "change_webhook": "the same",
}
"""Operations whose bodies are malformed for reasons that no schema says well."""


def config(document: dict[str, Any]) -> str:
    """Schemathesis' own. A cursor is opaque, so whatever looks like one need not be one; `at` and `at_position`
    exclude each other; and what is wrong with a line of a batch is said in the line's result."""
    text = f"[checks.positive_data_acceptance]\nexpected-statuses = {ACCEPTED}\n"
    text += '[phases.coverage]\nunexpected-methods = ["PUT", "TRACE"]\n'
    for item in document["paths"].values():
        for operation in item.values():
            names, id_ = {parameter.get("name") for parameter in operation["parameters"]}, operation["operationId"]
            if "cursor" in names or {"at", "at_position"} <= names or id_ in NOT_IN_A_SCHEMA:
                text += _exception(id_, "positive_data_acceptance", [*ACCEPTED, "400"])
    return text + _exception("run_commands", "negative_data_rejection", ["2xx", "4xx"])


def _exception(operation: str, check: str, statuses: list[str]) -> str:
    return f'[[operations]]\ninclude-operation-id = "{operation}"\nchecks.{check}.expected-statuses = {statuses}\n'


def run(service: Service, token: str, folder: Path) -> str:
    """What the command has to say. It fails if it finds anything."""
    document = f"{service.address}/schema/openapi.json"
    (folder / "schemathesis.toml").write_text(config(httpx.get(document).json()))
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", document, "--no-color"),
        *("--checks", "all", "--phases", "examples,coverage,fuzzing", "--suppress-health-check", "all"),
        *("--max-examples", str(EXAMPLES_MAX), "--generation-deterministic", "--workers", "1"),
        *("--header", f"Authorization: Bearer {token}"),
    ]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": str(HOOKS)}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIME_MAX_S)
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr[-5_000:]
    return ran.stdout


def test_it_finds_nothing(database_url: str, world: Mapping[str, str], tmp_path: Path) -> None:
    with Service(tmp_path, database_url=database_url) as service:
        told = run(service, world["organiser"], tmp_path)
    assert re.search(r"\b(\d{4,}) generated, \1 passed", told), told[-5_000:]
    assert '"fault"' not in service.log()
