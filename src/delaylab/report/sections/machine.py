"""State of the machine by phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from delaylab.analysis.doubts.machine_state import MachineState
from delaylab.analysis.group import Group
from delaylab.charts import words
from delaylab.dataset.records.trial import TrialRecord
from delaylab.io.values import JsonObject
from delaylab.report.sections.section import Html, Report

# Largest number of groups whose phases the terminal shows.
SHOWN = 8


def terminal(report: Report, width: int) -> Iterator[Table]:
    """Yield the state by phase where no packets tell of it."""
    if found := [group for group in report.groups if not group.probed]:
        yield _table(found)


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return the state of the machine, None if the trial failed; and of others, if there are."""
    others = group.machine.others if group else {}
    return {
        "machine_state": asdict(group.machine.state) if group else None,
        **({"other_machines": {k: asdict(each) for k, each in others.items()}} if others else {}),
    }


def html(report: Report) -> Html:
    """Return the state of each machine, with the label of its group."""
    return Html({"states": [each for group in report.groups for each in _states(group)]})


def _states(group: Group) -> Iterator[tuple[str, MachineState]]:
    """Yield the state of each machine of a group, with the group's label and the other machine."""
    yield group.label, group.machine.state
    for name, state in group.machine.others.items():
        yield f"{group.label}, on {name}", state


def _table(groups: Sequence[Group]) -> Table:
    more = len(groups) - SHOWN
    note = (
        "Means over each phase. Busy and stolen: shares of all CPUs' time. Softirq: the part of "
        "busy that was the kernel's work for network and timers. Waiting: some task waited for a "
        "CPU. Outside: CPUs that were busy with work outside the lab."
    )
    rest = f" {more} more groups are in the report." if more > 0 else ""
    table = Table(
        title="The machine",
        caption=Text(note + rest, "dim italic"),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("trials", overflow="fold")
    table.add_column("phase", overflow="fold")
    for head in ("busy", "softirq", "stolen", "waiting", "outside"):
        table.add_column(head, justify="right")
    for label, state in (each for group in groups[:SHOWN] for each in _states(group)):
        for number, phase in enumerate(state.phases):
            outside = "–" if phase.foreign_cpus is None else f"{phase.foreign_cpus:.2f}"
            found = phase.busy, phase.softirq, phase.steal, phase.pressure
            shares = (words.share(each) for each in found)
            table.add_row("" if number else label, phase.phase, *shares, outside)
    return table
