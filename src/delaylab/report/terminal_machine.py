"""State of the machine in the terminal, and what loads did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from delaylab.analysis.group import Group
from delaylab.analysis.treatments.check import checks
from delaylab.charts import words

# Largest number of groups whose phases are shown.
SHOWN = 8


def machine_parts(groups: Sequence[Group]) -> Iterator[Table | Text]:
    """Yield the machine's state by phase where no packets tell of it, and a line for each check.

    Where there are packets, only checks that failed have a line: the report has all.
    """
    without_packets = [group for group in groups if not group.probed]
    if without_packets:
        yield _table(without_packets)
    for group in groups:
        for check in checks(group):
            if not check.acted:
                yield Text(f"{group.label}: {check.failure}: {check.text}", "red")
            elif not group.probed:
                yield Text(f"load of {group.label} acted: {check.text}", "dim")


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
    for group in groups[:SHOWN]:
        for number, phase in enumerate(group.machine.state.phases):
            outside = "–" if phase.foreign_cpus is None else f"{phase.foreign_cpus:.2f}"
            found = phase.busy, phase.softirq, phase.steal, phase.pressure
            shares = (words.share(each) for each in found)
            table.add_row("" if number else group.label, phase.phase, *shares, outside)
    return table
