"""Result of a benchmark: a table, the command that made it, and the goal."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Section:
    """A table of docs/benchmarks.md."""

    name: str
    title: str
    intro: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    variant: str = ""
    """Name of what differs on the machine: the page keeps one section for each variant."""

    @property
    def key(self) -> str:
        """Return the name of the section in the page."""
        return f"{self.name}_{self.variant}" if self.variant else self.name

    def markdown(self) -> str:
        """Return the section as Markdown."""
        lines = [
            f"## {self.title}",
            "",
            self.intro,
            "",
            f"`.venv/bin/python -m benches {self.name}`",
        ]
        lines += ["", "| " + " | ".join(self.head) + " |", "|" + "---|" * len(self.head)]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        lines += ["", *self.notes, ""] if self.notes else [""]
        return "\n".join(lines)
