"""Table 1 of whiteaker2011, with this machine's numbers beside the paper's."""

from __future__ import annotations

from delaylab_study.papers.toolkit import Group, Part, Published, delay, layer_table

from .published import CASES, ENVIRONMENTS, TABLE

# Terms of this project whose column in the paper's table has another name.
PAPERS = {"Δdom0": "Δhost", "ΔdomU": "Δnode"}


def table1(groups: list[Group]) -> list[Part]:
    """Return the table by environment; all delays are round trip, less the wire's RTT."""
    return layer_table(groups, Published(_environment, _case, _numbers))


def _environment(group: Group) -> str:
    return ENVIRONMENTS.get(group.kind, "")


def _case(group: Group) -> str:
    return CASES.get(group.load, "")


def _numbers(group: Group, term: str) -> tuple[str, str]:
    row = TABLE.get((group.kind, group.load))
    if row is None:
        return "", ""
    column = PAPERS.get(term, term)
    return _ms(row.median.get(column)), _ms(row.p99.get(column))


def _ms(value: float | None) -> str:
    return "" if value is None else delay(value * 1000)
