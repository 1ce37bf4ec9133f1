"""The guide's examples do what it says, in the order in which it says it, against a real service."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.service import ADMIN_TOKEN, Service

GUIDE = Path(__file__).parents[2] / "api" / "GUIDE.md"
EXAMPLE = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHORT = "-m 1"
"""How long the example listens, here."""


def blocks() -> list[str]:
    return [found[1] for found in EXAMPLE.finditer(GUIDE.read_text())]


@pytest.mark.skipif(shutil.which("curl") is None, reason="the examples need curl")
def test_the_examples_work_as_they_stand(database_url: str, tmp_path: Path) -> None:
    with Service(tmp_path, database_url=database_url) as service:
        environment = {**os.environ, "API": f"{service.address}/api/v1", "ADMIN": ADMIN_TOKEN}

        def shell(block: str) -> str:
            command = ["sh", "-euc", block.replace("-m 5", SHORT)]
            ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
            assert ran.returncode == 0, f"{block}\n{ran.stdout}\n{ran.stderr}"
            return ran.stdout

        setting_up, writing, paying, no, reading, many, feed, playing = blocks()
        environment["TOKEN"] = documents(shell(setting_up))[-1]["token"]
        assert [receipt["position"] for receipt in documents(shell(writing))] == [2, 3, 4, 5]
        first, second = documents(shell(paying))
        assert first == second, "the same receipt"
        (refused,) = documents(shell(no))
        assert refused["code"] == "insufficient_funds"
        assert "alva has 35 krona" in refused["detail"]
        told = shell(reading)
        now, then = documents(told.partition("HTTP/")[0])
        assert (now["balances"], then["balances"]) == ({"krona": 35}, {"krona": 40})
        assert 'rel="next"' in told
        assert [result["status"] for result in documents(shell(many))] == [201, 201]
        events = re.findall(r"^id: (\d+)$", shell(feed), re.MULTILINE)
        assert events == [str(position) for position in range(3, 9)]
        opened, rolled, sealed, claimed, believed = documents(shell(playing))
        assert [each["table"]["phase"] for each in (opened, rolled, claimed, believed)] == [
            "turn",
            "claim",
            "response",
            "turn",
        ]
        assert sealed["items"][0]["seat"] == "alva"
        assert believed["table"]["seats"][0]["casts"] == ["star-5-neutral"]


def test_the_guide_knows_every_role_and_status_that_asks_for_something(world: Any) -> None:
    """Whoever adds a role or a kind of refusal sees the guide."""
    from api.access import INSIDE
    from api.errors import catalogue

    text = GUIDE.read_text()
    assert all(f"| `{role}` |" in text for role in INSIDE)
    statuses = {kind.status for kinds in catalogue().values() for kind in kinds}
    assert {status for status in statuses if str(status) not in text} <= {405, 431}, "which are a program's mistakes"


def documents(text: str) -> list[Any]:
    """JSON documents that stand one behind the other."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text):
        document, at = decoder.raw_decode(text, at)
        found.append(document)
        while at < len(text) and text[at].isspace():
            at += 1
    return found
