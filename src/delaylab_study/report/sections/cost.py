"""Cost of measuring: the time that the taps add."""

from __future__ import annotations

from itertools import chain

from delaylab.api.files import JsonObject
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.packets.instrument import AtRest, Cost, cost
from delaylab_study.charts import words
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.sections.section import Report, interval

COLUMNS = (
    v.Column("sender", "label", key="sender"),
    *map(v.Column, ("with taps (n)", "without (n)", "pairs (trials)")),
    v.Column("the taps add [95 %]", "text"),
)
NOTE = (
    "User RTT (round trip) at rest, in blocks of packets with the taps on and off by turns. Each "
    "block with taps is compared with its neighbour without, by their medians; the figures are "
    "means over these pairs, with Student's 95 % interval: between trials where there are three or "
    "more, else between pairs. Socket stamps are on in both."
)


def section(report: Report) -> v.Section:
    """Return what the taps add, by the sender's kind."""
    found = cost_by_kind(report.groups)
    lines = [
        v.Line(
            f"{kind}: the taps add to the user RTT at rest: {words.cost(cost)}",
            "faint",
            on=v.TERMINAL,
        )
        for kind, cost in found.items()
        if cost.added or cost.untapped_n
    ]
    rows = [_row(kind, cost) for kind, cost in found.items()]
    page = [
        v.Heading("What measuring cost", 2),
        v.note(NOTE),
        v.Table(COLUMNS, rows, key="instrument", on=v.PAGE),
    ]
    return v.Section("cost", [*lines, *(page if report.probed else [])])


def study_json(report: Report) -> JsonObject:
    """Return what the taps add, by the sender's kind."""
    found = cost_by_kind(report.groups)
    return {"instrument": {kind: _json(added) for kind, added in found.items()}}


def cost_by_kind(groups: list[Group]) -> dict[str, Cost]:
    """Return the instrument's cost by the sender's kind, over all its trials."""
    known: dict[str, list[AtRest]] = {}
    for group in groups:
        if group.packets:
            known.setdefault(group.kind, []).append(group.packets.at_rest)
    return {kind: cost(found) for kind, found in known.items()}


def _row(kind: str, found: Cost) -> v.Row:
    added = v.Value(
        "added_us",
        found.added.value if found.added else None,
        "us",
        found.added.interval if found.added else v.UNKNOWN,
        (found.why,) if found.why else (),
        written.said(words.cost(found)),
    )
    medians = {"tapped_us": found.tapped_us, "untapped_us": found.untapped_us}
    tapped, untapped = v.values(medians, "us")
    counts = {"tapped_n": found.tapped_n, "untapped_n": found.untapped_n}
    tapped_n, untapped_n, *pairs = v.values(counts | {"pairs": found.pairs, "trials": found.trials})
    together = ((tapped, tapped_n), (untapped, untapped_n), pairs)
    if not found.added:
        return [kind, "", None, None, (added, *v.unseen(*chain(*together)))]
    return [kind, *((one, " (", n, ")") for one, n in together), (added,)]


def _json(found: Cost) -> JsonObject:
    added = found.added
    return {
        "tapped_n": found.tapped_n,
        "untapped_n": found.untapped_n,
        "pairs": found.pairs,
        "trials": found.trials,
        "tapped_median_us": found.tapped_us,
        "untapped_median_us": found.untapped_us,
        "added_us": added.value if added else None,
        "added_us_interval": interval(added.interval if added else None),
        "why": found.why,
    }
