"""vem2006's claims on the assignment of routers to machines, section III C."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from delaylab_study.papers.toolkit import (
    Claim,
    Criterion,
    Group,
    Measured,
    Source,
    at_least,
    at_most,
    estimate_of_few,
    mean_of_few,
)

from .measures import FEWEST, figures, groups_of, networks

EVEN = 1.1
"""The load of the fullest machine over the least possible one that still counts as even. The paper
has no figure; a tenth is what delaylab's own placement gives away for less traffic."""
SMALLEST = "barabasi-albert"
GROWN = ("larger", "largest")
"""The kinds of networks whose routers, links and machines are a multiple of those of SMALLEST."""


def assigned(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of networks for which worst fit found machines within all limits."""
    for network in networks(groups):
        found = figures(groups, network, "fits")
        if len(found) >= FEWEST:
            words = f"{int(found.sum())} of {len(found)}"
            effect = mean_of_few(found, (0.0, 1.0))
            yield Measured(network, effect, groups_of(groups, network), words)


def over_least(groups: list[Group]) -> Iterator[Measured]:
    """Yield the load of worst fit's fullest machine ÷ the least that any assignment has."""
    for network in networks(groups):
        found = figures(groups, network, "worst-fit-over")
        if len(found) >= FEWEST:
            words = f"{found.mean():.3f}, at most {found.max():.3f}"
            yield Measured(network, mean_of_few(found), groups_of(groups, network), words)


def time_over_product(groups: list[Group]) -> Iterator[Measured]:
    """Yield how much longer a larger network takes ÷ how much larger links × machines are."""
    known = [*networks(groups)]
    if SMALLEST not in known:
        return
    small = figures(groups, SMALLEST, "worst-fit-time") / _product(groups, SMALLEST)
    for network in GROWN:
        if network not in known:
            continue
        large = figures(groups, network, "worst-fit-time") / _product(groups, network)
        if min(len(small), len(large)) < FEWEST:
            continue
        effect = estimate_of_few(
            [large, small], lambda s: np.asarray(s[0].mean(axis=-1) / s[1].mean(axis=-1))
        )
        used = [*groups_of(groups, network), *groups_of(groups, SMALLEST)]
        took_ms = figures(groups, network, "worst-fit-time").mean() / 1e6
        words = f"{took_ms:.1f} ms, {small.mean():.1f} and {large.mean():.1f} ns a link and machine"
        yield Measured(network, effect, used, words)


def _product(groups: list[Group], network: str) -> float:
    """Return the links × machines of a kind of network, in the mean."""
    links, machines = (figures(groups, network, name) for name in ("links", "machines"))
    return float((links * machines).mean())


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "assignment-worst-fit-even",
            "Worst fit assigns the routers of real and of generated networks to machines within "
            "all limits, and spreads their load evenly.",
            Source(
                "section III C",
                "… find a mapping from L to I × I so that all links members of L are covered, "
                "none of the constraints is violated, and the maximum utilization of any node "
                "and interface is minimized (in an attempt to spread the load evenly). … Thus, "
                "our mapping algorithm is based on the worse fit heuristic.",
            ),
            (
                Criterion(
                    "share of networks that worst fit assigns within all limits",
                    "share",
                    at_least(1),
                    assigned,
                    "trials of each kind of network",
                ),
                Criterion(
                    "load of worst fit's fullest machine ÷ least that any assignment has",
                    "times",
                    at_most(EVEN),
                    over_least,
                    "trials of each kind of network",
                ),
            ),
        ),
        Claim(
            "assignment-time-linear",
            "The time of worst fit grows no faster than links × machines.",
            Source(
                "section III C",
                "In a simple implementation, for each link we need to scan all the emulation "
                "nodes and their interfaces to select where to place the link, thus the "
                "complexity of the algorithm is O(L * N).",
            ),
            (
                Criterion(
                    "growth of worst fit's time ÷ growth of links × machines",
                    "times",
                    at_most(1),
                    time_over_product,
                    "trials with network=barabasi-albert, larger and largest",
                ),
            ),
        ),
    )
}
