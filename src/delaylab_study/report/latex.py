r"""Tables of a report for papers: as LaTeX's `tabular`, which needs no package."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from delaylab_study.report.data import Record
from delaylab_study.report.value import Value
from delaylab_study.report.written import DASH

UNITS = {"us": r"$\mu$s", "ns": "ns", "s": "s", "ms": "ms", "ppm": "ppm", "bps": "bit/s"}
"""The units at the ends of keys, as heads have them."""
ASIDE = frozenset({"n_effective", "merged", "bound_us", "at_most_us", "from", "to", "p999_us"})
"""Columns for scripts: what a paper's table has no room for."""
LETTERS = {
    "\\": r"\textbackslash{}",
    **{each: f"\\{each}" for each in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "µ": r"$\mu$",
    "μ": r"$\mu$",
    "Δ": r"$\Delta$",
    "−": "$-$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "←": r"$\leftarrow$",
    "–": "--",
    "…": r"\ldots{}",
    "\n": " ",
}
FIGURES = 4
"""The figures of a number that count: more than an interval is ever as narrow as."""


def latex_of(rows: Sequence[Record]) -> bytes:
    """Return rows as a `tabular` in UTF-8, with the units in its head.

    An interval follows its value. Left out are columns that are empty, those for scripts, and those
    with one value in all rows, which a comment has.
    """
    columns = _columns(rows)
    same = {key: each for key, each in columns.items() if len(rows) > 1 and len(set(each)) == 1}
    shown = {key: each for key, each in columns.items() if key not in same} or columns
    numbers = [all(not isinstance(_of(row, key), str) for row in rows) for key in shown]
    lines = [
        f"% {escaped(_head(key))}: {each[0]}" for key, each in same.items() if key not in shown
    ]
    lines += [
        rf"\begin{{tabular}}{{{''.join('r' if number else 'l' for number in numbers)}}}",
        r"\hline",
        " & ".join(_head(key) for key in shown) + r" \\",
        r"\hline",
        *(" & ".join(cells) + r" \\" for cells in zip(*shown.values(), strict=True)),
        r"\hline",
        r"\end{tabular}",
    ]
    return ("\n".join(lines) + "\n").encode()


def escaped(text: str) -> str:
    """Return words in which no letter means anything to LaTeX."""
    return "".join(LETTERS.get(letter, letter) for letter in text)


def _columns(rows: Sequence[Record]) -> dict[str, list[str]]:
    """Return the cells of each column that is shown, by its key."""
    keys = dict.fromkeys(key for row in rows for key in row if key not in ASIDE)
    found = {key: [_cell(row.get(key)) for row in rows] for key in keys}
    return {
        key: cells for key, cells in found.items() if any(each not in ("", "--") for each in cells)
    }


def _of(row: Record, key: str) -> float | str | None:
    return row[key].value if key in row else None


def _head(key: str) -> str:
    name, _, unit = key.rpartition("_")
    if name and unit in UNITS:
        return f"{escaped(name.replace('_', ' '))} ({UNITS[unit]})"
    return escaped(key.replace("_", " "))


def _cell(value: Value | None) -> str:
    if value is None or value.value is None:
        return escaped(DASH)
    text = _said(value.value)
    if value.interval is None or not all(map(isfinite, value.interval)):
        return text
    return f"{text} [{', '.join(_said(end) for end in value.interval)}]"


def _said(value: float | str) -> str:
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return escaped(str(value).replace("-", "−"))
    return escaped(_rounded(value)) if isfinite(value) else escaped(DASH)


def _rounded(value: float) -> str:
    """Return a number with so many figures that count, without an exponent."""
    text = f"{float(f'{value:.{FIGURES}g}'):.9f}".rstrip("0").rstrip(".")
    return text.replace("-", "−")
