"""The results of a run, as a file, as a table, as Markdown.

`python -m tests.bench.report results.json` puts what that run found into the README beside this file.
"""

import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from tests.bench import chart
from tests.bench.machine import Machine
from tests.bench.measured import Curve, Line
from tests.bench.options import Options

HERE = Path(__file__).parent
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
FAULTLESS = "measured without fault"
"""The aim of a line that says that something could not be measured: it is not met, and the run has failed."""
COLUMNS = ("work", "ours", "beside", "theirs", "ratio", "aim", "met")


class Part(Struct, frozen=True, kw_only=True):
    """How a part went. `failed`: why it told nothing."""

    name: str
    seconds: float
    failed: str | None = None


class Results(Struct, frozen=True, kw_only=True):
    """All that a run found."""

    measured_at: datetime
    machine: Machine
    options: Options
    parts: Sequence[Part]
    lines: Sequence[Line]
    curves: Sequence[Curve]


def write(results: Results, folder: Path) -> None:
    """`results.json`, `report.md`, and a chart for each curve."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_bytes(msgspec.json.format(msgspec.json.encode(results)) + b"\n")
    charts = folder / "charts"
    shutil.rmtree(charts, ignore_errors=True)
    charts.mkdir()
    for curve in results.curves:
        (charts / f"{curve.name}.svg").write_text(chart.svg(curve))
    (folder / "report.md").write_text("# Measured\n\n" + markdown(results))


def show(results: Results) -> None:
    """The table, on stdout."""
    table = Table(*(COLUMNS[:1]), title="Skuggbok, measured")
    for column in COLUMNS[1:]:
        table.add_column(column, justify="right" if column in ("ours", "theirs", "ratio") else "left")
    for section in _sections(results):
        for row in section:
            table.add_row(*row, style="red" if row[-1] == "no" else None)
        table.add_section()
    width = None if sys.stdout.isatty() else 160
    Console(width=width, highlight=False, markup=False).print(table)


def markdown(results: Results) -> str:
    """The table, the machine, and the charts as images of the folder `charts`."""
    head = ["| " + " | ".join(COLUMNS) + " |", "| --- | ---: | --- | ---: | ---: | --- | --- |"]
    aims, others = (["| " + " | ".join(map(_cell, row)) + " |" for row in rows] for rows in _sections(results))
    text = ["\n".join(head + aims)]
    if others:
        text += ["For information, without an aim:", "\n".join(head + others)]
    text += [_machine(results), *(f"![{curve.title}](charts/{curve.name}.svg)" for curve in results.curves)]
    return "\n\n".join(text) + "\n"


def figure(value: float) -> str:
    """Three digits are all that such a figure is worth, and whole numbers are whole."""
    if abs(value) >= 100 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _sections(results: Results) -> tuple[list[Sequence[str]], list[Sequence[str]]]:
    """Rows with an aim and parts that failed, then rows without."""
    failed = [_failed(part) for part in results.parts if part.failed is not None]
    aims = [_row(line) for line in results.lines if line.aim]
    return failed + aims, [_row(line) for line in results.lines if not line.aim]


def _failed(part: Part) -> Sequence[str]:
    return f"{part.name}: failed: {part.failed}", "", "", "", "", "", "no"


def _row(line: Line) -> Sequence[str]:
    return (
        f"{line.part}: {line.work}",
        f"{figure(line.ours)} {line.unit}",
        line.beside,
        "" if line.theirs is None else figure(line.theirs),
        "" if line.ratio is None else f"{line.ratio:.2f}",
        line.aim,
        {True: "yes", False: "no", None: ""}[line.met],
    )


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _machine(results: Results) -> str:
    machine = results.machine
    settings = ", ".join(f"{name}={value}" for name, value in machine.settings.items())
    rows = [
        ("measured", f"{results.measured_at:%Y-%m-%d}, {_asked(results.options)}, {_times(results.parts)}"),
        ("processor", f"{machine.cpu}, {machine.cores} cores"),
        ("memory", f"{machine.memory_bytes / 2**30:.0f} GiB"),
        ("system", f"{machine.kernel}, Python {machine.python}"),
        ("disk", f"writing and flushing 8 KiB takes {figure(machine.flush_ms)} ms (median)"),
        ("PostgreSQL", f"{machine.postgresql}: {settings}"),
        ("versions", ", ".join(f"{name} {value}" for name, value in machine.versions.items())),
    ]
    return "\n".join(["| machine | |", "| --- | --- |", *(f"| {name} | {_cell(value)} |" for name, value in rows)])


def _asked(options: Options) -> str:
    runs = f"medians of {options.runs} runs" if options.runs > 1 else "one run"
    return f"{runs} with --seconds {options.seconds:g}" + (", ten million" if options.ten_million else "")


def _times(parts: Iterable[Part]) -> str:
    return ", ".join(f"{part.name} took {part.seconds:.0f} s" for part in parts)


def keep(results: Path, readme: Path) -> None:
    """Put a run's report between the README's two marks, and its charts beside it."""
    read = msgspec.json.decode(results.read_bytes(), type=Results)
    between = re.compile(f"(?<={re.escape(BEGIN)}).*(?={re.escape(END)})", re.DOTALL)
    text, count = between.subn(lambda _: "\n\n" + markdown(read) + "\n", readme.read_text())
    if not count:
        sys.exit(f"{readme} has no lines {BEGIN} and {END}")
    readme.write_text(text)
    charts = readme.parent / "charts"
    shutil.rmtree(charts, ignore_errors=True)
    charts.mkdir()
    for curve in read.curves:
        (charts / f"{curve.name}.svg").write_text(chart.svg(curve))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.bench.report results.json")
    keep(Path(sys.argv[1]), HERE / "README.md")
