"""hledger and beancount accept what is exported for them, and reckon the same balances for every account."""

import csv
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from beancount import loader
from beancount.core import data

from ledger import purses
from ledger.messages import Memo
from projections.exports import Format, beancount, csv_lines, hledger
from projections.plain_text import Beancount, Hledger
from tests.support.in_memory import MemoryLarp
from tests.support.journals import SCENARIOS, exported, played

Balances = Mapping[tuple[str, str], int]

NASTY: Memo = 'a "quoted" \\ memo; with | all; of\n2026-01-01 them (1) = + å  ; date:2020/1/1 [2020-01-01=]\t{}@@*!'
NAMES = (
    "old_tom",
    "old-tom",
    "1st",
    "x",
    "a_",
    "a-",
    "a--b",
    "a__b",
    "true",
    "null",
    "oldutom",
    "p" * 64,
    "mint",
    "9-",
)


def odd() -> MemoryLarp:
    """Names and memos that other formats have another use for, and the largest amounts that there are."""
    larp = MemoryLarp("odd")
    for name in NAMES:
        larp.do(purses.DefineAsset(asset=name, kind="token", name=name))
        larp.do(purses.AddCharacter(character=name, name=name))
    for at, name in enumerate(NAMES):
        for other in NAMES:
            larp.do(purses.Grant(to=name, asset=other, amount=1000 + at, memo=NASTY))
        larp.do(purses.IssueNote(debtor=name, creditor=NAMES[at - 1], asset="drink", amount=at + 1))
    for _ in range(9):
        larp.do(purses.Grant(to="x", asset="x", amount=10**15))
    return larp


def larps() -> Mapping[str, MemoryLarp]:
    names = ("ledger-debts", "ledger-reversals", "skuggkast-credit", "schocken-schnapps", "takespillet-plain")
    return {name: played(SCENARIOS[name]) for name in names} | {"odd": odd()}


@pytest.fixture(scope="module")
def journals() -> Mapping[str, MemoryLarp]:
    return larps()


def written(larp: MemoryLarp, format_: Format, file: Path) -> Path:
    file.write_text(exported(larp.journal, format_, larp.book.larp))
    return file


@pytest.mark.parametrize("name", ["ledger-debts", "ledger-reversals", "skuggkast-credit", "odd"])
@pytest.mark.skipif(shutil.which("hledger") is None, reason="the program hledger is not installed (Debian: hledger)")
def test_hledger_accepts_it_and_reckons_the_same(name: str, journals: Mapping[str, MemoryLarp], tmp_path: Path) -> None:
    file = written(journals[name], hledger(), tmp_path / "north.journal")
    for checks in (["--strict"], ["ordereddates", "accounts", "commodities"]):
        subprocess.run(["hledger", "check", *checks, "-f", file], check=True)
    command = ["hledger", "balance", "-f", file, "--flat", "--no-total", "-O", "json"]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)[0]
    reckoned = {
        (account, amount["acommodity"]): amount["aquantity"]["decimalMantissa"]
        for account, _, _, amounts in rows
        for amount in amounts
        if amount["aquantity"]["decimalMantissa"]
    }
    ours = journals[name].balances()
    assert reckoned == {(Hledger.account(account), asset): n for (account, asset), n in ours.items()}


@pytest.mark.parametrize("name", ["ledger-debts", "ledger-reversals", "skuggkast-credit", "schocken-schnapps", "odd"])
def test_beancount_accepts_it_and_reckons_the_same(
    name: str, journals: Mapping[str, MemoryLarp], tmp_path: Path
) -> None:
    """By its own loader, which is what bean-check runs, and by the names that stand in the metadata."""
    file = written(journals[name], beancount(), tmp_path / "north.beancount")
    entries, errors, _ = loader.load_file(str(file))
    assert errors == []
    accounts = {e.account: e.meta["account"] for e in entries if isinstance(e, data.Open)}
    assets = {e.currency: e.meta["asset"] for e in entries if isinstance(e, data.Commodity)}
    reckoned: dict[tuple[str, str], int] = {}
    for entry in entries:
        for posting in entry.postings if isinstance(entry, data.Transaction) else []:
            key = accounts[posting.account], assets[posting.units.currency]
            reckoned[key] = reckoned.get(key, 0) + int(posting.units.number)
    assert {key: n for key, n in reckoned.items() if n} == journals[name].balances()
    assert len(set(accounts.values())) == len(accounts), "two accounts never share a name"
    assert len(set(assets.values())) == len(assets)


def test_bean_check_accepts_it(journals: Mapping[str, MemoryLarp], tmp_path: Path) -> None:
    file = written(journals["odd"], beancount(), tmp_path / "north.beancount")
    program = Path(sys.executable).with_name("bean-check")
    assert program.exists(), "the package beancount is one of those that the tests need"
    subprocess.run([program, file], check=True)


def test_different_names_stay_different() -> None:
    assert len({Beancount.account(f"purse/{name}") for name in NAMES}) == len(NAMES)
    assert len({Beancount.commodity(name) for name in NAMES}) == len(NAMES)
    assert Beancount.account("seat/eagle_1/old_tom") == "Assets:Seat:EagleU1:OldUtom"
    assert Beancount.commodity("iou/old_tom/krona") == "IOU.OLD_TOM.KRONA"
    assert Beancount.commodity("9-") == "X'9-'X"


def test_hledger_sees_every_memo_on_its_line(journals: Mapping[str, MemoryLarp]) -> None:
    text = exported(journals["odd"].journal, hledger())
    assert sum(line.startswith("2026-") for line in text.splitlines()) == sum(
        bool(event.postings) for event in journals["odd"].journal
    )


def test_formulas_are_defused() -> None:
    """A cell that a spreadsheet would run is text; a number stays one."""
    cells = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "plain", 'quo"te', "two\nlines", "å", -5, None]
    (row,) = csv.reader(io.StringIO(csv_lines([cells]), newline=""))
    assert row[:7] == [f"'{cell}" for cell in cells[:7]]
    assert row[7:] == ["plain", 'quo"te', "two\nlines", "å", "-5", ""]
