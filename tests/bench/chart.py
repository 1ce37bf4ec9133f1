"""Charts as SVG files that need nothing else: x logarithmic, y from zero, one line a series."""

import math
from collections.abc import Sequence
from html import escape

from tests.bench.measured import Curve

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 84, 24, 56, 64
LEGEND_ROW = 20
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a6d3b")
"""Colours that can be told apart by almost everybody, the first of them ours."""
STEPS = (1, 2, 2.5, 5, 10)
TICKS_MAX = 9


def svg(curve: Curve) -> str:
    """The chart as an SVG document."""
    points = [point for series in curve.points.values() for point in series]
    if not points:
        return _document(HEIGHT, [_text(WIDTH / 2, HEIGHT / 2, "nothing was measured", anchor="middle")])
    across = _Across(sorted({x for x, _ in points}))
    up = _Up(max(y for _, y in points))
    rows = math.ceil(len(curve.points) / 3)
    parts = [
        _text(LEFT, 28, curve.title, size=17, weight="bold"),
        *(part for y in up.ticks for part in _horizontal(up.at(y), number(y))),
        *(part for x in across.ticks for part in _vertical(across.at(x), number(x))),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 44, curve.x, anchor="middle"),
        _text(20, (TOP + HEIGHT - BOTTOM) / 2, curve.y, anchor="middle", turned=True),
    ]
    for at, (name, series) in enumerate(curve.points.items()):
        colour, width = COLOURS[at % len(COLOURS)], 3 if at == 0 else 2
        spots = [(across.at(x), up.at(y)) for x, y in sorted(series)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{width + 1}" fill="{colour}"/>' for x, y in spots]
        x, y = LEFT + at % 3 * (WIDTH - LEFT - RIGHT) / 3, HEIGHT + 12 + at // 3 * LEGEND_ROW
        parts.append(f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="18" height="6" fill="{colour}"/>')
        parts.append(_text(x + 24, y, name))
    return _document(HEIGHT + rows * LEGEND_ROW + 8, parts)


def number(value: float) -> str:
    """As people write it: 1,000 and 0.25, 2 M and not 2000000."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:g} M"
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"


class _Across:
    """The x axis. Ticks stand where points are, or at powers of ten if those are too many."""

    def __init__(self, values: Sequence[float]) -> None:
        assert values[0] > 0, "a logarithmic scale has no zero"
        self._low, self._high = math.log(values[0]), math.log(values[-1])
        decades = range(math.ceil(math.log10(values[0])), math.floor(math.log10(values[-1])) + 1)
        self.ticks = values if len(values) <= TICKS_MAX else [10.0**power for power in decades]

    def at(self, value: float) -> float:
        span = self._high - self._low
        share = (math.log(value) - self._low) / span if span else 0.5
        return LEFT + 12 + share * (WIDTH - RIGHT - LEFT - 24)


class _Up:
    """The y axis, from zero to a round number."""

    def __init__(self, highest: float) -> None:
        highest = highest or 1.0
        power = 10.0 ** math.floor(math.log10(highest / 5))
        step = next(step * power for step in STEPS if step * power * 6 >= highest)
        count = math.ceil(highest / step)
        self._high = count * step
        self.ticks = [tick * step for tick in range(count + 1)]

    def at(self, value: float) -> float:
        return HEIGHT - BOTTOM - value / self._high * (HEIGHT - BOTTOM - TOP)


def _horizontal(y: float, label: str) -> Sequence[str]:
    line = f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#d8d8d8"/>'
    return line, _text(LEFT - 8, y + 4, label, anchor="end")


def _vertical(x: float, label: str) -> Sequence[str]:
    bottom = HEIGHT - BOTTOM
    line = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 6}" stroke="#555555"/>'
    return line, _text(x, bottom + 21, label, anchor="middle")


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    size: int = 13,
    weight: str = "normal",
    turned: bool = False,
) -> str:
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    looks = f'text-anchor="{anchor}" font-size="{size}" font-weight="{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {looks}{turn}>{escape(text)}</text>'


def _document(height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    inside = ['<rect width="100%" height="100%" fill="#ffffff"/>', *parts]
    return head + ' font-family="sans-serif" fill="#222222">\n' + "\n".join(inside) + "\n</svg>\n"
