"""Results of searches for the highest rate: frames that routers hold, and how they share them.

Throughput is as in vem2006: RFC 2544, section 26.1, with a tolerated loss. Of a setting's searches,
one in each block of trials, the median of the best three of five counts. Shares are judged by
Jain's index of what each flow received, (Σx)² / n Σx² (Jain, Chiu and Hawe 1984, DEC-TR-301): 1 if
all received the same, 1/n if one received everything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from delaylab_study.papers.toolkit import (
    SHARE,
    Burst,
    Effect,
    Floats,
    Flow,
    Group,
    HeldRate,
    Load,
    TrialRecord,
    estimate_of_few,
    jain,
    mean_of_few,
)

Shares = Callable[[Sequence[Flow]], list[float]]
"""Function that gives what each of some flows has: frames that arrived, or the share it lost."""
HOST = "host"
"""Level of factor `kind` at which one stack routes between cables, without any virtual router."""
PLAIN, CARRIED, DELAYED, LIMITED = "plain", "carried", "500us", "limited"
"""Levels of factor `engine`: links without conditions; carried by the engine with no conditions
configured; with 0.5 ms of delay; with a limit of the rate that is never met."""
APART = "carried-apart"
"""Level of factor `engine` at which the engine carries links and has a CPU of its own, and the
routers another one."""
KINDS = (HOST, "netns", "lxc", "uml", "qemu", "xen")
LINKS = (PLAIN, CARRIED, APART, DELAYED, LIMITED)
"""Levels in the order in which they are shown."""
SEARCHES = 3
"""Smallest number of searches of one setting that gives its throughput an interval."""
BEST, OF = 3, 5
"""The paper repeats each search five times; the best three count."""
OVERLOADED = 0.01
"""A burst that lost a larger share than this was more than the routers could forward."""
CLEARLY, MOST_LOST = 0.2, 0.75
"""Shares lost between which bursts tell how routers share. Where less is lost, no router can be far
from an equal share of what arrives. Where more is lost, all lose about the same, whatever they do:
at three quarters, a router that loses a tenth less than the mean gets 30 % more than it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting on which throughput depends: routers and their kind, frame size in bytes, links."""

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

    Trials of a block may share a search; it counts once.
    """
    found: dict[Setting, list[HeldRate]] = {}
    for group in groups:
        here = setting(group)
        for trial in group.trials:
            rates = [load.rate for load in frames_loads(trial) if load.rate is not None]
            if here is not None and rates:
                known = found.setdefault(here, [])
                known += [rate for rate in rates if rate not in known]
    return dict(sorted(found.items(), key=lambda item: rank(item[0])))


def rank(one: Setting) -> tuple[int, int, int, int]:
    """Return the sort key of a setting: links, kind, size, and number of routers."""
    links, kind = (
        shown.index(name) if name in shown else len(shown)
        for shown, name in ((LINKS, one.engine), (KINDS, one.kind))
    )
    return links, kind, one.size, one.routers


def throughput(rates: Sequence[HeldRate]) -> Floats:
    """Return the rates found, in frames/s."""
    return np.array([rate.frames_per_s for rate in rates])


def known(found: dict[Setting, list[HeldRate]]) -> dict[Setting, Floats]:
    """Return the throughputs of those settings that have at least `SEARCHES` searches."""
    return {one: throughput(rates) for one, rates in found.items() if len(rates) >= SEARCHES}


def ratio(rates: Floats, to: Floats) -> Effect:
    """Return the ratio of the median throughputs `rates` and `to`, with its interval."""
    return estimate_of_few([rates, to], lambda s: typical(s[0]) / typical(s[1]))


def typical(rates: Floats) -> Floats:
    """Return the median of the best of some searches, three of five, for each row of redraws.

    Of three or fewer all count.
    """
    n = rates.shape[-1]
    best = min(n, max(BEST, math.ceil(n * BEST / OF)))
    return np.asarray(np.median(np.sort(rates, axis=-1)[..., n - best :], axis=-1))


def lost_shares(flows: Sequence[Flow]) -> list[float]:
    """Return the share of its frames that each flow lost."""
    return [max(0.0, 1 - flow.received / flow.sent) if flow.sent else 0.0 for flow in flows]


def furthest(rates: Sequence[HeldRate], of: Shares, most_lost: float = 1.0) -> Effect | None:
    """Return how far the router furthest from the mean of all is from it, with its interval.

    Each search has a largest deviation, of what `of` gives for each router, the mean of those
    bursts that lost at least `CLEARLY` and no more than `most_lost`. Return None with fewer than
    `SEARCHES` searches that have such bursts.
    """
    found = []
    for rate in rates:
        tries = [b for b in bursts([rate], overloaded=True) if CLEARLY <= b.lost <= most_lost]
        had = [np.array(of(burst.flows)) for burst in tries]
        relative = [each / each.mean() for each in had if each.mean() > 0]
        if relative:
            found.append(float(np.abs(np.mean(relative, axis=0) - 1).max()))
    return mean_of_few(np.array(found), (0.0, math.inf)) if len(found) >= SEARCHES else None


def bursts(rates: Iterable[HeldRate], *, overloaded: bool) -> list[Burst]:
    """Return the bursts over several flows that were held, or those that overloaded the routers."""
    tries = [burst for rate in rates for burst in rate.tries if len(burst.flows) > 1]
    return [b for b in tries if (b.lost > OVERLOADED if overloaded else b.held)]


def fairness(rates: Sequence[HeldRate], *, overloaded: bool, of: Shares) -> Effect | None:
    """Return the mean of Jain's index, with its interval between searches.

    A search counts by the mean of its bursts: those that were held, or that overloaded the
    routers. `of` gives the shares of a burst's flows. Return None if no search has such a burst.
    """
    by_search = [bursts([rate], overloaded=overloaded) for rate in rates]
    indices = [np.mean([jain(of(burst.flows)) for burst in tries]) for tries in by_search if tries]
    if not indices:
        return None
    return mean_of_few(np.array(indices), SHARE)


def lost_frames(flows: Sequence[Flow]) -> list[float]:
    """Return the number of frames that did not arrive, by flow."""
    return [float(max(0, flow.sent - flow.received)) for flow in flows]


def arrived(flows: Sequence[Flow]) -> list[float]:
    """Return the number of frames that arrived, by flow."""
    return [float(flow.received) for flow in flows]


def first_and_most(settings: Iterable[Setting]) -> list[tuple[Setting, Setting]]:
    """Pair one router with the most routers, for each kind, size and sort of link."""
    every = list(settings)
    pairs = []
    for one in every:
        most = max(
            (s for s in every if replace(s, routers=1) == one), key=lambda s: s.routers, default=one
        )
        if one.routers == 1 and most.routers > 1:
            pairs.append((one, most))
    return pairs
