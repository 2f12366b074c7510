"""Figures of vem2006's section V A as a table: measured here beside the paper's."""

from __future__ import annotations

from delaylab_study.papers.toolkit import Cells, Group, Table

from ..published import JOB_MS, JOB_NODES, JOB_STARTS_MS, SPREAD_MS, UPDATES_MS, UPDATES_NODES
from .measures import Setting, figures, settings

HEAD = ["event", "setting", "quantity", "ms"]
NS_PER_MS = 1e6


def tables(groups: list[Group]) -> list[Table]:
    """Return the table of all events; none for any other study."""
    rows = [
        row
        for test in ("broadcast", "job", "chain")
        for where in settings(groups, test)
        for row in _rows(groups, where)
    ]
    if not rows:
        return []
    return [
        Table(
            "Events that nodes of one CPU get at one moment",
            "Means over the trials of the median over a trial's events, measured here / published "
            "(section V A). Spread: between the first and the last node's answer to a broadcast; "
            "the widest of a trial is in its own row. Start, done: of a job of 12.5 ms, from when "
            "the event was sent. Passed on: from the first update's arrival until the last of all "
            "nodes' updates was sent.",
            HEAD,
            rows,
        )
    ]


def _rows(groups: list[Group], where: Setting) -> list[Cells]:
    named: dict[str, float | None] = {}
    if where.test == "broadcast":
        named = {"spread": None, "widest": SPREAD_MS.get((where.nodes, where.is_loaded))}
    elif where.test == "job":
        first, last = JOB_MS if where.nodes == JOB_NODES else (None, None)
        starts = {f"start-{place}": ms for place, ms in enumerate(JOB_STARTS_MS, start=1)}
        named = {**starts, "done-first": first, "done-last": last}
    else:
        named = {"passed-on": UPDATES_MS if where.nodes == UPDATES_NODES else None}
    return [
        [where.test, str(where), name.replace("-", " "), _cell(groups, where, name, published)]
        for name, published in named.items()
    ]


def _cell(
    groups: list[Group], where: Setting, name: str, published: float | None
) -> str | tuple[str, str]:
    found = figures(groups, where, name)
    here = f"{found.mean() / NS_PER_MS:.3f}" if len(found) else "–"
    return here if published is None else (here, f"{published:g}")
