"""Machines of a campaign: may trials of the same levels that ran on several be pooled?

It is an A/A comparison: nothing differs but the machine. Delays may be pooled if the medians of two
machines are shown to be alike, to `MARGIN` of the larger one; not if they are shown to differ by
more. What links are configured for is left out, for it is the same everywhere and would hide the
rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from delaylab_study.analysis.claims.claim import ENOUGH
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.packets.rtt import USER, WITHOUT_LINKS
from delaylab_study.analysis.statistics.effects import Effect, shift
from delaylab_study.analysis.statistics.quantiles import locate
from delaylab_study.analysis.statistics.runs import LEVEL, Floats

MARGIN = 0.05
"""The share of the larger median by which the medians of two machines may differ."""


@dataclass(frozen=True, slots=True)
class MachinePair:
    """Trials of the same levels on two machines, `first` and `second`.

    `medians_us` are those of their user RTT without the delays of links, `difference_us` is that of
    the second less that of the first, with its 95 % interval. `margin_us` is how much it may be.
    """

    levels: str
    first: str
    second: str
    trials: tuple[int, int]
    medians_us: tuple[float, float]
    difference_us: Effect
    margin_us: float

    @property
    def may_be_pooled(self) -> bool | None:
        """Return True if the two are shown to be alike, False if not, None if neither is shown."""
        low, high = self.difference_us.interval
        if -self.margin_us <= low and high <= self.margin_us:
            return True
        return False if low > self.margin_us or high < -self.margin_us else None


def machine_pairs(groups: Sequence[Group]) -> list[MachinePair]:
    """Return each two machines that have trials of the same levels, in the order of the groups."""
    return [pair for group in groups for pair in _pairs(group)]


def _pairs(group: Group) -> Iterator[MachinePair]:
    by_machine = _by_machine(group)
    for first, second in combinations(by_machine, 2):
        ours, theirs = by_machine[first], by_machine[second]
        medians = [locate(run, (0.5,), LEVEL)[0].value for run in (ours, theirs)]
        yield MachinePair(
            levels=group.label,
            first=first,
            second=second,
            trials=(len(ours), len(theirs)),
            medians_us=(medians[0], medians[1]),
            difference_us=shift(theirs, ours),
            margin_us=MARGIN * max(medians),
        )


def _by_machine(group: Group) -> dict[str, list[Floats]]:
    """Return the delays in µs of the trials on each machine that has enough packets."""
    if group.packets is None or len({trial.machine for trial in group.trials}) < 2:
        return {}
    columns = group.packets.samples.columns
    name = WITHOUT_LINKS if WITHOUT_LINKS in columns else USER
    runs: dict[str, list[Floats]] = {}
    for index, packets in group.packets.of_trials(name).items():
        machine = group.trials[index].machine
        if machine is not None:
            runs.setdefault(machine, []).append(packets[name].to_numpy())
    return {name: run for name, run in sorted(runs.items()) if sum(map(len, run)) >= ENOUGH}
