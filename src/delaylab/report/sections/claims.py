"""Verdicts on the claims of papers, and of the study itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite

from rich.table import Table
from rich.text import Text

from delaylab.analysis.claims.finding import Finding, JudgedCriterion, Verdict
from delaylab.charts import words
from delaylab.io.values import JsonObject
from delaylab.papers.findings import Claimed
from delaylab.report.forest import NOTE as DRAWN
from delaylab.report.forest import ClaimDrawing
from delaylab.report.sections.section import WIDE, Html, Report, interval
from delaylab.report.style import style_sheet

AFTER = (
    "These claims were chosen when the data were there, so a verdict explores and does not "
    "confirm. To confirm them, put them into the study file and run it again."
)
COLOURS: dict[Verdict, str] = {
    "reproduced": "green",
    "contradicted": "red",
    "holds": "green",
    "does not hold": "red",
    "open": "yellow",
    "not testable here": "yellow",
}


def terminal(report: Report, width: int) -> Iterator[Table]:
    """Yield a table for the claims of each paper, and for the study's own."""
    yield from (_table(claimed, width) for claimed in report.claims)


def study_json(report: Report) -> JsonObject:
    """Return the verdict on each claim."""
    return {"claims": [_json(finding) for finding in report.findings]}


def html(report: Report) -> Html:
    """Return the verdicts by whose claims they are on."""
    drawings = [drawing for claimed in report.claims for drawing in _drawings(claimed)]
    return Html({"claims": report.claims, "note": DRAWN, "after": AFTER}, drawings)


def _drawings(claimed: Claimed) -> Iterator[ClaimDrawing]:
    """Yield a drawing for each criterion with effects."""
    for finding in claimed.findings:
        for number, judged in enumerate(finding.criteria, start=1):
            if any(isfinite(scenario.effect) for scenario in judged.scenarios):
                name = f"claim-{finding.id}" + (f"-{number}" if number > 1 else "")
                name += "-after-data" if claimed.after_data else ""
                yield ClaimDrawing(name, judged, style_sheet())


def _table(claimed: Claimed, width: int) -> Table:
    """Return the claims of a paper, or of the study, with their verdicts, effects and reasons."""
    wide = width >= WIDE
    title = f"Claims of {claimed.name or 'this study'}"
    table = Table(
        title=f"{title}, chosen after the data" if claimed.after_data else title,
        caption=Text(AFTER, "dim italic") if claimed.after_data else None,
        title_justify="left",
        caption_justify="left",
        show_lines=True,
    )
    if wide:
        table.add_column("verdict", no_wrap=True)
    table.add_column("claim and why" if wide else "verdict, effect [95 %], claim and why", ratio=1)
    if wide:
        table.add_column("effect [95 %]", justify="right")
    for finding in claimed.findings:
        mark = Text(
            f"{words.VERDICT_MARKS[finding.verdict]} {finding.verdict}", COLOURS[finding.verdict]
        )
        text = Text.assemble((finding.text, "bold"), f"\n{finding.why}")
        if finding.of and finding.effect is not None:
            text.append(f"\neffect: {finding.of}; rule: {finding.rule}", "dim")
            if finding.published is not None:
                paper = words.published(finding.published, finding.unit)
                text.append(f"; the paper's: {paper}", "dim")
        if finding.doubts:
            doubts = "; ".join(doubt.text for doubt in finding.doubts)
            text.append(f"\ndoubts: {doubts}", "yellow")
        effect = words.with_interval(finding.effect, finding.interval, finding.unit)
        if finding.emulated and finding.effect is not None:
            effect = f"{effect}\nemulated" if wide else f"{effect} emulated"
        if wide:
            table.add_row(mark, text, effect)
        else:
            table.add_row(Text.assemble(mark, f"  {effect}\n" if effect != "–" else "\n", text))
    return table


def _json(finding: Finding) -> JsonObject:
    return {
        "id": finding.id,
        "text": finding.text,
        "paper": finding.claimed_by or None,
        "source": finding.place,
        "sentence": finding.sentence,
        "verdict": finding.verdict,
        "why": finding.why,
        "effect": finding.effect,
        "effect_of": finding.of,
        "interval": interval(finding.interval),
        "unit": finding.unit,
        "rule": finding.rule,
        "published": finding.published,
        "criteria": [_criterion(criterion) for criterion in finding.criteria],
        "doubts": [asdict(doubt) for doubt in finding.doubts],
        "after_data": finding.after_data,
    }


def _criterion(judged: JudgedCriterion) -> JsonObject:
    return {
        "effect_of": judged.quantity,
        "unit": judged.unit,
        "rule": judged.rule,
        "holds": judged.stand,
        "scenarios": [
            {
                "name": scenario.name,
                "effect": scenario.effect if isfinite(scenario.effect) else None,
                "interval": interval(scenario.interval),
                "published": scenario.published,
                "holds": scenario.stand,
                "aside": scenario.aside,
            }
            for scenario in judged.scenarios
        ],
    }
