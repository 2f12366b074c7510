"""What trials found by search: the rates of frames that routers hold, and how they share them.

Throughput as vem2006 has it (RFC 2544, section 26.1, with a loss that is tolerated): of all
searches of one setting the median counts. Shares are judged by Jain's index of what each flow got
through, (Σx)² / n Σx² (Jain, Chiu and Hawe 1984, DEC-TR-301): 1 if all got the same, 1/n if one
got all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from delaylab.analysis.claims import NotTestable
from delaylab.analysis.effects import Effect, estimate_of_few
from delaylab.analysis.group import Group
from delaylab.analysis.statistics import Floats
from delaylab.records.rates import Burst, Flow, HeldRate
from delaylab.records.trial import Load, TrialRecord

HOST = "host"
"""The level of factor `kind` at which the host's own stack forwards, without any router."""
PLAIN, CARRIED, DELAYED = "plain", "carried", "500us"
"""Levels of factor `engine`: links without conditions; by the engine, asked for nothing; 0.5 ms."""
KINDS, LINKS = (HOST, "netns", "lxc", "qemu"), (PLAIN, CARRIED, DELAYED)
"""In the order in which they are shown."""
SEARCHES = 3
"""So many searches of one setting are needed to speak of its throughput with an interval."""
OVERLOADED = 0.01
"""A burst that lost more than this was more than the routers could forward."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What throughput depends on: routers and their kind, frame size in bytes, links."""

    routers: int
    kind: str
    size: int
    engine: str

    @property
    def label(self) -> str:
        """The setting, as a reader sees it."""
        routers = "no router" if self.routers == 0 else f"{self.routers} × {self.kind}"
        links = "" if self.engine == PLAIN else f", links {self.engine}"
        return f"{routers}, {self.size} bytes{links}"


def setting(group: Group) -> Setting | None:
    """Return a group's setting, None for a study that has no routers."""
    levels = group.factors
    if not {"routers", "kind", "size", "engine"} <= levels.keys():
        return None
    return Setting(int(levels["routers"]), levels["kind"], int(levels["size"]), levels["engine"])


def frames_loads(trial: TrialRecord) -> Iterator[Load]:
    """Yield a trial's loads of frames."""
    yield from (load for load in trial.loads if load.load == "frames")


def searches(groups: Iterable[Group]) -> dict[Setting, list[HeldRate]]:
    """Return all searches by their setting, whatever was then sent of the rate found."""
    found: dict[Setting, list[HeldRate]] = {}
    for group in groups:
        here = setting(group)
        for trial in group.trials:
            rates = [load.rate for load in frames_loads(trial) if load.rate is not None]
            if here is not None and rates:
                found.setdefault(here, []).extend(rates)
    return dict(sorted(found.items(), key=lambda item: rank(item[0])))


def rank(one: Setting) -> tuple[int, int, int, int]:
    """Return where a setting stands among others: by links, kind, size, and number of routers."""
    links, kind = (
        shown.index(name) if name in shown else len(shown)
        for shown, name in ((LINKS, one.engine), (KINDS, one.kind))
    )
    return links, kind, one.size, one.routers


def throughput(found: Sequence[HeldRate]) -> Floats:
    """Return the rates found, in frames/s."""
    return np.array([rate.frames_per_s for rate in found])


def known(found: dict[Setting, list[HeldRate]]) -> dict[Setting, Floats]:
    """Return the rates of those settings that were searched often enough."""
    return {one: throughput(rates) for one, rates in found.items() if len(rates) >= SEARCHES}


def ratio(rates: Floats, to: Floats) -> Effect:
    """Return the ratio of two settings' median throughputs, with its bootstrap interval."""
    return estimate_of_few([rates, to], lambda s: median(s[0]) / median(s[1]))


def jain(received: Sequence[float]) -> float:
    """Return Jain's index of fairness of what flows got."""
    got = np.asarray(received, dtype=np.float64)
    squares = len(got) * float((got**2).sum())
    return float(got.sum()) ** 2 / squares if squares else 1.0


def lost_shares(flows: Sequence[Flow]) -> list[float]:
    """Return the share that each flow lost."""
    return [max(0.0, 1 - flow.received / flow.sent) if flow.sent else 0.0 for flow in flows]


def bursts(found: Iterable[HeldRate], *, overloaded: bool) -> list[Burst]:
    """Return the bursts over many flows that were held, or those that overloaded the routers."""
    tries = [burst for rate in found for burst in rate.tries if len(burst.flows) > 1]
    return [b for b in tries if (b.lost > OVERLOADED if overloaded else b.held)]


def fairness(tries: Sequence[Burst]) -> Effect:
    """Return the mean of Jain's index over bursts with its bootstrap interval."""
    indices = np.array([jain([flow.received for flow in burst.flows]) for burst in tries])
    return estimate_of_few([indices], lambda s: np.asarray(s[0].mean(axis=-1)))


def first_and_most(found: Iterable[Setting]) -> list[tuple[Setting, Setting]]:
    """Return one router and the most routers of each kind, size and sort of link."""
    every = list(found)
    pairs = []
    for one in every:
        most = max(
            (s for s in every if replace(s, routers=1) == one), key=lambda s: s.routers, default=one
        )
        if one.routers == 1 and most.routers > 1:
            pairs.append((one, most))
    return pairs


def least(found: dict[str, Effect], needs: str) -> tuple[str, Effect]:
    """Return where a claim that wants large effects has the least support; it must hold there."""
    if not found:
        raise NotTestable(f"needs {needs}")
    worst = min(found, key=lambda name: found[name].interval[0])
    return worst, found[worst]


def median(values: Floats) -> Floats:
    """Return the median of each row of redraws."""
    return np.asarray(np.median(values, axis=-1))


def listed(found: dict[str, Effect], write: Callable[[float], str]) -> str:
    """Return all effects of a claim in words, each with where it was found."""
    return "; ".join(f"{where} {write(effect.value)}" for where, effect in found.items())
