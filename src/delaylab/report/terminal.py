"""A study in the terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from delaylab.analysis.claims import Finding
from delaylab.analysis.doubts import Doubt
from delaylab.analysis.findings import findings
from delaylab.analysis.group import Group, groups
from delaylab.analysis.statistics import Summary
from delaylab.dataset import Study, read_study
from delaylab.report import words

COLOURS = {"reproduced": "green", "not reproduced": "red", "not testable here": "yellow"}
ARROWS = {"sending": "→", "receiving": "←", "remote": "↻"}


def print_study(console: Console, directory: Path) -> None:
    """Print a study: delay per layer and direction, claims, warnings with remedies."""
    study = read_study(directory)
    found = list(groups(study))
    machine = study.record.machine
    console.print(f"[bold]{escape(study.record.title)}[/]  {escape(study.record.study)}")
    console.print(
        f"{machine.hostname}, {machine.cpu}, {machine.cores} cores, Linux {machine.kernel}",
        style="dim",
        highlight=False,
    )
    for group in found:
        console.print(layer_table(group))
    if study.record.claims:
        console.print(claims_table(findings(study, found)))
    _print_doubts(console, found)
    _print_unfinished(console, study)


def layer_table(group: Group) -> Table:
    """Return the delay per layer and direction of one group, in the order of the packet's way."""
    table = Table(title=_title(group), title_justify="left", expand=False)
    table.add_column("layer (→ sending, ← receiving, ↻ remote)", min_width=40)
    for name in ("n", "median", "p90", "p99", "max"):
        table.add_column(name, justify="right", min_width=8)
    for part in group.segments:
        mark = " (merged)" if part.merged else ""
        _row(table, f"{ARROWS[part.direction]} {part.layer}{mark}", part.delay)
    table.add_section()
    for name, text in (("app", "user RTT"), ("stack", "kernel RTT"), ("wire", "wire RTT")):
        if name in group.rtt:
            _row(table, text, group.rtt[name], "bold")
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
        table.add_row(Text(mark, COLOURS[finding.verdict]), text, words.effect(finding))
    return table


def _title(group: Group) -> str:
    n = sum(group.account.outcomes.values())
    lost = sum(group.account.lost_after.values())
    return f"{escape(group.label)}: {n} packets, {lost} lost; one-way delays, then RTTs"


def _row(table: Table, name: str, delays: Summary, style: str | None = None) -> None:
    values = (delays.median, delays.p90, delays.p99)
    table.add_row(
        name,
        str(delays.n),
        *(words.quantile(value) for value in values),
        words.delay(delays.max),
        style=style,
    )


def _print_doubts(console: Console, found: list[Group]) -> None:
    together: dict[Doubt, list[str]] = {}
    for group in found:
        for doubt in group.doubts:
            together.setdefault(doubt, []).append(group.label)
    for doubt, where in together.items():
        console.print(f"[yellow]warning[/] {escape('; '.join(where))}: {escape(doubt.message)}")
        console.print(f"  [dim]{escape(doubt.remedy)}[/]", highlight=False)


def _print_unfinished(console: Console, study: Study) -> None:
    for trial in study.trials:
        if trial.status != "ok":
            reason = escape(trial.reason or "no reason recorded")
            console.print(f"[red]{trial.status}[/] {escape(trial.id)}: {reason}")
