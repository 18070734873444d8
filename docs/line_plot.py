"""Line plots as SVG text: pure functions, no dependencies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

__all__ = ["log_log_plot", "share_plot", "slope"]

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 20, 50
COLOURS = ("#1668b8", "#c2410c", "#15803d", "#7c3aed")

Points = Sequence[tuple[float, float]]


def slope(points: Points) -> float:
    """Slope of the least-squares line through the logarithms: 1 is growth in proportion."""
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    across = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return across / sum((x - mean_x) ** 2 for x in xs)


def log_log_plot(lines: Mapping[str, Points], x_label: str, y_label: str) -> str:
    """SVG of one line a name, with a mark at each point and the name at its end.

    Args:
        lines: Name to points; all coordinates above 0.
        x_label: Below the horizontal axis.
        y_label: Beside the vertical axis.
    """
    xs = [x for points in lines.values() for x, _ in points]
    ys = [y for points in lines.values() for _, y in points]
    across, up = _Axis(xs, LEFT, WIDTH - RIGHT), _Axis(ys, HEIGHT - BOTTOM, TOP)
    parts = _frame(across, up, x_label, y_label, _short)
    for number, (name, points) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        places = [(across.place(x), up.place(y)) for x, y in points]
        parts.append(_path(places, colour))
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        parts.append(_text(places[-1][0] + 8, places[-1][1] + 4, name, "start", colour))
    return "\n".join([*parts, "</svg>", ""])


def share_plot(lines: Mapping[str, Points], x_label: str, y_label: str) -> str:
    """SVG of one line a name over shares, both axes from 0 to 1, and a legend.

    Args:
        lines: Name to points; all coordinates from 0 to 1.
        x_label: Below the horizontal axis.
        y_label: Beside the vertical axis.
    """
    across, up = _ShareAxis(LEFT, WIDTH - RIGHT), _ShareAxis(HEIGHT - BOTTOM, TOP)
    parts = _frame(across, up, x_label, y_label, "{:.0%}".format)
    for number, (name, points) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(_path([(across.place(x), up.place(y)) for x, y in points], colour))
        at = TOP + 16 + 20 * number
        parts.append(_text(WIDTH - RIGHT + 12, at, name, "start", colour))
    return "\n".join([*parts, "</svg>", ""])


class _ShareAxis:
    """Where shares stand between two pixels."""

    def __init__(self, start: float, end: float) -> None:
        self._start, self._end = start, end

    def ticks(self) -> list[float]:
        return [n / 5 for n in range(6)]

    def place(self, value: float) -> float:
        return self._start + value * (self._end - self._start)


class _Axis:
    """Where values stand between two pixels, in powers of ten."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self._low = math.floor(math.log10(min(values)) + 1e-9)
        self._high = math.ceil(math.log10(max(values)) - 1e-9)
        if self._high == self._low:
            self._high += 1
        self._start, self._end = start, end

    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self._low, self._high + 1)]

    def place(self, value: float) -> float:
        share = (math.log10(value) - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)


def _frame(
    across: _Axis | _ShareAxis,
    up: _Axis | _ShareAxis,
    x_label: str,
    y_label: str,
    shown: Callable[[float], str],
) -> list[str]:
    """The start of a picture: ground, grid, what its lines stand for."""
    style = 'font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {style}>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for value in across.ticks():
        at = across.place(value)
        parts.append(_line(at, TOP, at, HEIGHT - BOTTOM))
        parts.append(_text(at, HEIGHT - BOTTOM + 18, shown(value), "middle"))
    for value in up.ticks():
        at = up.place(value)
        parts.append(_line(LEFT, at, WIDTH - RIGHT, at))
        parts.append(_text(LEFT - 8, at + 4, shown(value), "end"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_label, "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text transform="translate(16 {middle:.0f}) rotate(-90)" text-anchor="middle" '
        f'fill="#333333">{escape(y_label)}</text>'
    )
    return parts


def _path(places: Points, colour: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#dddddd"/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#333333") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">'
        f"{escape(text)}</text>"
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
