"""Verdicts on the claims of papers, and of the study itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from math import isfinite

from delaylab.api.files import JsonObject
from delaylab_study.analysis.claims.finding import Finding, JudgedCriterion, Scenario, Verdict
from delaylab_study.charts import words
from delaylab_study.papers.findings import Claimed
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.forest import NOTE as DRAWN
from delaylab_study.report.forest import ClaimDrawing, forest
from delaylab_study.report.sections.section import Report, interval
from delaylab_study.report.style import style_sheet

AFTER = (
    "These claims were chosen when the data were there, so a verdict explores and does not "
    "confirm. To confirm them, put them into the study file and run it again."
)
EFFECT = (
    "The effect is that of the scenario on which the verdict rests, with its 95 % interval. A claim"
)
OPEN = (
    "if the machine did other work, lost time to a hypervisor or had its clock set in over a "
    "quarter of the claim's trials. In the drawings a dot is the effect in one scenario"
)
REPRODUCED = (
    "is reproduced if the interval keeps the rule, contradicted if it lies wholly beyond, and open "
    f"if it reaches across, or {OPEN} here, with its 95 % interval; "
)
HOLDS = (
    "holds if the interval keeps the rule and does not hold if the interval lies wholly beyond. It "
    f"is open if the interval reaches across, or {OPEN}, with its 95 % interval; "
)
TONES: dict[Verdict, v.Tone] = {
    "reproduced": "good",
    "contradicted": "bad",
    "holds": "good",
    "does not hold": "bad",
    "open": "open",
    "not testable here": "open",
}
COLUMNS = (
    v.Column("verdict", "label", v.WIDE, long="whole"),
    v.Column("claim and why", "label", v.WIDE, ratio=1),
    v.Column("verdict, effect [95 %], claim and why", "label", v.NARROW, ratio=1),
    v.Column("effect [95 %]", on=v.WIDE),
)


def section(report: Report) -> v.Section:
    """Return the verdicts on the claims of each paper, and on the study's own."""
    return v.Section("claims", [part for claimed in report.claims for part in _claims(claimed)])


def _claims(claimed: Claimed) -> Iterator[v.Part]:
    after = ", chosen after the data" if claimed.after_data else ""
    title = f"Claims of {claimed.name or 'this study'}{after}"
    yield v.Heading(title, 2)
    yield v.note(_note(claimed))
    if claimed.after_data:
        yield v.note((v.Span(AFTER, "strong"),))
    yield v.Block([_judged(finding, claimed) for finding in claimed.findings], "claims")
    caption = AFTER if claimed.after_data else ""
    rows = [_row(finding) for finding in claimed.findings]
    yield v.Table(COLUMNS, rows, title, caption, lined=True, key="claims", on=v.TERMINAL)


def _note(claimed: Claimed) -> v.Words:
    after = claimed.after_data
    shaded = f"the shaded part is where the rule holds. {DRAWN}"
    if claimed.name:
        of = claimed.paper.citation if claimed.paper else claimed.name
        rule = "" if after else "Each has a rule, fixed before the data are looked at. "
        said = f"Sentences of {of}, as tests on this dataset. {rule}{EFFECT} {REPRODUCED}"
        return (said, v.Span("◆", "sign"), f" is the paper's own; {shaded}")
    rule = "" if after else "Each has a rule, which was in the file before the study ran. "
    said = f"Sentences of {'another' if after else 'the study'} file, as tests on this dataset. "
    return f"{said}{rule}{EFFECT} {HOLDS}{shaded}"


def _judged(finding: Finding, claimed: Claimed) -> v.Judged:
    effect = paper = ""
    if finding.effect is not None:
        effect = words.with_interval(
            finding.effect, finding.interval, finding.unit, is_difference=finding.is_difference
        )
    if finding.published is not None:
        paper = _published(finding)
    return v.Judged(
        verdict=finding.verdict,
        words=finding.text,
        quoted=(finding.sentence, finding.place),
        effect=effect,
        emulated=finding.emulated,
        published=paper,
        parts=[*_reasons(finding, claimed)],
    )


def _published(finding: Finding) -> str:
    """Return the published value of the effect with its source, for a reader."""
    value = words.published(finding.published, finding.unit, is_difference=finding.is_difference)
    return f"{finding.published_in or 'paper'}: {value}"


