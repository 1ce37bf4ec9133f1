"""`make bench`: measure everything, print one table, write it as JSON and as charts."""

import logging
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import FrameType

import click
import structlog

from tests.bench import machine, report
from tests.bench.measured import Curve, Line, Told
from tests.bench.options import Options, progress
from tests.bench.place import Place
from tests.bench.report import Part, Results

PARTS = ("contest", "http", "scale")
INTERRUPTED = 130


@click.command()
@click.option("--only", type=click.Choice(PARTS), multiple=True, help="These parts alone; may be given several times.")
@click.option("--runs", default=3, show_default=True, type=click.IntRange(min=1), help="Measurements of each thing.")
@click.option("--seconds", default=2.0, show_default=True, type=float, help="How long each of them lasts.")
@click.option("--ten-million", is_flag=True, help="Journals up to ten million events instead of one.")
@click.option("--out", default=Path("build/bench"), show_default=True, type=click.Path(path_type=Path))
def main(only: Sequence[str], runs: int, seconds: float, ten_million: bool, out: Path) -> None:
    """Measure Skuggbok beside its peers and beside the limits of this machine.

    Prints a table and writes results.json, report.md and charts. Exit code 1: something could not be measured.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    options = Options(runs=runs, seconds=seconds, ten_million=ten_million)
    begun = datetime.now(UTC)
    with Place() as place:
        where = machine.look(place)
    parts, lines, curves = list[Part](), list[Line](), list[Curve]()
    interrupted = False
    for name in [part for part in PARTS if part in only or not only]:
        part, told = _measured(name, options)
        parts.append(part)
        lines += told.lines
        curves += told.curves
        results = Results(measured_at=begun, machine=where, options=options, parts=parts, lines=lines, curves=curves)
        report.write(results, out)  # after each part: what was found is not lost with a later one
        if interrupted := part.failed == "interrupted":
            break
    report.show(results)
    progress(f"written to {out}")
    if interrupted:
        sys.exit(INTERRUPTED)
    faults = [part.name for part in parts if part.failed is not None]
    faults += [line.work for line in lines if line.aim == report.FAULTLESS]
    sys.exit(1 if faults else 0)


def _measured(name: str, options: Options) -> tuple[Part, Told]:
    """One part, on a server of its own. What goes wrong in it is told, and does not hinder the others."""
    progress(f"{name}: begins")
    begun = time.monotonic()
    failed: str | None = None
    told = Told()
    try:
        module = import_module(f"tests.bench.{name}")
        with Place() as place:
            told = module.run(place, options)
    except KeyboardInterrupt:
        failed = "interrupted"
    except Exception as error:  # whatever it is, the other parts can be measured
        traceback.print_exc()
        failed = f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - begun
    progress(f"{name}: {failed or 'done'}, {seconds:.0f} s")
    return Part(name=name, seconds=seconds, failed=failed), told


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
