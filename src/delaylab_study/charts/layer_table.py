"""Table of delays by layer, in which a paper's numbers may stand beside those measured here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from delaylab_study.analysis.claims.groups import loads, setups
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.packets.rtt import LINK
from delaylab_study.analysis.statistics.quantiles import Summary
from delaylab_study.charts import words

HOST_STACK = ("ΔKern", "ΔUser", "total")
VIRTUAL = ("Δhost", "Δnode", "ΔUser", "total")
XEN = ("Δdom0", "ΔdomU", "ΔUser", "total")


@dataclass(frozen=True, slots=True)
class DelayCell:
    """The median and p99 here, the median's interval, and a paper's median and p99, as words.

    `found` has the numbers here, if they are known.
    """

    here: str
    here_p99: str
    hint: str
    paper: str = ""
    paper_p99: str = ""
    found: Summary | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the table for one environment: terms as columns, loads as rows.

    `paper` is the environment in a paper's words, "" if there is none.
    """

    kind: str
    paper: str
    terms: tuple[str, ...]
    rows: list[tuple[str, list[DelayCell]]]


@dataclass(frozen=True, slots=True)
class Published:
    """A paper's words and numbers, to stand beside those measured here.

    `environment` and `case` return the paper's words for a group's kind and for its load, "" if it
    has none. `numbers` returns the paper's median and p99 of a term, "" if it has none.
    """

    environment: Callable[[Group], str]
    case: Callable[[Group], str]
    numbers: Callable[[Group, str], tuple[str, str]]


def layers(groups: list[Group], beside: Published | None = None) -> list[Part]:
    """Return the table by environment; all delays are round trip, less the wire's RTT."""
    together: dict[str, list[tuple[str, Group]]] = {}
    for setup, load, group in zip(setups(groups), loads(groups), groups, strict=True):
        if "total" in group.deltas:
            together.setdefault(setup, []).append((load, group))
    return [_part(setup, alike, beside) for setup, alike in together.items()]


def _part(setup: str, named: list[tuple[str, Group]], beside: Published | None) -> Part:
    alike = [group for _, group in named]
    terms: tuple[str, ...] = HOST_STACK
    for wanted in (VIRTUAL, XEN):
        if any(wanted[0] in group.deltas for group in alike):
            terms = wanted
    if any(LINK in group.deltas for group in alike):
        terms = (LINK, *terms)
    rows = []
    for load, group in named:
        case = beside.case(group) if beside else ""
        rows.append((case or load, [_cell(group, term, beside) for term in terms]))
    emulation = next((group.emulation for group in alike if group.emulated), "")
    setup = f"{setup}, {emulation}" if emulation else setup
    return Part(setup, beside.environment(alike[0]) if beside else "", terms, rows)


def _cell(group: Group, term: str, beside: Published | None) -> DelayCell:
    here = group.deltas.get(term)
    there = beside.numbers(group, term) if beside else ("", "")
    if here is None:
        return DelayCell("–", "–", "not measured", *there)
    p99 = here.p99.needs.short if here.p99.needs else words.quantile(here.p99)
    return DelayCell(words.quantile(here.median), p99, _hint(here), *there, here)


def _hint(here: Summary) -> str:
    return f"n {here.n}; median's 95 % interval {words.interval(here.median.interval)}"
