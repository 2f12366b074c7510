"""Share of the packets of a run to which something happened, with its interval."""

from __future__ import annotations

from delaylab.analysis.statistics.memory import autocorrelation_times
from delaylab.analysis.statistics.runs import LEVEL, Interval, Series, as_run, whole
from delaylab.analysis.statistics.shares import wilson
from delaylab.analysis.statistics.student import distance


def share_of_packets(series: Series, level: float = LEVEL) -> tuple[float, Interval]:
    """Return the share of packets with 1 among those with 0 or 1, and its interval.

    It is Wilson's, for as many packets as are independent. What trials differ by is not in it.
    """
    run = as_run(series)
    share = float(whole(run).mean())
    time = float(autocorrelation_times([trial[None, :] for trial in run])[0])
    effective = sum(map(len, run)) / time
    return share, wilson(share, effective, distance(effective - 1, level))
