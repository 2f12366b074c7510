"""vem2006's claims on the assignment of routers to machines, section III C."""

from __future__ import annotations

from collections.abc import Iterator

from delaylab_study.papers.toolkit import (
    Claim,
    Criterion,
    Effect,
    Floats,
    Group,
    Measure,
    Measured,
    Source,
    at_least,
    between,
)

from .measures import figures, groups_of, networks

PROVEN = 0.005
"""A bound of ours: how far the proof of the exact method, and our own packing of bins, may both be
from the least load."""
BOTH = "trials of each kind of network"


def kept(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of networks that worst fit assigns with all constraints kept."""
    for network in networks(groups):
        found = figures(groups, network, "ill")
        if len(found):
            good = (found == 0).sum()
            share = float(good / len(found))
            yield _computed(groups, network, (share, share, share), f"{good} of {len(found)}")


def by_number(groups: list[Group]) -> Iterator[Measured]:
    """Yield the machines that routers need if bandwidths are ignored, over bins of as many."""
    return _over_bins(groups, "by-number")


def by_bandwidth(groups: list[Group]) -> Iterator[Measured]:
    """Yield the least load if machines take all routers, over that of a packing of bins."""
    return _over_bins(groups, "by-bandwidth")


def _over_bins(groups: list[Group], name: str) -> Iterator[Measured]:
    for network in networks(groups):
        found = figures(groups, network, name)
        if len(found):
            yield _computed(groups, network, _range(found), f"{len(found)} networks")


def _range(found: Floats) -> tuple[float, float, float]:
    return float(found.mean()), float(found.min()), float(found.max())


def _computed(
    groups: list[Group], network: str, found: tuple[float, float, float], words: str
) -> Measured:
    """Return a scenario of what is computed: the range over its networks is all that there is."""
    mean, least, most = found
    effect = Effect(mean, (least, most))
    return Measured(network, effect, groups_of(groups, network), words, 1.0)


def _criterion(quantity: str, unit: str, measure: Measure) -> Criterion:
    rule = at_least(1) if unit == "share" else between(1 - PROVEN, 1 + PROVEN)
    return Criterion(quantity, unit, rule, measure, BOTH, is_difference=False)


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "assignment-constraints-kept",
            "Worst fit assigns all routers and links of a network, and no constraint is violated.",
            Source(
                "section III C",
                "… find a mapping from L to I × I so that all links members of L are covered, "
                "none of the constraints is violated, and the maximum utilization of any node "
                "and interface is minimized (in an attempt to spread the load evenly). … Thus, "
                "our mapping algorithm is based on the worse fit heuristic.",
            ),
            (_criterion("share of networks assigned with all constraints kept", "share", kept),),
            about=("computation",),
        ),
        Claim(
            "assignment-is-bin-packing",
            "The assignment is bin packing if machines take all routers, and if bandwidths are "
            "ignored.",
            Source(
                "section III C",
                "For example if we consider the case where all interfaces belong to a single "
                "broadcast domain and … then the problem can be mapped to the bin packing problem. "
                "… In this case, we can again map the problem to the bin packing problem.",
            ),
            (
                _criterion("machines needed by number ÷ bins of 10 routers", "times", by_number),
                _criterion(
                    "least load that is proven ÷ the fullest bin of a packing",
                    "times",
                    by_bandwidth,
                ),
            ),
            about=("computation",),
        ),
    )
}
