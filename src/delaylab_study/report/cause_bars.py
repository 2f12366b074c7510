"""Drawing of what packets near quantiles of the round trips waited for: a bar for each group.

A bar goes to the right from zero for what packets had more of than usual packets, and to the left
for what they had less of. Its parts add up to the excess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from delaylab.api.drawing import FONT, xml
from delaylab_study.analysis.causes.quantiles import AtQuantile
from delaylab_study.charts import words
from delaylab_study.report.axes import round_ticks, tick_words
from delaylab_study.report.cause_looks import (
    DARK,
    TOGETHER,
    KeyEntry,
    by_name,
    fill_of,
    hatching,
    key,
    text,
)
from delaylab_study.report.row_labels import INK, height, label_of

WIDTH, LEAST = 1180.0, 310.0
"""The usual width of the drawing and its least one, in px."""
LABEL, SUM = 118.0, 80.0
"""The widths of the columns with the groups' names and round trips, and with the sums."""
HEAD, AXIS, BETWEEN = 24.0, 22.0, 12.0
"""The heights of a panel's head and of its axis, and the space below it."""
BAR = 20.0
TICK, FEWEST_TICKS = 90.0, 3
"""The distance of numbers on an axis, and the number of them that a narrow one has room for."""
RIM = 4.0
"""The height by which the mark of the sum is above the bar, and below it."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: the group that it is of, and the causes of its packets near a quantile."""

    label: str
    near: AtQuantile

    @property
    def parts(self) -> dict[str, float]:
        """Return the time in ns of each cause that has some, by the name that it is shown by."""
        return {name: ns for name, ns in by_name(self.near.causes).items() if ns}

    @property
    def ends(self) -> tuple[float, float]:
        """Return where the bar begins and ends, in ns from zero."""
        times = self.parts.values()
        return sum(ns for ns in times if ns < 0), sum(ns for ns in times if ns > 0)

    @property
    def sum_ns(self) -> float:
        """Return by how much the packets took longer than usual ones."""
        return sum(self.ends)


@dataclass(frozen=True, slots=True)
class _Scale:
    """The places of times in a panel: `low` and `high` in ns at `left` and `right` in px."""

    low: float
    high: float
    left: float
    right: float

    def x(self, ns: float) -> float:
        """Return the place of a time."""
        return self.left + (ns - self.low) / (self.high - self.low) * (self.right - self.left)


def drawing(panels: Mapping[str, Sequence[Bar]], name: str, width: float = WIDTH) -> str:
    """Return the drawing as SVG: a panel for each quantile, each with a scale of its own."""
    top = 0.0
    parts: list[str] = []
    for quantile, bars in panels.items():
        found, top = _panel(quantile, bars, name, top, width)
        parts += found
        top += BETWEEN
    shown = [each for each in TOGETHER if any(each in bar.parts for bar in _all(panels))]
    entries = [KeyEntry(fill_of(each, name), each) for each in shown]
    found, bottom = key(entries, top, width)
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {bottom:.0f}" '
            f'role="img" font-family="{FONT}" color="{DARK}" class="way" '
            f'style="min-width:{0.8 * width:.0f}px">',
            f"<title>{xml(title(panels))}</title>",
            hatching(name),
            *parts,
            *found,
            "</svg>",
        ]
    )


def title(panels: Mapping[str, Sequence[Bar]]) -> str:
    """Return what the drawing shows, in words."""
    return f"Causes of packets near the {', '.join(panels)}, beyond what is usual"


def _all(panels: Mapping[str, Sequence[Bar]]) -> Iterator[Bar]:
    for bars in panels.values():
        yield from bars


def _panel(
    quantile: str, bars: Sequence[Bar], name: str, top: float, width: float
) -> tuple[list[str], float]:
    """Return the bars of a quantile with their axis, and where the panel ends."""
    ends = [bar.ends for bar in bars]
    low, high = min(least for least, _ in ends), max(most for _, most in ends)
    scale = _Scale(low, high if high > low else low + 1, LABEL, width - SUM)
    row = height(bar.label for bar in bars)
    first, last = top + HEAD, top + HEAD + row * len(bars)
    parts = [
        text(0, top + 15, quantile, anchor="start", size=13, tone="strong"),
        text(width, top + 15, "sum", anchor="end", tone="strong"),
        *_axis(scale, first, last),
    ]
    for index, bar in enumerate(bars):
        middle = first + row * (index + 0.5)
        parts += label_of(bar.label, f"RTT {words.delay(bar.near.rtt_ns / 1e3)}", middle)
        parts += _bar(bar, scale, middle, name)
        parts.append(text(width, middle + 4, words.signed(bar.sum_ns / 1e3), anchor="end", size=12))
    return parts, last + AXIS


def _axis(scale: _Scale, first: float, last: float) -> Iterator[str]:
    """Yield a line for each round number, from the first row to the last, and that of zero."""
    most = max(FEWEST_TICKS, int((scale.right - scale.left) / TICK))
    for ns in round_ticks(scale.low, scale.high, most):
        x = scale.x(ns)
        yield (
            f'<line x1="{x:.1f}" y1="{first:.1f}" x2="{x:.1f}" y2="{last:.1f}" stroke="{INK}" '
            f'stroke-opacity="{0.1 if ns else 0.7}"/>'
        )
        said = tick_words(ns, max(-scale.low, scale.high))
        yield text(x, last + 13, f"+{said}" if ns > 0 else said, tone="faint")


def _bar(bar: Bar, scale: _Scale, middle: float, name: str) -> Iterator[str]:
    """Yield the parts of a bar from zero on, to the left for negative ones, and the mark of all."""
    top = middle - BAR / 2
    left = right = 0.0
    for cause, ns in bar.parts.items():
        if ns < 0:
            left = start = left + ns
        else:
            start, right = right, right + ns
        yield (
            f'<rect x="{scale.x(start):.2f}" y="{top:.1f}" '
            f'width="{scale.x(start + abs(ns)) - scale.x(start):.2f}" height="{BAR:.0f}" '
            f'fill="{fill_of(cause, name)}"><title>{cause}: {words.signed(ns / 1e3)}</title></rect>'
        )
    x = scale.x(bar.sum_ns)
    said = f"sum: {words.signed(bar.sum_ns / 1e3)}"
    yield (
        f'<line x1="{x:.1f}" y1="{top - RIM:.1f}" x2="{x:.1f}" y2="{top + BAR + RIM:.1f}" '
        f'stroke="{INK}" stroke-width="2.5"><title>{said}</title></line>'
    )
