"""Rules for people as tests for machines: what may import what, how pure the games are, how long a file gets."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("ledger", "projections", "api")
LINES_MAX = 400

MAY_IMPORT = {"ledger": {"ledger"}, "projections": {"ledger", "projections"}, "api": set(PACKAGES)}
"""An arrow never points up: of the packages of this project, which may each import."""

PURE = {
    "ast",
    "base64",
    "collections",
    "contextlib",
    "dataclasses",
    "enum",
    "functools",
    "hashlib",
    "itertools",
    "math",
    "msgspec",
    "operator",
    "re",
    "rfc8785",
    "string",
    "typing",
    "__future__",
}
"""What has neither I/O, nor a clock, nor chance. `datetime` only as a type: see `CLOCKS`."""

PURE_OF_LEDGER = {
    "ledger.errors",
    "ledger.games",
    "ledger.messages",
    "ledger.money",
    "ledger.recorded",
    "ledger.sealing",
}
IMPURE_NAMES = {
    "open",
    "print",
    "input",
    "exec",
    "eval",
    "compile",
    "__import__",
    "globals",
    "breakpoint",
    "id",
    "hash",
}
CLOCKS = {"now", "utcnow", "today"}


def modules_of(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def named(paths: list[Path]) -> list[object]:
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in paths]


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, anywhere in it. `from a import b` may be module a or a.b: both are told."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(level=0, module=str(module), names=names):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.ImportFrom():
                raise AssertionError(f"{path}: imports are absolute")
            case _:
                continue


@pytest.mark.parametrize("path", named(modules_of(*PACKAGES)))
def test_an_arrow_never_points_up(path: Path) -> None:
    """`ledger` imports neither `projections` nor `api`, `projections` not `api`, and none of them the tests."""
    package = path.relative_to(ROOT).parts[0]
    for module in imported(path):
        top = module.partition(".")[0]
        assert top not in {*PACKAGES, "tests"} - MAY_IMPORT[package], f"{package} imports {module}"


@pytest.mark.parametrize(
    "path", named([*modules_of("ledger/games"), ROOT / "ledger/money.py", ROOT / "ledger/sealing.py"])
)
def test_deciding_is_pure(path: Path) -> None:
    """No I/O, no clock, no chance: they come in with the command. A game imports no other game."""
    for module in imported(path):
        top = module.partition(".")[0]
        if top == "ledger":
            allowed = any(module == pure or module.startswith(f"{pure}.") for pure in {*PURE_OF_LEDGER})
            assert allowed or module == "ledger", f"{module} is not for games"
        else:
            assert top in PURE or module in ("datetime", "datetime.datetime"), f"{module} is not for games"
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            assert node.id not in IMPURE_NAMES, f"line {node.lineno}: {node.id}"
        if isinstance(node, ast.Attribute):
            assert node.attr not in CLOCKS, f"line {node.lineno}: .{node.attr}"
        assert not isinstance(node, ast.Global | ast.Nonlocal | ast.AsyncFunctionDef | ast.Await), "state or waiting"


@pytest.mark.parametrize("path", named(modules_of("ledger/games")))
def test_no_game_knows_another(path: Path) -> None:
    """What games share is in the modules beside them; only the list of games names them all."""
    folder = path.parent
    if folder.name == "games":
        return
    for module in imported(path):
        if module.startswith("ledger.games."):
            other = ROOT / "ledger/games" / module.split(".")[2]
            assert not other.is_dir() or other == folder, f"{folder.name} imports {module}"


@pytest.mark.parametrize("path", named(modules_of(*PACKAGES, "tests")))
def test_a_file_is_at_most_400_lines_long(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LINES_MAX


@pytest.mark.parametrize("path", named(modules_of("ledger/games")))
def test_a_closed_union_is_matched_to_its_end(path: Path) -> None:
    """No bare catch-all: `case _` does nothing but assert that it is never reached."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Match) and node.cases[-1].pattern == ast.MatchAs():
            (only,) = node.cases[-1].body
            assert "assert_never" in ast.unparse(only) or isinstance(only, ast.Return | ast.Pass), only.lineno
