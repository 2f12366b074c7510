"""Tables of work over the number of nodes in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from delaylab.report.scaling import NOTE, Part

# Largest number of series that are shown with their numbers of nodes.
SHOWN = 6


def scaling_tables(found: Sequence[Part]) -> Iterator[Table | Text]:
    """Yield a table for each series with a law, and lines for others and those beyond `SHOWN`."""
    tables = [part for part in found if part.rows][:SHOWN]
    for part in tables:
        yield _table(part, last=part is tables[-1])
    for part in found:
        if part not in tables:
            yield Text.assemble((f"Scaling of {part.title}", "bold"), f": {' '.join(part.said)}")


def _table(part: Part, *, last: bool) -> Table:
    table = Table(
        title=f"Scaling of {part.title}",
        caption=Text("\n".join([*part.said, *([NOTE] if last else [])]), "dim italic"),
        title_justify="left",
        caption_justify="left",
    )
    for head in ("nodes", f"T(N): {part.of}", "law", "residual"):
        table.add_column(head, justify="right", overflow="fold")
    for row in part.rows:
        table.add_row(row.nodes, row.time, row.law, row.residual)
    return table
