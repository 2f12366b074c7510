"""Report of a study in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.table import Table
from rich.text import Text

from delaylab.analysis.analyse import Analysed, analysed
from delaylab.analysis.claims.finding import Verdict
from delaylab.analysis.group import Group
from delaylab.analysis.usable import usable
from delaylab.charts import words
from delaylab.dataset.store import Study, resume_command
from delaylab.papers.findings import Claimed, by_claimant, findings, repeated
from delaylab.papers.paper import Paper
from delaylab.progress import Progress, silent
from delaylab.report import scaling
from delaylab.report.arrange import (
    cost_by_kind,
    doubts_by_kind,
    missing_trials,
    panels,
    probed,
)
from delaylab.report.fates import NOTE as FATES
from delaylab.report.fates import NOTHING, Fate, fates
from delaylab.report.links import Links, links
from delaylab.report.outages import outage_lines
from delaylab.report.slowest import NOTE, Row, slowest
from delaylab.report.terminal_layers import WIDE, layer_tables, trips_table
from delaylab.report.terminal_machine import machine_parts
from delaylab.report.terminal_scaling import scaling_tables
from delaylab.report.terminal_work import work_tables
from delaylab.report.work import parts

COLOURS: dict[Verdict, str] = {
    "reproduced": "green",
    "contradicted": "red",
    "holds": "green",
    "does not hold": "red",
    "open": "yellow",
    "not testable here": "yellow",
}
CAPTION = "dim italic"
# Largest number of groups of one panel that are shown layer by layer.
LAYERED = 12
# Largest number of links' directions that are shown.
LINKS = 12
# Largest number of phases whose packets' fates are shown.
FATED = 12
# Largest number of doubts of one kind that are printed in full.
SHOWN = 2


def study_parts(
    given: Path | Study | Analysed,
    width: int,
    paper: Paper | None = None,
    progress: Progress = silent,
) -> list[Text | Table]:
    """Return a study to print: delay per layer and direction, work, claims, doubts with remedies.

    Nothing is said of packets if none were sent.

    `width` is the terminal's, in columns. `paper` is the paper to report instead of the one that
    the study names. Raise `BadInput` for a damaged dataset.
    """
    found = analysed(given, progress)
    with usable(str(found.study.directory)):
        return list(_parts(found.study, found.groups, width, paper))


def _parts(
    study: Study, found: list[Group], width: int, paper: Paper | None
) -> Iterator[Text | Table]:
    """Yield the parts of the report, from top to bottom."""
    machine = study.record.machine
    yield Text.assemble((study.record.title, "bold"), f"  {study.record.study}")
    system = words.system(machine.kernel)
    about = f"{machine.hostname}, {machine.cpu}, {machine.cores} cores, {system}"
    yield Text(about, "dim")
    if note := repeated(study.record, paper).note:
        yield Text(f"note: {note}", "yellow")
    for panel in panels(found):
        many = len(panel.groups) > LAYERED
        yield from [trips_table(panel, width)] if many else layer_tables(panel, width)
    yield from work_tables(parts(found), width)
    yield from scaling_tables(scaling.parts(study, found))
    strays = fates(found)
    if strays:
        yield fates_table(strays)
    elif probed(found):
        yield Text(NOTHING, "dim")
    yield from (Text(f"outage: {line}", "yellow") for line in outage_lines(found))
    if study.record.claims:
        for claimed in by_claimant(findings(study, found, paper), paper):
            yield claims_table(claimed, width)
    carried = links(found)
    if carried is not None:
        yield links_table(carried, width)
        yield from (Text(f"not held, {why}", "yellow") for why in carried.engines)
    if rows := slowest(found):
        yield slowest_table(rows, width)
    yield from machine_parts(found)
    yield from _cost(found)
    yield from _doubts(found)
    yield from _unfinished(study)


def links_table(found: Links, width: int) -> Table:
    """Return configured and achieved conditions of links; those that did not hold come first."""
    more = len(found.rows) - LINKS
    rest = f" {more} more rows are in the report." if more > 0 else ""
    wide = width >= WIDE
    table = Table(
        title="Links with conditions: one way, what one node sends",
        caption=Text(found.summary + rest, CAPTION),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("link, trials, configured", ratio=1, overflow="fold")
    if wide:
        table.add_column("late, p50 / p99", justify="right")
        table.add_column("probe, p50 / p99", justify="right")
    table.add_column("verdict" if wide else "p50 / p99, verdict", ratio=1, overflow="fold")
    for row in found.rows[:LINKS]:
        head = Text.assemble((row.link, "bold"), f" {row.trials}\n{row.configured}")
        verdict = Text(row.verdict, "green" if row.held else "yellow")
        achieved = [part for part in (row.chances, row.rate) if part != "–"]
        verdict.append("".join(f"\n{part}" for part in achieved), "default")
        if wide:
            table.add_row(head, Text(row.late), Text(row.probe), verdict)
        else:
            table.add_row(head, Text.assemble(f"late {row.late}\nprobe {row.probe}\n", verdict))
    return table


def fates_table(rows: list[Fate]) -> Table:
    """Return what happened to packets that got no normal answer, by phase and leg."""
    more = len(rows) - FATED
    rest = f" {more} more phases are in the report." if more > 0 else ""
    table = Table(
        title="Packets by phase",
        caption=Text(FATES + rest, CAPTION),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("trials, phase", ratio=2, overflow="fold")
    table.add_column("sent", justify="right", no_wrap=True)
    table.add_column("answered", justify="right", no_wrap=True)
    table.add_column("what else", ratio=3, overflow="fold")
    for row in rows[:FATED]:
        head = Text.assemble((row.trials, "bold"), f"\n{row.phase}")
        table.add_row(head, str(row.sent), str(row.answered), Text(row.else_))
    return table


def slowest_table(rows: list[Row], width: int) -> Table:
    """Return the slowest packets with the segments that they lost their time in."""
    wide = width >= WIDE
    table = Table(
        title="The slowest packets",
        caption=Text(NOTE, CAPTION),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("trials, packet", ratio=2, overflow="fold")
    if wide:
        table.add_column("user RTT (median)", justify="right")
    table.add_column("lost in" if wide else "user RTT (median), lost in", ratio=3, overflow="fold")
    for row in rows:
        head = Text.assemble((row.trials, "bold"), f"\nseq {row.packet}")
        rtt = f"{row.rtt} ({row.usual})"
        lost = f"{row.lost} in {row.layer}\nmachine: {row.machine}"
        table.add_row(head, *([rtt, lost] if wide else [f"{rtt}\n{lost}"]))
    return table


def claims_table(claimed: Claimed, width: int) -> Table:
    """Return the claims of a paper, or of the study, with their verdicts, effects and reasons."""
    wide = width >= WIDE
    title = f"Claims of {claimed.name or 'this study'}"
    table = Table(title=title, title_justify="left", show_lines=True)
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
            text.append(f"\ndoubts: {words.doubts(finding)}", "yellow")
        effect = words.effect(finding)
        if finding.emulated and finding.effect is not None:
            effect = f"{effect}\nemulated" if wide else f"{effect} emulated"
        if wide:
            table.add_row(mark, text, effect)
        else:
            table.add_row(Text.assemble(mark, f"  {effect}\n" if effect != "–" else "\n", text))
    return table


def _doubts(found: list[Group]) -> Iterator[Text]:
    for doubts in doubts_by_kind(found):
        for label, message in doubts.seen[:SHOWN]:
            yield Text.assemble((doubts.kind, "yellow"), f" {label}: {message}")
        more = len(doubts.seen) - SHOWN
        if more > 0:
            yield Text(f"  and {more} more of this kind", "dim")
        for remedy in doubts.remedies[:SHOWN]:
            yield Text(f"  to do: {remedy}", "dim")


def _cost(found: list[Group]) -> Iterator[Text]:
    for kind, cost in cost_by_kind(found).items():
        if cost.added or cost.untapped_n:
            said = f"{kind}: the taps add to the user RTT at rest: {words.cost(cost)}"
            yield Text(said, "dim")


def _unfinished(study: Study) -> Iterator[Text]:
    for trial in study.trials:
        if trial.status != "ok":
            reason = trial.reason or "no reason recorded"
            yield Text.assemble((trial.status, "red"), f" {trial.id}: {reason}")
    missing = len(missing_trials(study))
    if missing:
        yield Text(f"not run: {missing} of {len(study.record.planned)} trials", "red")
        yield Text(f"  to do: {resume_command(study.directory)}", "dim")
