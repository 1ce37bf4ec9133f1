"""Lines whose aim is an upper bound. (Those of two rates are made by `measured.rated`.)"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from tests.bench.measured import Line

PART = "scale"


def at_most(
    work: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    *,
    beside: str,
    times: float,
    unit: str,
    alike: bool = False,
    detail: Mapping[str, Any] | None = None,
) -> Line:
    """Ours must not be more than so many times the other figure. Less is better. `alike`: nor the other than ours."""
    our, their = median(ours), median(theirs)
    return Line(
        part=PART,
        work=work,
        ours=our,
        unit=unit,
        beside=beside,
        theirs=their,
        ratio=our / their,
        aim=f"at most {times:g} times" + (", and the other way round" if alike else ""),
        met=our <= times * their and (not alike or their <= times * our),
        detail={"ours": list(ours), "theirs": list(theirs)} | dict(detail or {}),
    )


def below(work: str, seconds: Sequence[float], limit_s: float, detail: Mapping[str, Any] | None = None) -> Line:
    """It must take less than so long."""
    ours = median(seconds)
    return Line(
        part=PART,
        work=work,
        ours=ours,
        unit="s",
        aim=f"below {limit_s:g} s",
        met=ours < limit_s,
        detail={"ours": list(seconds)} | dict(detail or {}),
    )


def told(work: str, values: Sequence[float], unit: str, detail: Mapping[str, Any] | None = None) -> Line:
    """A figure without an aim."""
    more = dict(detail or {})
    return Line(part=PART, work=work, ours=median(values), unit=unit, detail={"ours": list(values)} | more)


def beside(work: str, ours: float, theirs: float, what: str, unit: str) -> Line:
    """Two figures, for information."""
    return Line(part=PART, work=work, ours=ours, unit=unit, beside=what, theirs=theirs, ratio=ours / theirs)
