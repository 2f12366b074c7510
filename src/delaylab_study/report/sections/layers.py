"""Table of delays by layer, beside those of the paper that the study repeats."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap

from delaylab_study.analysis.packets.rtt import LINK
from delaylab_study.charts.layer_table import DelayCell, layers
from delaylab_study.papers import calls
from delaylab_study.report import value as v
from delaylab_study.report.sections.section import Report, quantile

NOTE = (
    "What each layer adds to the round trip: median, and p99 in grey. ΔKern = kernel RTT − wire "
    "RTT, ΔUser = user RTT − kernel RTT, Δhost = RTT at the virtual interface's host end − wire "
    "RTT, Δnode = kernel RTT − RTT there (in Xen's driver domain: Δdom0, ΔdomU), total = user RTT "
    "− wire RTT."
)
EMULATED = (
    " Δlink = the time of a request in the emulated link: its configured delay, its queue and its "
    "lateness, one way. It is no layer of the machine: Δhost and Δdom0 are without it, total has "
    "it."
)


def section(report: Report) -> v.Section:
    """Return the tables of layers, one for each environment."""
    return v.Section("layers", [*_parts(report)])


def _parts(report: Report) -> Iterator[v.Part]:
    paper = report.repeated.paper
    found = calls.layer_table(paper, report.probed) if paper else layers(report.probed)
    if not found:
        return
    every = [cell for part in found for _, row in part.rows for cell in row]
    if not any(cell.paper or cell.paper_p99 for cell in every):
        paper = None
    yield v.Heading(f"Table of {paper.short}, and this machine" if paper else "Delay by layer", 2)
    said: list[str | v.Span] = [NOTE]
    if any(LINK in part.terms for part in found):
        said.append(EMULATED)
    if paper and paper.layer_note:
        said += [" In ", v.Span("colour", "paper"), f": {paper.layer_note}."]
    yield v.note(tuple(said))
    for part in found:
        yield v.Heading((part.kind, " ", v.Span(part.paper, "paper")) if part.paper else part.kind)
        columns = [v.Column("load", "label"), *map(v.Column, part.terms)]
        yield v.Table(columns, [[case, *map(_cell, row)] for case, row in part.rows])
    cells = [
        (part.kind, case, term, cell)
        for part in found
        for case, row in part.rows
        for term, cell in zip(part.terms, row, strict=True)
    ]
    yield v.for_scripts("layers", lambda: starmap(_values, cells))


def _values(kind: str, load: str, term: str, found: DelayCell) -> Iterator[v.Value]:
    """Yield a cell as values, with the paper's words beside them."""
    yield from v.values({"kind": kind, "load": load, "term": term})
    yield from v.values({"paper_median": found.paper, "paper_p99": found.paper_p99})
    if found.found is not None:
        yield v.Value("n", found.found.n)
        yield quantile("median_us", found.found.median)
        yield quantile("p99_us", found.found.p99)


def _cell(delay: DelayCell) -> v.Cell:
    said: list[str | v.Span] = [f"{delay.here} ", v.Span(delay.here_p99, "small")]
    if delay.paper:
        said += [v.Span("\n"), v.Span(delay.paper, "paper"), " ", v.Span(delay.paper_p99, "small")]
    return v.Cell(tuple(said), delay.hint)
