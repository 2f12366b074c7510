"""Table of words, as the part of a report on a paper shows it."""

from __future__ import annotations

from dataclasses import dataclass

Cells = list[str | tuple[str, str]]
"""A row of a table. A cell may be a pair: the value measured here, and the paper's."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a head; the first `texts` columns are words, the others numbers."""

    title: str
    note: str
    head: list[str]
    rows: list[Cells]
    texts: int = 1

    @property
    def many(self) -> bool:
        """Return True if there are too many rows to show at once."""
        return len(self.rows) > 24
