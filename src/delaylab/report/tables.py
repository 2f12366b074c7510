"""A table of words, as a paper's part of the report gives them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a head; the first `texts` columns are words, the others numbers.

    A cell may be a pair: what was measured here, and what the paper has.
    """

    title: str
    note: str
    head: list[str]
    rows: list[list[str | tuple[str, str]]]
    texts: int = 1

    @property
    def many(self) -> bool:
        """Whether the rows are too many to show at once."""
        return len(self.rows) > 24