def _reasons(finding: Finding, claimed: Claimed) -> Iterator[v.Part]:
    rules = [v.Line(f"{each.quantity}: {each.rule}") for each in finding.criteria]
    for number, (judged, rule) in enumerate(zip(finding.criteria, rules, strict=True), start=1):
        yield rule
        name = f"claim-{finding.id}" + (f"-{number}" if number > 1 else "")
        name += "-after-data" if claimed.after_data else ""
        drawn = any(isfinite(scenario.effect) for scenario in judged.scenarios)
        drawing = ClaimDrawing(name, judged, style_sheet()) if drawn else None
        yield v.Picture(partial(forest, judged), drawing)
    yield v.Line(finding.why)
    if rules:
        tables = [_scenarios(finding, judged) for judged in finding.criteria]
        pairs = zip(rules, tables, strict=True)
        yield v.unfolded("Each scenario", [part for pair in pairs for part in pair])
    if finding.doubts:
        doubts = "; ".join(doubt.text for doubt in finding.doubts)
        yield v.Line(f"Doubts: {doubts}", style="doubted")


def _scenarios(finding: Finding, judged: JudgedCriterion) -> v.Table:
    own, theirs, unit = finding.own, finding.published_in, _unit(judged.unit)
    effect = written.effect_of_claim(is_difference=judged.is_difference)
    paper = written.published(is_difference=judged.is_difference)
    columns = (
        v.Column("scenario", "text", key="name"),
        v.Column("effect [95 %]"),
        v.Column(theirs or "paper", on=() if own and not theirs else v.ALL),
        v.Column("says"),
    )
    rows: list[v.Row] = [
        [
            scenario.name,
            (v.Value("effect", scenario.effect, unit, scenario.interval, how=effect),),
            (v.Value("published", scenario.published, unit, how=paper),),
            (
                v.Value("holds", scenario.stand, how=written.said(_says(scenario, own=own))),
                *v.unseen(v.Value("aside", scenario.aside)),
            ),
        ]
        for scenario in judged.scenarios
    ]
    of = {"id": finding.id, "effect_of": judged.quantity, "unit": unit, "rule": judged.rule}
    return v.Table(columns, rows, key="scenarios", share=v.values(of))


def _says(scenario: Scenario, *, own: bool) -> str:
    return "aside" if scenario.aside else words.stand(scenario.stand, own)


def _row(finding: Finding) -> v.Row:
    said: list[str | v.Span] = [v.Span(finding.text, "strong"), f"\n{finding.why}"]
    if finding.of and finding.effect is not None:
        of = f"\neffect: {finding.of}; rule: {finding.rule}"
        if finding.published is not None:
            of += f"; {_published(finding)}"
        said.append(v.Span(of, "faint"))
    if finding.doubts:
        doubts = "; ".join(doubt.text for doubt in finding.doubts)
        said.append(v.Span(f"\ndoubts: {doubts}", "open"))
    mark = v.Span(
        f"{words.VERDICT_MARKS[finding.verdict]} {finding.verdict}", TONES[finding.verdict]
    )
    effect = _effect(finding)
    emulated = "emulated" if finding.emulated and finding.effect is not None else ""
    known = emulated or written.written(effect) != written.DASH
    beside = ("  ", effect, f" {emulated}".rstrip()) if known else ()
    folded = (mark, *beside, "\n", *said)
    return [
        (mark, *v.unseen(*_facts(finding))),
        tuple(said),
        folded,
        (effect, f"\n{emulated}".rstrip()),
    ]


def _effect(finding: Finding) -> v.Value:
    doubts = tuple(doubt.text for doubt in finding.doubts)
    interval, unit = finding.interval or v.UNKNOWN, _unit(finding.unit)
    how = written.effect_of_claim(is_difference=finding.is_difference)
    return v.Value("effect", finding.effect, unit, interval, doubts, how)


def _facts(finding: Finding) -> tuple[v.Value, ...]:
    """Return what else a claim is and has, for scripts."""
    unit = _unit(finding.unit)
    facts = {
        "id": finding.id,
        "text": finding.text,
        "paper": finding.claimed_by or None,
        "source": finding.place,
        "verdict": finding.verdict,
        "why": finding.why,
        "effect_of": finding.of,
        "rule": finding.rule,
        "unit": unit,
        "after_data": finding.after_data,
        "emulated": finding.emulated,
    }
    source = v.Value("published_in", finding.published_in or None)
    return (*v.values(facts), v.Value("published", finding.published, unit), source)


def _unit(of_claim: str) -> str:
    """Return the unit of a claim's effect as in all tables."""
    return "us" if of_claim == "µs" else of_claim


def study_json(report: Report) -> JsonObject:
    """Return the verdict on each claim."""
    return {"claims": [_json(finding) for finding in report.findings]}


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
        "published_in": finding.published_in or None,
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
