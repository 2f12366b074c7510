"""Generator of the table of mechanisms in docs/kinds/README.md, from the kinds themselves."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from delaylab.api.kinds import FACTS, Mechanism, mechanisms_of
from tools.marked_part import write

PAGE = Path(__file__).parent.parent / "docs" / "kinds" / "README.md"
BEGIN, END = "<!-- mechanisms: written by `make docs` -->\n", "\n<!-- end of mechanisms -->"


def table() -> str:
    """Return the table: a row for each mechanism, a column for kinds that have the same ones."""
    alike: dict[frozenset[Mechanism], list[str]] = {}
    for kind, facts in FACTS.items():
        alike.setdefault(facts.mechanisms, []).append(kind)
        if facts.emulated:
            alike.setdefault(mechanisms_of(kind, emulated=True), []).append(f"{kind}, emulated")
    head = f"| mechanism | {' | '.join('; '.join(kinds) for kinds in alike.values())} |"
    rows = [
        f"| `{each}` | {' | '.join('yes' if each in had else 'no' for had in alike)} |"
        for each in get_args(Mechanism)
    ]
    return "\n".join([head, "|---" * (1 + len(alike)) + "|", *rows])


def main() -> None:
    """Replace the table in the page."""
    write(PAGE, BEGIN, END, table())


if __name__ == "__main__":
    main()
