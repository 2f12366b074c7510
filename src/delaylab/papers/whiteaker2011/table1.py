"""Table 1 of whiteaker2011, with this machine's numbers beside the paper's."""

from __future__ import annotations

from delaylab.analysis.claims.groups import setups
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.quantiles import Summary
from delaylab.charts import words
from delaylab.charts.layer_table import Cell, Part
from delaylab.papers.whiteaker2011.published import CASES, ENVIRONMENTS, TABLE

OWN_STACK = ("ΔKern", "ΔUser", "total")
VIRTUAL = ("Δhost", "Δnode", "ΔUser", "total")
XEN = ("Δdom0", "ΔdomU", "ΔUser", "total")
# Terms of this project whose column in the paper's table has another name.
PAPERS = {"Δdom0": "Δhost", "ΔdomU": "Δnode"}


def table1(groups: list[Group]) -> list[Part]:
    """Return the table by environment; all delays are round trip, less the wire's RTT."""
    together: dict[str, list[Group]] = {}
    for setup, group in zip(setups(groups), groups, strict=True):
        if "total" in group.deltas:
            together.setdefault(setup, []).append(group)
    return [_part(setup, alike) for setup, alike in together.items()]


def _part(setup: str, alike: list[Group]) -> Part:
    terms: tuple[str, ...] = OWN_STACK
    for wanted in (VIRTUAL, XEN):
        if any(wanted[0] in group.deltas for group in alike):
            terms = wanted
    rows = [(_case(group), [_cell(group, term) for term in terms]) for group in alike]
    return Part(setup, ENVIRONMENTS.get(alike[0].kind, ""), terms, rows)


def _case(group: Group) -> str:
    return CASES.get(group.load, group.load)


def _cell(group: Group, term: str) -> Cell:
    here = group.deltas.get(term)
    row = TABLE.get((group.kind, group.load))
    column = PAPERS.get(term, term)
    there = (row.median.get(column), row.p99.get(column)) if row else (None, None)
    return Cell(
        words.quantile(here.median) if here else "–",
        words.quantile(here.p99) if here else "–",
        _hint(here) if here else "not measured",
        _ms(there[0]),
        _ms(there[1]),
    )


def _hint(here: Summary) -> str:
    return f"n {here.n}; median's 95 % interval {words.interval(here.median.interval)}"


def _ms(value: float | None) -> str:
    return "" if value is None else words.delay(value * 1000)
