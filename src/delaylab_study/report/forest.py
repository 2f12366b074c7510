"""Drawing of a claim's scenarios on one axis: this machine's effects, the paper's, and the rule."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from delaylab.api.drawing import FONT, xml
from delaylab_study.analysis.claims.finding import JudgedCriterion, Scenario
from delaylab_study.analysis.claims.words import amount
from delaylab_study.analysis.statistics.quantiles import Interval
from delaylab_study.charts.fitted import TooNarrow, sized
from delaylab_study.report.axes import round_ticks

WIDTH, RIGHT = 560, 14
NAMES, LETTER = 0.34, 6.6
"""The largest share of the width for names, and the width of a letter."""
ROW, TOP, BELOW = 22, 8, 24
CLASS = re.compile(r"\.([a-z]+)")
VARIABLE = re.compile(r"--([a-z]+): (#[0-9a-f]{6})")
MOST_ROWS = 14
TICKS = 4
LETTERS = 12
"""The size of letters, in px."""
LEAST = 240
"""The smallest width with room for names and an axis, in px."""
DECADES = 1.5
"""The span of positive values, in powers of ten, from which on the axis is logarithmic."""
MARGIN = 0.06
NOTE = (
    "An arrow: the interval goes on beyond the drawing. A ring: there are too few independent "
    "packets for an interval."
)
"""The words that explain signs for intervals that cannot be drawn whole."""
STANDS = {True: "holds", False: "breaks", None: "undecided"}


@dataclass(frozen=True)
class Axis:
    """A horizontal axis from `low` to `high`, linear or logarithmic."""

    low: float
    high: float
    logarithmic: bool
    left: float
    width: float

    def x(self, value: float) -> float:
        """Return the place of a value; one beyond an end is drawn at that end."""
        value = min(max(value, self.low), self.high)
        at = self._scaled(value) - self._scaled(self.low)
        share = at / (self._scaled(self.high) - self._scaled(self.low))
        return self.left + share * (self.width - self.left - RIGHT)

    def ticks(self) -> list[float]:
        """Return values for which the axis has a tick: round ones, from left to right."""
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            apart = max(1, math.ceil((last - first + 1) / TICKS))
            return [10.0**power for power in range(first, last + 1, apart)]
        return round_ticks(self.low, self.high, TICKS)

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value


@dataclass(frozen=True, slots=True)
class ClaimDrawing:
    """The drawing of one criterion of a claim as a file of its own."""

    name: str
    judged: JudgedCriterion
    style: str

    @property
    def title(self) -> str:
        """Return the criterion's quantity."""
        return self.judged.quantity

    @property
    def svg(self) -> str:
        """Return the drawing as SVG with a style of its own."""
        return self.fitted(WIDTH)

    def fitted(self, width: float) -> str:
        """Return the drawing as SVG of this width in px; raise TooNarrow if it has no room."""
        if width < LEAST:
            raise TooNarrow(LEAST)
        return sized(standalone(forest(self.judged, width), self.style), width)


def standalone(svg: str, style: str) -> str:
    """Return a drawing of the page as a file, with the rules of the style sheet that it needs.

    Colours are those of the light page.
    """
    colours = dict(VARIABLE.findall(style.partition("}")[0]))
    rules = "\n".join(
        line
        for line in style.splitlines()
        if line.startswith(".forest ") and all(f'class="{name}"' in svg for name in _classes(line))
    )
    for name, colour in colours.items():
        rules = rules.replace(f"var(--{name})", colour)
    head = f'xmlns="http://www.w3.org/2000/svg" font-family="{FONT}" font-size="{LETTERS}"'
    svg = svg.replace("<svg", f"<svg {head}", 1)
    return svg.replace(">", f"><style>{rules}</style>", 1)


def _classes(rule: str) -> list[str]:
    """Return the classes that a rule is for, without that of all drawings."""
    return [name for name in CLASS.findall(rule.partition("{")[0]) if name != "forest"]


def forest(judged: JudgedCriterion, width: float = WIDTH) -> str:
    """Return the drawing as SVG for a page whose style gives the colours; "" without effects.

    Each row is a scenario: a dot with its 95 % interval, and a diamond for the paper's value if
    there is one. An interval that goes on beyond the axis ends in an arrow. An effect without an
    interval is a ring. The shaded part of the axis is where the rule holds.
    """
    rows = [each for each in judged.scenarios if math.isfinite(each.effect)]
    if not rows:
        return ""
    shown = sorted(rows, key=lambda each: each.aside)[:MOST_ROWS]
    longest = max(len(each.name) for each in shown)
    left = min(NAMES * width, 20 + LETTER * longest)
    axis = _axis(shown, judged.bounds, judged.unit, left, width)
    height = TOP + ROW * len(shown) + BELOW
    parts = [
        f'<svg class="forest" viewBox="0 0 {width:.0f} {height}" role="img" '
        f'aria-label="{xml(judged.quantity)}">',
        *_rule(axis, judged.bounds, height),
        *_ticks(axis, judged.unit, height),
    ]
    for index, scenario in enumerate(shown):
        parts += _row(axis, scenario, judged.unit, TOP + ROW * index + ROW / 2)
    return "".join([*parts, "</svg>"])


