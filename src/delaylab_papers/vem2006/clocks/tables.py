"""Clocks of machines as a table: measured here beside the paper's figure."""

from __future__ import annotations

from delaylab_study.papers.toolkit import Cells, Group, Table

from ..published import CLOCKS_US
from .measures import CHRONY, Setting, figures, settings

HEAD = ["setting", "clocks", "widest", "all nodes", "said by chrony"]
NS_PER_US = 1e3


def tables(groups: list[Group]) -> list[Table]:
    """Return the table of all settings; none for any other study."""
    rows = [row for where in settings(groups) if (row := _row(groups, where)) is not None]
    if not rows:
        return []
    return [
        Table(
            "Clocks of machines that get the same broadcast",
            "Means over the trials, in µs, measured here / published (section V A). Clocks: the "
            "time between the first and the last machine's kernel stamp, each by its own clock, "
            "the median of a trial's events; widest: the largest of them. All nodes: the same of "
            "the notes of all programs, which wait for their machine's CPU. Said by chrony: the "
            "largest error that it states for a machine.",
            HEAD,
            rows,
        )
    ]


def _row(groups: list[Group], where: Setting) -> Cells | None:
    clocks = figures(groups, where, "clocks")
    if not len(clocks):
        return None
    several = where.machines > 1
    here = f"{clocks.mean() / NS_PER_US:.0f}" if several else "–"
    published = several and where.sync == CHRONY and where.nodes == 1
    return [
        str(where),
        (here, f"{CLOCKS_US:.0f}") if published else here,
        _mean(groups, where, "widest") if several else "–",
        _mean(groups, where, "spread"),
        _mean(groups, where, "said") if several and where.sync == CHRONY else "–",
    ]


def _mean(groups: list[Group], where: Setting, name: str) -> str:
    return f"{figures(groups, where, name).mean() / NS_PER_US:.0f}"
