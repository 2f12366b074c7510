"""Assignments of routers to machines as a table: worst fit, METIS, and the exact method."""

from __future__ import annotations

from delaylab_study.papers.toolkit import Cells, Group, Table

from .measures import METHODS, figures, networks

HEAD = ["network", "method", "networks", "fullest ÷ least possible", "worst", "across", "ms"]


def tables(groups: list[Group]) -> list[Table]:
    """Return the table of all kinds of networks; none for any other study."""
    rows = [
        row
        for network in networks(groups)
        for method in METHODS
        if (row := _row(groups, network, method)) is not None
    ]
    if not rows:
        return []
    return [
        Table(
            "Assignment of routers to machines",
            "Means over the networks of a kind. Fullest ÷ least possible: the load of the fullest "
            "machine over what no assignment can be below; of `small` it is proven by the exact "
            "method. Worst: the largest of these. Across: the share of the links' bandwidth "
            "between machines. Time: of the assignment alone. METIS and the exact method may load "
            "a machine by a tenth more than the least, where that saves traffic between machines.",
            HEAD,
            rows,
        )
    ]


def _row(groups: list[Group], network: str, method: str) -> Cells | None:
    over = figures(groups, network, f"{method}-over")
    if not len(over):
        return None
    across = figures(groups, network, f"{method}-across").mean()
    took_ms = figures(groups, network, f"{method}-time").mean() / 1e6
    ratios = [f"{over.mean():.3f}", f"{over.max():.3f}"]
    return [network, method, str(len(over)), *ratios, f"{100 * across:.0f} %", f"{took_ms:.1f}"]
