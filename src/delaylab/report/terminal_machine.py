"""State of the machine and of the loads in the terminal, for trials without packets."""

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
    """Yield a table of the machine by phase, and a line for each check of a load."""
    if groups:
        yield _table(groups)
    for group in groups:
        for check in checks(group):
            style = "dim" if check.acted else "red"
            acted = "acted" if check.acted else "did not act"
            yield Text(f"load of {group.label} {acted}: {check.text}", style)


def _table(groups: Sequence[Group]) -> Table:
    more = len(groups) - SHOWN
    note = (
        "Means over each phase. Busy and stolen: shares of all CPUs' time. Waiting: some task "
        "waited for a CPU. Outside: CPUs that were busy for none of the lab's nodes and hosts."
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
    for head in ("busy", "stolen", "waiting", "outside"):
        table.add_column(head, justify="right")
    for group in groups[:SHOWN]:
        for number, phase in enumerate(group.machine.phases):
            outside = "–" if phase.foreign_cpus is None else f"{phase.foreign_cpus:.2f}"
            shares = (words.share(each) for each in (phase.busy, phase.steal, phase.pressure))
            table.add_row("" if number else group.label, phase.phase, *shares, outside)
    return table
