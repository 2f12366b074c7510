"""Tables of the nodes' work in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from delaylab.report.terminal_layers import WIDE
from delaylab.report.work import MESSAGES, NOTE, Part

# Largest number of works, each of one group, that are shown with their nodes.
SHOWN = 8


def work_tables(found: Sequence[Part], width: int) -> Iterator[Table | Text]:
    """Yield a table for each work of a group, and a line for each of those beyond `SHOWN`."""
    for number, part in enumerate(found[:SHOWN]):
        yield _table(part, width, last=number == len(found[:SHOWN]) - 1)
        yield from (Text(f"{line}.", "dim") for line in part.domains)
        yield from _findings(part)
    for part in found[SHOWN:]:
        yield Text.assemble((f"{part.trials}: {part.work}", "bold"), f": {part.said}")
    for part in found:
        yield from (Text(f"work {part.work} of {part.trials}: {why}", "red") for why in part.failed)


def _findings(part: Part) -> Iterator[Table]:
    """Yield the tables of what a program of MPI found, if it was one."""
    if part.messages:
        caption = Text(MESSAGES, "dim italic")
        table = Table(title=f"Messages of {part.work}: {part.trials}", caption=caption)
        table.title_justify = table.caption_justify = "left"
        for head in ("operation", "size", "median", "least"):
            table.add_column(head, justify="left" if head == "operation" else "right")
        for each in part.messages:
            table.add_row(each.operation, each.size, each.median, each.least)
        yield table
    if part.figures:
        table = Table(title=f"Figures of {part.work}: {part.trials}", title_justify="left")
        table.add_column("figure")
        table.add_column("value", justify="right")
        for figure in part.figures:
            table.add_row(figure.name, figure.value)
        yield table


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
