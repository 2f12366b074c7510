"""Assignments of routers to machines as a table."""

from __future__ import annotations

from delaylab_study.papers.toolkit import Cells, Group, Table

from .measures import figures, networks

HEAD = ["network", "networks", "links", "machines", "kept", "by number", "by bandwidth"]


def tables(groups: list[Group]) -> list[Table]:
    """Return the table of all kinds of networks; none for any other study."""
    rows = [_row(groups, network) for network in networks(groups)]
    if not rows:
        return []
    return [
        Table(
            "Assignment of routers to machines",
            "Kept: networks that worst fit assigns with all constraints kept. By number: the "
            "machines that routers need if bandwidths are ignored, over bins of 10 routers. By "
            "bandwidth: the least load that is proven if machines take all routers, over the "
            "fullest of as many bins.",
            HEAD,
            rows,
        )
    ]


def _row(groups: list[Group], network: str) -> Cells:
    ill = figures(groups, network, "ill")
    counts = [f"{figures(groups, network, name).mean():.0f}" for name in ("links", "machines")]
    kept = f"{(ill == 0).sum()} of {len(ill)}"
    bins = (figures(groups, network, name) for name in ("by-number", "by-bandwidth"))
    ratios = [f"{each.mean():.4f}" if len(each) else "–" for each in bins]
    return [network, str(len(ill)), *counts, kept, *ratios]
