"""Share of the packets of a run to which something happened, with its interval."""

from __future__ import annotations

from delaylab.analysis.statistics.memory import autocorrelation_times
from delaylab.analysis.statistics.runs import LEVEL, Interval, Run, Series, as_run, whole
from delaylab.analysis.statistics.shares import wilson
from delaylab.analysis.statistics.student import distance


def share_of_packets(series: Series, level: float = LEVEL) -> tuple[float, Interval]:
    """Return the share of packets with 1 among those with 0 or 1, and its interval.

    It is Wilson's, for as many packets as are independent. What trials differ by is not in it.
    """
    share, effective = effective_share(as_run(series))
    return share, wilson(share, effective, distance(effective - 1, level))


def effective_share(run: Run) -> tuple[float, float]:
    """Return the share of packets with 1, and the effective sample size."""
    time = float(autocorrelation_times([trial[None, :] for trial in run])[0])
    return float(whole(run).mean()), sum(map(len, run)) / time
