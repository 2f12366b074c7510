"""Comparison of datasets or levels in words and as JSON."""

from __future__ import annotations

from dataclasses import asdict

from delaylab.api.files import JsonObject
from delaylab_study.analysis.claims.doubted import ClaimDoubt
from delaylab_study.analysis.compared.lines import ComparedLine
from delaylab_study.analysis.compared.many import Comparison
from delaylab_study.analysis.compared.side import Side
from delaylab_study.analysis.compared.two_sides import ComparedSides
from delaylab_study.analysis.statistics.two_runs import CERTAIN
from delaylab_study.papers.replicated import ComparedClaim, compared_claims

NOTE = (
    "with the 99 % interval by which the verdict is given. A segment's delay is one way, the user "
    "RTT is round trip. Packets lost come first, then work, then delays, the largest change first."
)
ONCE = (
    "One trial on each side: a difference may be one that any two runs have. Only repeats tell how "
    "much runs differ (`repeat` in the study file)."
)


def verdicts(found: list[ComparedClaim]) -> str:
    """Return in one sentence how many verdicts changed."""
    changed = sum(each.changed for each in found)
    if not changed:
        same = "verdict is" if len(found) == 1 else f"{len(found)} verdicts are"
        return f"The {same} the same."
    return f"{changed} of {len(found)} verdicts changed."


def note(compared: ComparedSides) -> str:
    """Return what a change is, and in which order changes stand."""
    return f"Change: {compared.after.name} − {compared.before.name}, {NOTE}"


def headline(compared: ComparedSides) -> str:
    """Return the outcome in one sentence, with the number of lines that chance alone makes.

    Without repeats that number is not known.
    """
    lines, seen = len(compared.lines), compared.seen
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
    return f"{len(seen)} of {lines} lines differ ({text}){_chance(compared)}."


def _chance(compared: ComparedSides) -> str:
    """Return how many of the lines at most would differ by chance alone, if repeats tell."""
    if compared.by_chance is None:
        return ", each of one trial on each side, as any two runs may"
    few = f"{compared.by_chance:.1f}"
    which = f" of the {len(compared.repeated)} with repeats" if compared.once else ""
    return f"; if nothing differed, at most about {few}{which} would seem to by chance"


def named(compared: ComparedSides) -> list[tuple[Side, tuple[ClaimDoubt, ...]]]:
    """Return each side with the doubts about it."""
    return [(compared.before, compared.doubts[0]), (compared.after, compared.doubts[1])]


def as_json(compared: ComparedSides) -> JsonObject:
    """Return a comparison as plain JSON values: delays in µs, the packets lost as a share.

    Rates of work are in their own unit; a share of work is 1 if it is the fair share.
    """
    return {
        "before": _place(compared.before),
        "after": _place(compared.after),
        "level": CERTAIN,
        "by_chance": compared.by_chance,
        "claims": [_claim(each) for each in compared_claims(compared.before, compared.after)],
        "lines": [_line(line) for line in compared.lines],
        "unlike": list(compared.unlike),
        "circumstances": [asdict(each) for each in compared.circumstances],
        "doubts": {
            name: [asdict(doubt) for doubt in doubts]
            for name, (_, doubts) in zip(("before", "after"), named(compared), strict=True)
        },
    }


def many_as_json(comparison: Comparison) -> JsonObject:
    """Return a comparison of several sides as plain JSON values, each as `as_json` has it.

    Two datasets alone are one comparison.
    """
    if not comparison.factor and len(comparison.compared) == 1:
        return as_json(comparison.compared[0])
    first = comparison.sides[0]
    return {
        "dataset": str(first.study.directory) if comparison.factor else None,
        "factor": comparison.factor or None,
        "reference": _place(first),
        "comparisons": [as_json(each) for each in comparison.compared],
    }


def _place(side: Side) -> str:
    """Return what tells a side from others: its level, or its dataset's directory."""
    return side.name if side.factor else str(side.study.directory)


def _claim(found: ComparedClaim) -> JsonObject:
    return {
        "claim": found.claim,
        "changed": found.changed,
        **{
            side: {
                "verdict": each.verdict,
                "effect": each.effect,
                "interval": list(each.interval) if each.interval else None,
                "unit": each.unit,
                "why": each.why,
            }
            for side, each in (("before", found.before), ("after", found.after))
        },
    }


def _line(line: ComparedLine) -> JsonObject:
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
