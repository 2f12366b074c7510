"""Scaling of work over the number of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from delaylab.api.files import JsonObject
from delaylab_study.analysis.scaling.law import Law, Scaling
from delaylab_study.analysis.scaling.series import WHOLE, ScaledWork, scaled_work
from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.charts import words
from delaylab_study.charts.scaling import scaling_charts
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.sections.section import Report

HEADING = "Run time over the number of nodes"

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


def section(report: Report) -> v.Section:
    """Return all series: a table of each with a law, else its times in words."""
    found = scaled_work(report.groups, report.study.record)
    if not found:
        return v.Section("scaling", [])
    charts = v.Lazy(lambda _: [v.Block([v.Charts(scaling_charts(found))], "charts")], on=v.PAGE)
    lawful = [each for each in found if each.scaling.law is not None][:SHOWN]
    parts = [v.Heading(HEADING, 2), v.note(NOTE), charts]
    for each in found:
        parts += _series(each, lawful)
    for each in found:
        if not any(each is one for one in lawful):
            head = v.Span(f"Scaling of {title(each)}", "strong")
            parts.append(v.Line((head, f": {' '.join(_said(each))}"), on=v.TERMINAL))
    return v.Section("scaling", parts)


def study_json(report: Report) -> JsonObject:
    """Return all series; times are in s."""
    found = scaled_work(report.groups, report.study.record)
    return {"scaling": [_json(each) for each in found]}


def title(found: ScaledWork) -> str:
    """Return the work with the levels of the other factors."""
    return f"{found.work}: {found.label}" if found.label else found.work


def _series(found: ScaledWork, lawful: list[ScaledWork]) -> Iterator[v.Part]:
    """Yield the parts of a series; a terminal has tables of those of `lawful` alone."""
    said = _said(found)
    yield v.Heading(title(found))
    yield from (v.Line(each, on=v.PAGE) for each in said)
    heads = ("nodes", f"T(N): {_of(found)}", "law", "residual")
    share = (v.Value("work", found.work), v.Value("levels", found.label))
    if rows := _rows(found):
        shown = any(each is found for each in lawful)
        caption = "\n".join([*said, *([NOTE] if shown and found is lawful[-1] else [])])
        columns = [v.Column(head, long="fold") for head in heads]
        yield v.Table(
            *(columns, rows, f"Scaling of {title(found)}", caption),
            key="scaling",
            share=share,
            on=v.ALL if shown else v.PAGE,
        )


def _rows(found: ScaledWork) -> list[v.Row]:
    """Return the run time of each number of nodes with that by the law, nothing without one."""
    scaling, law = found.scaling, found.scaling.law
    if law is None:
        return []
    by_law = law.at(np.array(scaling.nodes))
    return [
        [
            v.Value("nodes", nodes),
            v.Value("time_s", float(time_s), "s"),
            v.Value("law_s", float(law_s), "s"),
            v.Value("residual", residual, "share", how=written.percent("+.1f")),
        ]
        for nodes, time_s, law_s, residual in zip(
            scaling.nodes, scaling.times_s, by_law, scaling.residuals, strict=True
        )
    ]


def _of(found: ScaledWork) -> str:
    return f"{found.of}, {_blocks(found)}"


def _blocks(found: ScaledWork) -> str:
    count = len(found.scaling.blocks_s)
    said = f"{count} {'trial' if count == 1 else 'trials'} each"
    return f"{said} ({found.left_out} of incomplete blocks left out)" if found.left_out else said


def _said(found: ScaledWork) -> list[str]:
    """Return sentences on the law, on what it predicts, and on what the prediction assumes.

    The times of a series without a law are listed.
    """
    scaling, law = found.scaling, found.scaling.law
    if law is None:
        pairs = zip(scaling.nodes, scaling.times_s, strict=True)
        times = ", ".join(f"T({nodes}) = {words.seconds(float(time_s))}" for nodes, time_s in pairs)
        return [f"{times} ({_of(found)}).", f"No law: {scaling.refused}."]
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
