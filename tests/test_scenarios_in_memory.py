"""Every sample game, decided in memory: every code, view, account and purse as written."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ledger.book import Book
from ledger.errors import Refused
from ledger.games import GAMES
from tests.support.in_memory import MemoryLarp, command_of

FILES = sorted((Path(__file__).parent / "scenarios").glob("*.json"))
KNOWN = {"ledger", *(game.name for game in GAMES)}
READER_KEYS = {"format", "stirred", "hand_open"}
"""Keys of the files that are there for their reader and belong to no view."""


def differences(want: Any, got: Any, at: str) -> list[str]:
    """What is written and not so; `got` may have more keys."""
    if isinstance(want, dict) and isinstance(got, dict):
        missing = [f"{at}.{key} is missing" for key in want if key not in got and key not in READER_KEYS]
        return missing + [
            text
            for key in want
            if key in got and key not in READER_KEYS
            for text in differences(want[key], got[key], f"{at}.{key}")
        ]
    if (
        isinstance(want, list)
        and isinstance(got, list)
        and want
        and isinstance(want[0], dict)
        and len(want) == len(got)
    ):
        return [text for i, pair in enumerate(zip(want, got, strict=True)) for text in differences(*pair, f"{at}[{i}]")]
    return [] if want == got else [f"{at}: expected {want!r}, got {got!r}"]


def filled(value: Any, positions: dict[int, int]) -> Any:
    """The position of an earlier step's event where the file refers to it."""
    if isinstance(value, dict):
        return (
            positions[value["step"]] if set(value) == {"step"} else {k: filled(v, positions) for k, v in value.items()}
        )
    return value


@pytest.mark.parametrize("file", [pytest.param(f, id=f.stem) for f in FILES])
def test_replays_as_written(file: Path) -> None:
    game = json.loads(file.read_text())
    if game["game"] not in KNOWN:
        pytest.skip("a game that is not there yet")
    larp, positions = MemoryLarp(), {}
    for step in game["steps"]:
        expect, said = step["expect"], f"step {step['n']} ({step['what']})"
        before = (larp.book.position, larp.balances())
        code, applied = outcome(larp, step, positions)
        allowed = {expect.get("code"), *(other["code"] for other in expect.get("or", []))}
        assert code in allowed, f"{said}: {code}, expected {allowed}"
        if code:
            assert (larp.book.position, larp.balances()) == before, f"{said}: a refusal changed something"
            continue
        positions[step["n"]] = applied[-1].recorded.position
        if "sealed" in step:
            assert all(
                json.dumps(step["sealed"], separators=(",", ":")).encode() not in a.recorded.body for a in applied
            )
        if "table" in expect:
            assert differences(expect["table"], larp.view(expect["table"]["table"]), said) == []
        for account, want in expect.get("accounts", {}).items():
            assert larp.account(account) == want, f"{said}: {account}"
        for character, want in expect.get("purses", {}).items():
            assert_purse(larp, character, want, said)


def outcome(larp: MemoryLarp, step: dict[str, Any], positions: dict[int, int]) -> Any:
    """The refusal's code, or None and what was applied."""
    try:
        command = command_of(larp.book, step["method"], step["path"], filled(step["body"], positions))
        return None, larp.do(command)
    except msgspec.ValidationError:
        return "malformed", ()
    except Refused as refused:
        return refused.code, ()


def assert_purse(larp: MemoryLarp, character: str, want: dict[str, Any], said: str) -> None:
    purse = {asset: n for asset, n in larp.account(f"purse/{character}").items() if not asset.startswith("iou/")}
    assert purse == want["balances"], f"{said}: purse of {character}"
    held = [
        (account, *asset.split("/")[1:], n)
        for (account, asset), n in larp.balances().items()
        if asset.startswith("iou/")
    ]
    owed = {(d, asset, n) for account, d, asset, n in held if account == f"purse/{character}"}
    assert owed == {(o["debtor"], o["asset"], o["amount"]) for o in want["owed"]}, f"{said}: owed to {character}"
    owes = {(account.partition("/")[2], asset, n) for account, d, asset, n in held if d == character and n > 0}
    assert {(c.split("/")[0], a, n) for c, a, n in owes} == {
        (o.get("creditor") or o.get("table"), o["asset"], o["amount"]) for o in want["owes"]
    }, f"{said}: owed by {character}"


def test_all_sample_games_are_there() -> None:
    assert len(FILES) == 32


def test_a_fork_that_is_dropped_has_never_been() -> None:
    """The overlay is merged after a commit only."""
    book = Book("test")
    fork = book.fork()
    fork.kinds.put("krona", "token")
    assert book.kind("krona") is None
    fork.merge()
    assert book.kind("krona") == "token"
