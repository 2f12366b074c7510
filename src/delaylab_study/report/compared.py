"""Comparison of datasets or levels in words and as JSON."""

from __future__ import annotations

from dataclasses import asdict

from delaylab.api.files import JsonObject
from delaylab_study.analysis.claims.doubted import ClaimDoubt
from delaylab_study.analysis.compared.lines import Line
from delaylab_study.analysis.compared.many import Comparison
from delaylab_study.analysis.compared.side import Side
from delaylab_study.analysis.compared.two_sides import ComparedSides
from delaylab_study.analysis.statistics.two_runs import CERTAIN

NOTE = (
    "with the 99 % interval by which the verdict is given. A segment's delay is one way, the user "
    "RTT is round trip. Packets lost come first, then work, then delays, the largest change first."
)
ONCE = (
    "One trial on each side: a difference may be one that any two runs have. Only repeats tell how "
    'much runs differ ("repeats" in the study file).'
)


def note(found: ComparedSides) -> str:
    """Return what a change is, and in which order changes stand."""
    return f"Change: {found.after.name} − {found.before.name}, {NOTE}"


def headline(found: ComparedSides) -> str:
    """Return the outcome in one sentence, with the number of lines that chance alone makes.

    Without repeats that number is not known.
    """
    lines, seen = len(found.lines), found.seen
    if not lines:
        return (
            "Nothing can be compared: the two sides share no levels with enough packets, or with "
            "repeated trials of the same work."
        )
    if not seen:
        return f"No difference seen in {lines} lines."
    counts = dict.fromkeys(("slower", "faster", "more lost", "fewer lost", "more", "less"), 0)
    for line in seen:
        counts[line.verdict] += 1
    text = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return f"{len(seen)} of {lines} lines differ ({text}){_chance(found)}."


def _chance(found: ComparedSides) -> str:
    """Return how many of the lines at most would differ by chance alone, if repeats tell."""
    if found.by_chance is None:
        return ", each of one trial on each side"
    few = f"{found.by_chance:.1f}"
    which = f" of the {len(found.repeated)} with repeats" if found.once else ""
    return f"; if nothing differed, at most about {few}{which} would seem to by chance"


def named(found: ComparedSides) -> list[tuple[Side, tuple[ClaimDoubt, ...]]]:
    """Return each side with the doubts about it."""
    return [(found.before, found.doubts[0]), (found.after, found.doubts[1])]


def as_json(found: ComparedSides) -> JsonObject:
    """Return a comparison as plain JSON values: delays in µs, the packets lost as a share.

    Rates of work are in their own unit; a share of work is 1 if it is the fair share.
    """
    return {
        "before": _place(found.before),
        "after": _place(found.after),
        "level": CERTAIN,
        "by_chance": found.by_chance,
        "lines": [_line(line) for line in found.lines],
        "unlike": list(found.unlike),
        "circumstances": [asdict(each) for each in found.circumstances],
        "doubts": {
            name: [asdict(doubt) for doubt in doubts]
            for name, (_, doubts) in zip(("before", "after"), named(found), strict=True)
        },
    }


def many_as_json(found: Comparison) -> JsonObject:
    """Return a comparison of several sides as plain JSON values, each as `as_json` has it.

    Two datasets alone are one comparison.
    """
    if not found.factor and len(found.compared) == 1:
        return as_json(found.compared[0])
    first = found.sides[0]
    return {
        "dataset": str(first.study.directory) if found.factor else None,
        "factor": found.factor or None,
        "reference": _place(first),
        "comparisons": [as_json(each) for each in found.compared],
    }


def _place(side: Side) -> str:
    """Return what tells a side from others: its level, or its dataset's directory."""
    return side.name if side.factor else str(side.study.directory)


def _line(line: Line) -> JsonObject:
    part = line.part
    return {
        "levels": line.pair.levels,
        "name": part.name,
        "direction": part.direction,
        "leg": part.leg,
        "from": part.start,
        "to": part.end,
        "at": part.at,
        "statistic": line.statistic,
        "unit": line.unit,
        "before": line.before,
        "after": line.after,
        "change": line.effect.value,
        "interval": list(line.effect.interval),
        "n": list(line.n),
        "trials": list(line.pair.trials),
        "verdict": line.verdict,
        "would_have_seen": line.sees,
        "doubts": list(line.pair.doubts),
    }
