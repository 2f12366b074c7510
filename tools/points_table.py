"""Generator of the table of points in docs/glossary.md, from the catalogue itself."""

from __future__ import annotations

from pathlib import Path

from delaylab.points import CATALOGUE, HOP, Point
from tools.marked_part import write

PAGE = Path(__file__).parent.parent / "docs" / "glossary.md"
BEGIN, END = "| point | the packet is |\n", "\n\n"


def table() -> str:
    """Return the table's lines below its head."""
    rows = [f"| `{_name(point)}` | {point.packet_is} |" for point in CATALOGUE]
    return "\n".join(["|---|---|", *rows])


def _name(point: Point) -> str:
    return f"{HOP}N.{point.name}" if point.name in ("near", "far") else point.name


def main() -> None:
    """Replace the table in the page."""
    write(PAGE, BEGIN, END, table())


if __name__ == "__main__":
    main()
