"""Report of a study in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from delaylab.analysis.claims.claim import Finding
from delaylab.analysis.group import Group, SegmentSummary, groups
from delaylab.analysis.statistics.quantiles import Summary
from delaylab.analysis.usable import usable
from delaylab.charts import words
from delaylab.dataset.store import Study, read_study
from delaylab.papers.findings import findings, repeated
from delaylab.papers.paper import Paper
from delaylab.report.arrange import (
    Panel,
    cost_by_kind,
    doubts_by_kind,
    layer_names,
    panels,
    segment_key,
    usual,
)
from delaylab.report.links import Links, links

COLOURS = {
    "reproduced": "green",
    "not reproduced": "red",
    "open": "yellow",
    "not testable here": "yellow",
}
TITLE, CAPTION = "italic", "dim italic"
# Number of groups side by side in a terminal of 100 columns.
COLUMNS = 3
# Largest number of groups of one panel that are shown layer by layer.
LAYERED = 12
TRIPS = (("app", "user RTT"), ("stack", "kernel RTT"), ("wire", "wire RTT"))
CLOCKS = " ±: what aligning two clocks leaves open."
# Largest number of links' directions that are shown.
LINKS = 12
# Largest number of doubts of one kind that are printed in full.
SHOWN = 2
ARROWS = {"sending": "→", "receiving": "←"}
# Beyond the sender's side, by the segment's leg.
REMOTE = {"request": "⇢", "reply": "⇠", "turn": "↻"}
ARROWS_SAID = "One way: → sending, ← receiving; beyond the sender's side: ⇢ there, ↻ turn, ⇠ back."


def print_study(console: Console, given: Path | Study, paper: Paper | None = None) -> None:
    """Print a study: delay per layer and direction, claims, warnings with remedies.

    `paper` is the paper to report instead of the one that the study names.
    """
    study = given if isinstance(given, Study) else read_study(given)
    found = list(groups(study))
    with usable(str(study.directory)):
        parts = list(_parts(study, found, paper))
    for part in parts:
        console.print(part)


def _parts(study: Study, found: list[Group], paper: Paper | None) -> Iterator[Text | Table]:
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
        yield from [trips_table(panel)] if many else layer_tables(panel)
    if study.record.claims:
        yield claims_table(findings(study, found, paper))
    carried = links(found)
    if carried is not None:
        yield links_table(carried)
    yield from _cost(found)
    yield from _doubts(found)
    yield from _unfinished(study)


def layer_tables(panel: Panel) -> Iterator[Table]:
    """Yield the delays per layer and direction of one panel, `COLUMNS` groups a table."""
    for first in range(0, len(panel.groups), COLUMNS):
        chosen = slice(first, first + COLUMNS)
        yield _layer_table(panel.title, panel.groups[chosen], panel.labels[chosen])


def trips_table(panel: Panel) -> Table:
    """Return the round trips of a panel with too many groups to show each layer by layer."""
    table = Table(
        title=Text(f"{panel.title}: round trips, median / p99", TITLE),
        caption="Layer by layer in the report.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("trials", ratio=1)
    for name in ("n, lost", *(text for _, text in TRIPS)):
        table.add_column(name, justify="right")
    for group, label in zip(panel.groups, panel.labels, strict=True):
        cells = [_cell(group.rtt.get(name)) for name, _ in TRIPS]
        table.add_row(Text(label), _count(group), *cells)
    return table


def _layer_table(title: str, chosen: list[Group], labels: list[str]) -> Table:
    table = Table(
        title=Text(f"{title}: delay per layer, median / p99", TITLE),
        caption=f"{ARROWS_SAID} RTT: round trip."
        + (CLOCKS if any(part.bound_us for g in chosen for part in g.segments) else ""),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("layer", min_width=28)
    for group, label in zip(chosen, labels, strict=True):
        table.add_column(
            Text(f"{label}\n{_count(group)}"), justify="right", min_width=17, no_wrap=True
        )
    parts = [{segment_key(p): p for p in usual(group)} for group in chosen]
    names = layer_names(chosen)
    for key, part in {key: part for found in parts for key, part in found.items()}.items():
        cells = [_bounded_cell(found.get(key)) for found in parts]
        arrow = ARROWS.get(part.direction, REMOTE[part.leg])
        table.add_row(Text(f"{arrow} {names[key]}"), *cells)
    table.add_section()
    for name, text in TRIPS:
        if any(name in group.rtt for group in chosen):
            table.add_row(text, *(_cell(group.rtt.get(name)) for group in chosen), style="bold")
    return table


def links_table(found: Links) -> Table:
    """Return configured and achieved conditions of links; those that did not hold come first."""
    more = len(found.rows) - LINKS
    rest = f" {more} more rows are in the report." if more > 0 else ""
    table = Table(
        title="Links with conditions: one way, what one node sends",
        caption=Text(found.summary + rest, CAPTION),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("link, trials, configured", ratio=1)
    table.add_column("late, p50 / p99", justify="right")
    table.add_column("probe, p50 / p99", justify="right")
    table.add_column("verdict", ratio=1)
    for row in found.rows[:LINKS]:
        head = Text.assemble((row.link, "bold"), f" {row.trials}\n{row.configured}")
        verdict = Text(row.verdict, "green" if row.held else "yellow")
        achieved = [part for part in (row.chances, row.rate) if part != "–"]
        verdict.append("".join(f"\n{part}" for part in achieved), "default")
        table.add_row(head, Text(row.late), Text(row.probe), verdict)
    return table


def claims_table(found: list[Finding]) -> Table:
    """Return the claims with their verdicts, effects and reasons."""
    table = Table(title="Claims", title_justify="left", show_lines=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("claim and why", ratio=1)
    table.add_column("effect [95 %]", justify="right")
    for finding in found:
        mark = f"{words.VERDICT_MARKS[finding.verdict]} {finding.verdict}"
        text = Text.assemble((finding.text, "bold"), f"\n{finding.why}")
        if finding.doubts:
            text.append(f"\ndoubts: {words.doubts(finding)}", "yellow")
        table.add_row(Text(mark, COLOURS[finding.verdict]), text, words.effect(finding))
    return table


def _count(group: Group) -> str:
    lost = sum(group.account.lost_after.values())
    answered = group.rtt["app"].n if "app" in group.rtt else 0
    return f"n {answered}, lost {lost}"


def _bounded_cell(part: SegmentSummary | None) -> str:
    bound = f" ±{words.delay(part.bound_us)}" if part and part.bound_us else ""
    return _cell(part.delay if part else None) + bound


def _cell(delays: Summary | None) -> str:
    if delays is None:
        return "–"
    return f"{words.quantile(delays.median)} / {words.quantile(delays.p99)}"


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
        if cost.added:
            said = f"{kind}: the taps add to the median user RTT at rest: {words.cost(cost)}"
            yield Text(said, "dim")


def _unfinished(study: Study) -> Iterator[Text]:
    for trial in study.trials:
        if trial.status != "ok":
            reason = trial.reason or "no reason recorded"
            yield Text.assemble((trial.status, "red"), f" {trial.id}: {reason}")
