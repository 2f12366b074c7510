"""Tables of the nodes' work in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from delaylab.report.terminal_layers import WIDE
from delaylab.report.work import NOTE, Part

# Largest number of works, each of one group, that are shown with their nodes.
SHOWN = 8


def work_tables(found: Sequence[Part], width: int) -> Iterator[Table | Text]:
    """Yield a table for each work of a group, and a line for each of those beyond `SHOWN`."""
    for number, part in enumerate(found[:SHOWN]):
        yield _table(part, width, last=number == len(found[:SHOWN]) - 1)
    for part in found[SHOWN:]:
        yield Text.assemble((f"{part.trials}: {part.work}", "bold"), f": {part.said}")
    for part in found:
        yield from (Text(f"work {part.work} of {part.trials}: {why}", "red") for why in part.failed)


def _table(part: Part, width: int, *, last: bool) -> Table:
    wide = width >= WIDE
    caption = f"{part.said}." + (f"\n{NOTE}" if last else "")
    table = Table(
        title=f"Work {part.work}: {part.trials}",
        caption=Text(caption, "dim italic"),
        title_justify="left",
        caption_justify="left",
    )
    heads = ["getrusage", "cgroup", "longest stop"]
    table.add_column("node", overflow="fold")
    for head in ("share", "rate", "time", *(heads if wide else ["\n".join(heads)])):
        table.add_column(head, justify="right")
    for row in part.rows:
        rest = [row.own_cpu, row.host_cpu, row.stop]
        table.add_row(
            row.node, row.share, row.rate, row.time, *(rest if wide else ["\n".join(rest)])
        )
    return table
