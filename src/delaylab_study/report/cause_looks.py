"""Looks of causes in drawings: which ones are shown together, their colours, and the key.

A cause has the same colour in all drawings. The colours are those of Okabe and Ito, which people
with any kind of colour blindness can tell apart; *unknown* is hatched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from delaylab.api.causes import Cause
from delaylab.api.drawing import xml
from delaylab_study.report.row_labels import INK

TOGETHER: Mapping[str, tuple[Cause, ...]] = {
    "run-queue wait": (Cause.HELD,),
    "idle CPU": (Cause.IDLE_WAKE,),
    "quota": (Cause.QUOTA,),
    "interrupts": (Cause.SOFTIRQ, Cause.INTERRUPT),
    "steal": (Cause.STOLEN,),
    "link queue": (Cause.QUEUE,),
    "link": (Cause.RATE, Cause.DELAY, Cause.LINK),
    "computing": (Cause.OWN,),
    "other": (Cause.STOPPED, Cause.BLOCKED, Cause.RECLAIM, Cause.TIMER, Cause.TCP, Cause.BEYOND),
    "unknown": (Cause.UNKNOWN,),
}
"""The causes that are shown together, by the name that they have then."""
UNKNOWN = "unknown"
COLOURS = {
    "run-queue wait": "#d55e00",
    "idle CPU": "#56b4e9",
    "quota": "#cc79a7",
    "interrupts": "#f0e442",
    "steal": "#e69f00",
    "link queue": "#004266",
    "link": "#0072b2",
    "computing": "#009e73",
    "other": "#8a939c",
}
"""The colours by these names; *unknown* has none."""
DARK, LIGHT = "#20242a", "#ffffff"
LETTER = 5.9
"""The width of a letter of the key in px."""
LETTERS = 10.5
"""The size of the key's letters in px."""
LINE, SWATCH, GAP = 18.0, 12.0, 16.0
"""The height of a line of the key, the size of its colours, and the space between entries."""

TONES = {"": "", "strong": ' font-weight="600"', "faint": ' fill-opacity="0.75"'}


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """An entry of a key: a fill, and what it stands for."""

    fill: str
    words: str
    opacity: float = 1.0


def together(cause: Cause) -> str:
    """Return the name under which a cause is shown."""
    return next(name for name, causes in TOGETHER.items() if cause in causes)


def by_name(causes: Mapping[Cause, float]) -> dict[str, float]:
    """Return the times of causes under the names by which they are shown, all of them, in order."""
    return {name: sum(causes.get(each, 0.0) for each in of_it) for name, of_it in TOGETHER.items()}


def fill_of(name: str, drawing: str) -> str:
    """Return the fill of causes that are shown together, in a drawing by its name."""
    return COLOURS.get(name) or f"url(#{_hatch_of(drawing)})"


def hatching(drawing: str) -> str:
    """Return the definition of the fill of what is unknown.

    Each drawing has its own: a page does not show one that stands in a part that is folded.
    """
    return (
        f'<defs><pattern id="{_hatch_of(drawing)}" width="6" height="6" '
        'patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="6" height="6" fill="#9aa0a6" fill-opacity="0.3"/>'
        '<rect width="2" height="6" fill="#868d94"/></pattern></defs>'
    )


def _hatch_of(drawing: str) -> str:
    return f"unseen-{drawing}"


def key(entries: Sequence[KeyEntry], top: float, width: float) -> tuple[list[str], float]:
    """Return a key below `top` in a drawing of this width in px, and where it ends."""
    parts = []
    x, y = 0.0, top
    for entry in entries:
        wide = SWATCH + 5 + LETTER * len(entry.words)
        if x and x + wide > width:
            x, y = 0.0, y + LINE
        opacity = f' fill-opacity="{entry.opacity}"' if entry.opacity < 1 else ""
        parts.append(
            f'<rect x="{x:.1f}" y="{y + 3:.1f}" width="{SWATCH}" height="{SWATCH}" rx="2" '
            f'fill="{entry.fill}"{opacity}/>'
            + text(x + SWATCH + 5, y + 13, entry.words, anchor="start")
        )
        x += wide + GAP
    return parts, y + LINE


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "middle",
    size: float = LETTERS,
    ink: str = INK,
    tone: Literal["", "strong", "faint"] = "",
) -> str:
    """Return words at a place of a drawing."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="{ink}"{TONES[tone]}>{xml(words)}</text>'
    )
