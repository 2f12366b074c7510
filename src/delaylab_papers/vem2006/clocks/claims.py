"""vem2006's claim on the clocks of machines, section V A."""

from __future__ import annotations

from collections.abc import Iterator

from delaylab_study.papers.toolkit import (
    Claim,
    Criterion,
    Group,
    Measured,
    Source,
    at_most,
    mean_of_few,
)

from ..published import CLOCKS_US
from .measures import CHRONY, FEWEST, MACHINES, figures, groups_of, settings

NS_PER_US = 1e3


def between_clocks(groups: list[Group]) -> Iterator[Measured]:
    """Yield how far apart machines' clocks were when all got a broadcast, in µs."""
    for where in settings(groups):
        if where.sync != CHRONY or where.machines < 2 or where.nodes > 1:
            continue
        found = figures(groups, where, "clocks") / NS_PER_US
        if len(found) >= FEWEST:
            words = f"{found.mean():.0f} µs, at most {found.max():.0f}"
            effect = mean_of_few(found)
            used = groups_of(groups, where)
            yield Measured(str(where), effect, used, words, CLOCKS_US, kinds=MACHINES)


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "clocks-within-300us",
            "NTP keeps the clocks of machines on one network within 300 µs of each other.",
            Source(
                "section V A",
                "Using the highest possible update intervals NTP can synchronize the clocks of the "
                "physical nodes within 300 usec of each other.",
            ),
            (
                Criterion(
                    "time between the first and the last machine's stamp of a broadcast",
                    "µs",
                    at_most(CLOCKS_US),
                    between_clocks,
                    "trials with sync=chrony, nodes=1 and several machines",
                    is_difference=False,
                ),
            ),
            about=("clock", "speed"),
        ),
    )
}
