"""Graph of a lab with box-drawing characters."""

from __future__ import annotations

from collections.abc import Iterator

from delaylab.drawing.layout import DrawnLink, Graph

TOO_WIDE = "the links' lines need {} columns; a wider terminal or --svg FILE shows them"


def lines(graph: Graph, width: int) -> Iterator[str]:
    """Yield the drawing line by line, then the links with their conditions.

    Where the links' lines do not fit, they are left out, and a line says so.
    """
    texts = [(n.name, n.about) for nodes in graph.hosts.values() for n in nodes]
    names = max(len(name) for name, _ in texts)
    inner = max(
        *(names + 2 + len(about) for _, about in texts),
        *(len(host) + 1 for host in graph.hosts),
    )
    cell = len(str(len(graph.links))) + 2
    needed = inner + 4 + graph.lanes * cell
    drawn = graph.links if needed <= width else []
    yield f"lab {graph.lab}"
    last = -1
    for host, nodes in graph.hosts.items():
        passing = _cells(drawn, None, last, cell)
        yield f"┌ {host} {'─' * (inner + 1 - len(host) - 1)}┐{passing}".rstrip()
        for node in nodes:
            text = f"{node.name:<{names}}  {node.about}"
            cells = _cells(drawn, node.row, node.row, cell)
            joined = any(node.row in link.rows for link in drawn)
            yield f"│ {text:<{inner}} {'├' if joined else '│'}{cells}".rstrip()
            last = node.row
        yield f"└{'─' * (inner + 2)}┘{_cells(drawn, None, last, cell)}".rstrip()
    if graph.links and not drawn:
        yield TOO_WIDE.format(needed)
    for link in graph.links:
        yield f"{link.number:>{cell - 2}}  {link.legend}"
        for said in link.conditions:
            yield f"{'':>{cell}}{said}"


def _cells(links: list[DrawnLink], row: int | None, last: int, cell: int) -> str:
    """Return the lanes beside one line: a node's `row`, or the line behind row `last`."""
    mine = {link.lane: link for link in links if row is not None and row in link.rows}
    if row is None:
        passing = {k.lane for k in links if k.rows[0] <= last < k.rows[-1]}
    else:
        passing = {k.lane for k in links if k.rows[0] < row < k.rows[-1]} - set(mine)
    reach = max(mine, default=-1)
    parts = []
    for lane in range(max([reach, *passing], default=-1) + 1):
        line = "─" if lane <= reach else " "
        if lane in mine:
            sign = str(mine[lane].number)
        else:
            sign = ("┼" if lane <= reach else "│") if lane in passing else line
        parts.append((line + sign).ljust(cell, "─" if lane < reach else " "))
    return "".join(parts)
