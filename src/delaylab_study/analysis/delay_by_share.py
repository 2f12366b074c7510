"""Delays of packets beside the share of the CPU, or of the network, that a node had at the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from delaylab_study.analysis.over_time.slowest import TrialTimes
from delaylab_study.analysis.packets.rtt import user_rtts
from delaylab_study.analysis.packets.table import Packets
from delaylab_study.analysis.statistics.quantiles import Floats
from delaylab_study.analysis.work import Work, WorkCourse
from delaylab_study.dataset.records.trial import TrialRecord

_NS = 1e9


@dataclass(frozen=True, slots=True)
class DelayByShare:
    """Delays of one trial's packets while all nodes worked, round trip from when each was due.

    `since_due_us` is the send slip and the user RTT together, in µs: a node without a CPU sends
    late, and the RTT alone would not tell. `share` is, for each packet, the share of its fair share
    that `node` had at the moment when the packet was due: its work over the mean work of all nodes,
    within some 50 ms. The node is the probe's sender, or its responder if the sender does not work.
    """

    work: str
    node: str
    share: Floats
    since_due_us: Floats


def delays_by_share(
    trials: Sequence[TrialRecord], times: Sequence[TrialTimes], work: Sequence[Work]
) -> list[DelayByShare]:
    """Return the delays of each trial with a probe between nodes that work and report progress."""
    packets = {trial.id: trial.packets for trial in times}
    ends = {
        trial.id: [end.node for end in (trial.sender, trial.responder) if end] for trial in trials
    }
    return [
        _of_course(done.name, node, course, packets[course.trial])
        for done in work
        for course in done.courses
        for node in [end for end in ends[course.trial] if end in course.done][:1]
    ]


def _of_course(work: str, node: str, course: WorkCourse, packets: Packets) -> DelayByShare:
    answered = packets.scheduled.select(
        ((pl.col("intended_ns") - course.began_ns) / _NS).alias("since_s"),
        ((pl.col("slip_ns") + user_rtts(packets)) / 1000).alias("us"),
    ).drop_nulls()
    since_s = answered["since_s"].to_numpy()
    during = (since_s >= 0) & (since_s < course.times_s[-1])
    moment = np.searchsorted(course.times_s, since_s[during], side="right")
    return DelayByShare(work, node, course.shares(node)[moment], answered["us"].to_numpy()[during])
