"""What every part of the benchmark tells: lines of one table, and the points of the charts."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from msgspec import Struct


class Line(Struct, frozen=True, kw_only=True):
    """One aim: our figure, the one it was measured beside in the same run, and what is asked for.

    `ours` and `theirs` are medians in `unit`. `aim`: in words, such as "at least 1.5 times". `ratio`: ours to theirs
    where more is better for both, None where the aim is a figure of its own. `met`: None where there is no aim.
    `detail`: everything else that was seen (all runs, percentiles in milliseconds), for the JSON file.
    """

    part: str
    work: str
    ours: float
    unit: str
    beside: str = ""
    theirs: float | None = None
    ratio: float | None = None
    aim: str = ""
    met: bool | None = None
    detail: Mapping[str, Any] = {}


class Curve(Struct, frozen=True, kw_only=True):
    """A chart: `points` are (x, y) of each named series, x on a logarithmic scale."""

    name: str
    title: str
    x: str
    y: str
    points: Mapping[str, Sequence[tuple[float, float]]]


class Told(Struct, frozen=True, kw_only=True):
    """What a part of the benchmark found."""

    lines: Sequence[Line] = ()
    curves: Sequence[Curve] = ()


def rated(  # a line of the table has that many columns
    part: str,
    work: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    *,
    beside: str,
    at_least: float,
    unit: str = "per s",
    detail: Mapping[str, Any] | None = None,
) -> Line:
    """A line whose aim is a ratio of two rates, each measured several times in this run."""
    our, their = median(ours), median(theirs)
    ratio = our / their
    runs = {"ours": list(ours), "theirs": list(theirs)}
    return Line(
        part=part,
        work=work,
        ours=our,
        unit=unit,
        beside=beside,
        theirs=their,
        ratio=ratio,
        aim=f"at least {at_least:g} times",
        met=ratio >= at_least,
        detail=runs | dict(detail or {}),
    )
