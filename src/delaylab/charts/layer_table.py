"""Table of delays by layer, with a paper's numbers beside those measured here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """Median and p99 here, the median's interval, and the paper's median and p99, as words."""

    here: str
    here_p99: str
    hint: str
    paper: str
    paper_p99: str


@dataclass(frozen=True, slots=True)
class Part:
    """Part of the table for one environment: terms as columns, loads as rows."""

    kind: str
    paper: str
    terms: tuple[str, ...]
    rows: list[tuple[str, list[Cell]]]