def _axis(rows: Sequence[Scenario], bounds: Interval, unit: str, left: float, width: float) -> Axis:
    """Return an axis that has room for all effects and published values, and for the bounds.

    An interval may reach further: it would else squeeze all others together. The axis is linear if
    an interval reaches 0: a logarithmic one would show it as if it lay above.
    """
    inner = [each.effect for each in rows]
    inner += [each.published for each in rows if each.published is not None]
    ends = [end for each in rows for end in each.interval if math.isfinite(end)]
    inner += [bound for bound in bounds if math.isfinite(bound)]
    low, high = min(inner), max(inner)
    reach = (high - low) or abs(high) or 1.0
    low, high = max(low - reach, min([low, *ends])), min(high + reach, max([high, *ends]))
    wide = unit in ("µs", "times") and min([*inner, *ends]) > 0
    if wide and math.log10(max(inner) / min(inner)) > DECADES:
        low = max(low, min(inner) / 3)
        spread = (high / low) ** MARGIN
        return Axis(low / spread, high * spread, True, left, width)
    room = MARGIN * ((high - low) or abs(high) or 1.0)
    return Axis(low - room, high + room, False, left, width)


def _rule(axis: Axis, bounds: Interval, height: float) -> Iterator[str]:
    left, right = axis.x(bounds[0]), axis.x(bounds[1])
    yield (
        f'<rect class="kept" x="{left:.1f}" y="{TOP}" width="{max(0.0, right - left):.1f}" '
        f'height="{height - TOP - BELOW}"/>'
    )
    for bound in bounds:
        if math.isfinite(bound):
            x = axis.x(bound)
            yield (
                f'<line class="bound" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{height - BELOW}"/>'
            )


def _ticks(axis: Axis, unit: str, height: float) -> Iterator[str]:
    y = height - BELOW
    yield f'<line class="axis" x1="{axis.left}" x2="{axis.width - RIGHT:.0f}" y1="{y}" y2="{y}"/>'
    for value in axis.ticks():
        x = axis.x(value)
        yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + 4}"/>'
        text = xml(_tick(value, unit))
        yield f'<text x="{x:.1f}" y="{y + 16}" text-anchor="middle">{text}</text>'


def _tick(value: float, unit: str) -> str:
    if unit == "µs" and abs(value) >= 1000:
        return f"{value / 1000:g} ms"
    return f"{value:g} µs" if unit == "µs" and value else amount(value, unit)


def _row(axis: Axis, scenario: Scenario, unit: str, y: float) -> Iterator[str]:
    most = int((axis.left - 10) / LETTER)
    name = scenario.name if len(scenario.name) <= most else f"{scenario.name[: most - 1]}…"
    x = axis.x(scenario.effect)
    stand = "aside" if scenario.aside else STANDS[scenario.stand]
    yield f'<g class="{stand}"><title>{xml(_title(scenario, unit))}</title>'
    yield f'<text x="{axis.left - 10:.1f}" y="{y + 4:.1f}" text-anchor="end">{xml(name)}</text>'
    if all(map(math.isinf, scenario.interval)):
        yield from _without_interval(axis, x, y)
    else:
        yield from _interval(axis, scenario.interval, y)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
    yield "</g>"
    if scenario.published is not None:
        paper = axis.x(scenario.published)
        yield (
            f'<path class="published" d="M{paper:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z">'
            f"<title>published: {xml(amount(scenario.published, unit))}</title></path>"
        )


def _interval(axis: Axis, interval: Interval, y: float) -> Iterator[str]:
    """Yield the line of an interval, with an arrow at each end that lies beyond the axis."""
    low, high = (axis.x(end) for end in interval)
    yield f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
    if interval[0] < axis.low:
        yield f'<path class="further" d="M{low:.1f} {y:.1f}l7 -4.5v9z"/>'
    if interval[1] > axis.high:
        yield f'<path class="further" d="M{high:.1f} {y:.1f}l-7 -4.5v9z"/>'


def _without_interval(axis: Axis, x: float, y: float) -> Iterator[str]:
    yield f'<circle class="alone" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
    # The words stand on the side that has more room.
    side, anchor = (9, "start") if x < axis.width * 2 / 3 else (-9, "end")
    yield (
        f'<text class="alone" x="{x + side:.1f}" y="{y + 4:.1f}" text-anchor="{anchor}">'
        "interval unknown</text>"
    )


def _title(scenario: Scenario, unit: str) -> str:
    if all(map(math.isinf, scenario.interval)):
        return f"{scenario.name}: {amount(scenario.effect, unit)}, interval unknown"
    ends = " … ".join(amount(end, unit) for end in scenario.interval)
    return f"{scenario.name}: {amount(scenario.effect, unit)}, 95 %: {ends}"
