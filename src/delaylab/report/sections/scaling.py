"""Scaling of work over the number of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from rich.table import Table
from rich.text import Text

from delaylab.analysis.group import Group
from delaylab.analysis.scaling.law import Law, Scaling
from delaylab.analysis.scaling.series import WHOLE, ScaledWork, scaled_work
from delaylab.analysis.statistics.effects import Effect
from delaylab.charts import words
from delaylab.charts.scaling import scaling_charts
from delaylab.dataset.store import Study
from delaylab.io.values import JsonObject
from delaylab.report.sections.section import Html, Report

# Largest number of series that the terminal shows with their numbers of nodes.
SHOWN = 6
NOTE = (
    "N nodes did the same work at once; T(N) is the mean over the trials. The law is fitted by "
    "least squares of the residuals in % of T(N): the line a + b × N, or, where its sum of squares "
    "is less than half, T1 × max(1, N / C) of a machine that runs C nodes side by side, for 4 "
    "numbers of nodes or more. There is no prediction where a residual is over 10 %, or for fewer "
    "than 3 numbers of nodes or 2 blocks. Intervals are 95 %, between blocks of trials "
    "(Student's); they do not tell by how much the law itself is off."
)


@dataclass(frozen=True, slots=True)
class RunTimeRow:
    """Run time of one number of nodes as words."""

    nodes: str
    time: str
    law: str
    residual: str


@dataclass(frozen=True, slots=True)
class ScaledInWords:
    """Series of run times: its rows, its law, and what it predicts or why it does not.

    A series without a law has no rows; its times are said.
    """

    title: str
    of: str
    rows: list[RunTimeRow]
    said: list[str]


def terminal(report: Report, width: int) -> Iterator[Table | Text]:
    """Yield the tables of all series."""
    yield from _tables(parts(report.study, report.groups))


def study_json(report: Report) -> JsonObject:
    """Return all series; times are in s."""
    found = scaled_work(report.groups, report.study.record)
    return {"scaling": [_json(each) for each in found]}


def html(report: Report) -> Html:
    """Return the tables of all series, and their charts."""
    charts = scaling_charts(scaled_work(report.groups, report.study.record))
    found = parts(report.study, report.groups)
    return Html({"note": NOTE, "parts": found, "charts": charts}, charts)


def parts(study: Study, groups: list[Group]) -> list[ScaledInWords]:
    """Return all series of a study."""
    return [_part(each) for each in scaled_work(groups, study.record)]


def title(found: ScaledWork) -> str:
    """Return the work with the levels of the other factors."""
    return f"{found.work}: {found.label}" if found.label else found.work


def _part(found: ScaledWork) -> ScaledInWords:
    scaling, law = found.scaling, found.scaling.law
    of = f"{found.of}, {_blocks(found)}"
    times = [words.seconds(float(each)) for each in scaling.times_s]
    if law is None:
        listed = ", ".join(
            f"T({nodes}) = {time}" for nodes, time in zip(scaling.nodes, times, strict=True)
        )
        return ScaledInWords(
            title(found), of, [], [f"{listed} ({of}).", f"No law: {scaling.refused}."]
        )
    by_law = law.at(np.array(scaling.nodes))
    rows = [
        RunTimeRow(str(nodes), time, words.seconds(float(by_law_s)), _percent(residual))
        for nodes, time, by_law_s, residual in zip(
            scaling.nodes, times, by_law, scaling.residuals, strict=True
        )
    ]
    return ScaledInWords(title(found), of, rows, _said(found, law))


def _blocks(found: ScaledWork) -> str:
    count = len(found.scaling.blocks_s)
    said = f"{count} {'trial' if count == 1 else 'trials'} each"
    return f"{said} ({found.left_out} of incomplete blocks left out)" if found.left_out else said


def _said(found: ScaledWork, law: Law) -> list[str]:
    """Return sentences on the law, on what it predicts, and on what the prediction assumes."""
    scaling = found.scaling
    said = [f"Law: {law_in_words(law)}."]
    if found.doubts:
        said.append(f"In doubt: {'; '.join(each.text for each in found.doubts)}.")
    if scaling.refused:
        return [*said, f"No prediction: {scaling.refused}."]
    said += _predicted(scaling, law)
    if found.quotas:
        shares = ", ".join(words.share(quota) for quota in found.quotas)
        said.append(
            f"Nodes had a CPU quota ({shares} of a CPU). That one stands for a slower machine is a "
            "model: the node has a whole CPU for a part of each 100 ms, and none for the rest."
        )
    return said


def _predicted(scaling: Scaling, law: Law) -> list[str]:
    machines = scaling.nodes[-1]
    said = []
    if scaling.alone_s is not None:
        said.append(
            f"{machines} machines like this one, with one node each, would take "
            f"{_with_interval(scaling.alone_s)} if no node waits for another: T(1). Model: "
            "independent work, and nothing is shared."
        )
    if scaling.divided_s is not None:
        said.append(
            f"They would take {_with_interval(scaling.divided_s)} by the rule of "
            f"xen-large-networks: T({machines}) / {machines}. Model: work that exchanges messages, "
            f"by nodes that share one CPU here.{_side_by_side(law)}"
        )
    return said


def _side_by_side(law: Law) -> str:
    """Return a sentence on the rule T(N) / N where nodes did not share one CPU, else ""."""
    if law.name != "cpus" or law.fixed_s is None:
        return ""
    if law.cpus is None:
        return " By the law they all ran side by side, so this is too small."
    if law.cpus <= 1:
        return ""
    return (
        f" By the law {law.cpus:.2f} of them ran side by side, so this may be too small by as much."
    )


def law_in_words(law: Law) -> str:
    """Return a law as a formula with its numbers."""
    fixed = words.seconds(law.fixed_s) if law.fixed_s else ""
    each = f"{words.seconds(law.each_s)} × N" if law.each_s else ""
    if law.name == "line":
        return f"T(N) = {' + '.join(filter(None, (fixed, each)))}"
    if law.cpus is not None:
        return f"T(N) = {fixed} × max(1, N / {law.cpus:.2f})"
    return f"T(N) = {fixed or each}"


def _json(found: ScaledWork) -> JsonObject:
    scaling, law = found.scaling, found.scaling.law
    predicted: JsonObject | None = None
    if not scaling.refused:
        predicted = {
            "machines": scaling.nodes[-1],
            **_effect("independent_s", scaling.alone_s),
            **_effect("divided_s", scaling.divided_s),
        }
    return {
        "work": found.work,
        "factor": found.factor,
        "levels": found.levels,
        "of": "time until all were done" if found.of == WHOLE else "time per Gbit",
        "quotas": list(found.quotas),
        "trials_each": len(scaling.blocks_s),
        "left_out": found.left_out,
        "nodes": list(scaling.nodes),
        "times_s": scaling.times_s.tolist(),
        "residuals": scaling.residuals,
        "law": None
        if law is None
        else {
            "name": law.name,
            "fixed_s": law.fixed_s,
            "each_s": law.each_s,
            "cpus": law.cpus,
        },
        "doubts": [asdict(each) for each in found.doubts],
        "refused": scaling.refused or None,
        "predicted": predicted,
    }


def _effect(name: str, found: Effect | None) -> JsonObject:
    return {
        name: None if found is None else found.value,
        f"{name}_interval": None if found is None else list(found.interval),
    }


def _with_interval(found: Effect) -> str:
    low, high = (words.seconds(end) for end in found.interval)
    return f"{words.seconds(found.value)} [{low}, {high}]"


def _percent(share: float) -> str:
    return f"{100 * share:+.1f} %".replace("-", words.MINUS)


def _tables(found: Sequence[ScaledInWords]) -> Iterator[Table | Text]:
    """Yield a table for each series with a law, and lines for others and those beyond `SHOWN`."""
    tables = [part for part in found if part.rows][:SHOWN]
    for part in tables:
        yield _table(part, last=part is tables[-1])
    for part in found:
        if part not in tables:
            yield Text.assemble((f"Scaling of {part.title}", "bold"), f": {' '.join(part.said)}")


def _table(part: ScaledInWords, *, last: bool) -> Table:
    table = Table(
        title=f"Scaling of {part.title}",
        caption=Text("\n".join([*part.said, *([NOTE] if last else [])]), "dim italic"),
        title_justify="left",
        caption_justify="left",
    )
    for head in ("nodes", f"T(N): {part.of}", "law", "residual"):
        table.add_column(head, justify="right", overflow="fold")
    for row in part.rows:
        table.add_row(row.nodes, row.time, row.law, row.residual)
    return table
