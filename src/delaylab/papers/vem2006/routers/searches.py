"""Results of searches for the highest rate: frames that routers hold, and how they share them.

Throughput is as in vem2006: RFC 2544, section 26.1, with a tolerated loss. The median of all
searches of one setting counts. Shares are judged by Jain's index of what each flow received, (Σx)²
/ n Σx² (Jain, Chiu and Hawe 1984, DEC-TR-301): 1 if all received the same, 1/n if one received
everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from delaylab.analysis.group import Group
from delaylab.analysis.statistics.effects import Effect, estimate_of_few
from delaylab.analysis.statistics.quantiles import Floats
from delaylab.dataset.records.rates import Burst, Flow, HeldRate
from delaylab.dataset.records.trial import Load, TrialRecord

HOST = "host"
"""Level of factor `kind` at which the host's own stack forwards, without any router."""
PLAIN, CARRIED, DELAYED = "plain", "carried", "500us"
"""Levels of factor `engine`: links without conditions; carried by the engine with no conditions
configured; with 0.5 ms of delay."""
KINDS, LINKS = (HOST, "netns", "lxc", "qemu"), (PLAIN, CARRIED, DELAYED)
"""Levels in the order in which they are shown."""
SEARCHES = 3
"""Smallest number of searches of one setting that gives its throughput an interval."""
OVERLOADED = 0.01
"""A burst that lost a larger share than this was more than the routers could forward."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Setting on which throughput depends: routers and their kind, frame size in bytes, links."""

    routers: int
    kind: str
    size: int
    engine: str

    @property
    def label(self) -> str:
        """Return the setting in words."""
        routers = "no router" if self.routers == 0 else f"{self.routers} × {self.kind}"
        links = "" if self.engine == PLAIN else f", links {self.engine}"
        return f"{routers}, {self.size} bytes{links}"


def setting(group: Group) -> Setting | None:
    """Return a group's setting, None for a study that has no routers."""
    levels = group.factors
    if not {"routers", "kind", "size", "engine"} <= levels.keys():
        return None
    return Setting(int(levels["routers"]), levels["kind"], int(levels["size"]), levels["engine"])


def of_settings(groups: Iterable[Group], settings: Iterable[Setting]) -> list[Group]:
    """Return the groups that were measured in one of these settings."""
    wanted = set(settings)
    return [group for group in groups if setting(group) in wanted]


def frames_loads(trial: TrialRecord) -> Iterator[Load]:
    """Yield a trial's loads of frames."""
    yield from (load for load in trial.loads if load.load == "frames")


def searches(groups: Iterable[Group]) -> dict[Setting, list[HeldRate]]:
    """Return all searches by setting, in the order in which settings are shown.

    Loads may differ in the share of the found rate that was then sent; their searches count alike.
    """
    found: dict[Setting, list[HeldRate]] = {}
    for group in groups:
        here = setting(group)
        for trial in group.trials:
            rates = [load.rate for load in frames_loads(trial) if load.rate is not None]
            if here is not None and rates:
                found.setdefault(here, []).extend(rates)
    return dict(sorted(found.items(), key=lambda item: rank(item[0])))


def rank(one: Setting) -> tuple[int, int, int, int]:
    """Return the sort key of a setting: links, kind, size, and number of routers."""
    links, kind = (
        shown.index(name) if name in shown else len(shown)
        for shown, name in ((LINKS, one.engine), (KINDS, one.kind))
    )
    return links, kind, one.size, one.routers


def throughput(found: Sequence[HeldRate]) -> Floats:
    """Return the rates found, in frames/s."""
    return np.array([rate.frames_per_s for rate in found])


def known(found: dict[Setting, list[HeldRate]]) -> dict[Setting, Floats]:
    """Return the throughputs of those settings that have at least `SEARCHES` searches."""
    return {one: throughput(rates) for one, rates in found.items() if len(rates) >= SEARCHES}


def ratio(rates: Floats, to: Floats) -> Effect:
    """Return the ratio of the median throughputs `rates` and `to`, with its interval."""
    return estimate_of_few([rates, to], lambda s: median(s[0]) / median(s[1]))


def jain(received: Sequence[float]) -> float:
    """Return Jain's fairness index of what the flows received."""
    got = np.asarray(received, dtype=np.float64)
    squares = len(got) * float((got**2).sum())
    return float(got.sum()) ** 2 / squares if squares else 1.0


def lost_shares(flows: Sequence[Flow]) -> list[float]:
    """Return the share of its frames that each flow lost."""
    return [max(0.0, 1 - flow.received / flow.sent) if flow.sent else 0.0 for flow in flows]


def bursts(found: Iterable[HeldRate], *, overloaded: bool) -> list[Burst]:
    """Return the bursts over several flows that were held, or those that overloaded the routers."""
    tries = [burst for rate in found for burst in rate.tries if len(burst.flows) > 1]
    return [b for b in tries if (b.lost > OVERLOADED if overloaded else b.held)]


def fairness(tries: Sequence[Burst]) -> Effect:
    """Return the mean of Jain's index over bursts, with its bootstrap interval."""
    indices = np.array([jain([flow.received for flow in burst.flows]) for burst in tries])
    return estimate_of_few([indices], lambda s: np.asarray(s[0].mean(axis=-1)))


def first_and_most(found: Iterable[Setting]) -> list[tuple[Setting, Setting]]:
    """Pair one router with the most routers, for each kind, size and sort of link."""
    every = list(found)
    pairs = []
    for one in every:
        most = max(
            (s for s in every if replace(s, routers=1) == one), key=lambda s: s.routers, default=one
        )
        if one.routers == 1 and most.routers > 1:
            pairs.append((one, most))
    return pairs


def median(values: Floats) -> Floats:
    """Return the median of each row of redraws."""
    return np.asarray(np.median(values, axis=-1))
