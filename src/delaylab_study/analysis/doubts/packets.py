"""Doubts about the data: typed warnings, each with a remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from delaylab.api.records import Doubt, DoubtKind, doubt, each_once
from delaylab_study.analysis.clocks.when_seen import when_seen
from delaylab_study.analysis.packets.accounting import Account
from delaylab_study.analysis.packets.table import Packets, stations_of
from delaylab_study.analysis.statistics.quantiles import Summary
from delaylab_study.analysis.statistics.runs import Numbers
from delaylab_study.dataset.records.trial import TrialRecord

ENOUGH = 100
# A trial shorter than so many times the memory of its packets does not show how long that is.
MEMORIES = 10
# A packet sent this long before its time shows that the clock was set.
STEP_NS = 1_000_000


def doubts(
    trials: list[TrialRecord],
    measured: Packets,
    account: Account,
    user_ns: Numbers,
    in_downtimes: int = 0,
    user: Summary | None = None,
) -> list[Doubt]:
    """Return the doubts recorded with a group's trials, and those that its data raise.

    `measured` are the packets under load, `user_ns` their user RTTs in ns, and `user` the summary
    of these. `in_downtimes` packets were lost while a link was down on purpose.
    """
    recorded = [warning for trial in trials for warning in trial.warnings]
    found = [
        *recorded,
        *_few(len(user_ns)),
        *(_long_memory(user) if user is not None and len(trials) == 1 else ()),
        *_slip(measured.scheduled, trials[0].interval_ns),
        *_dropped(trials),
        *_queue_changed(trials),
        *_unseen(account),
        *_lost(account, in_downtimes),
        *_closed(account),
        *_unsent(account),
        *_clock(measured.scheduled, user_ns),
        *_backwards(measured, trials[0]),
    ]
    return each_once(found)


def way_doubts(account: Account, elsewhere: Sequence[pl.DataFrame]) -> Iterator[Doubt]:
    """Yield a doubt about packets that fit several ways, and one about those that fit no way.

    `elsewhere` has both, or nothing if there is one way. Packets without an answer that fit several
    ways were lost before these part: they are among the lost ones.
    """
    for packets, fit in zip(elsewhere, ("more than one way", "no way"), strict=False):
        found = packets if fit == "no way" else packets.filter(pl.col("outcome") == "replied")
        if len(found):
            yield doubt(
                DoubtKind.WAY_UNKNOWN,
                f"the stamps of {len(found)} of {account.scheduled} packets fit {fit} of those "
                "recorded: these packets count in round trips, and in no segment",
                "look for routes that changed while they were under way, for a loop, and for "
                "points that dropped stamps",
                packets=len(found),
                scheduled=account.scheduled,
            )


def _few(n: int) -> Iterator[Doubt]:
    if n < ENOUGH:
        yield doubt(
            DoubtKind.FEW_SAMPLES,
            f"{n} packets answered under load: p99 rests on the largest one or none",
            f"probe at least {ENOUGH} packets a trial, or run with --scale paper",
            packets=n,
        )


def _long_memory(user: Summary) -> Iterator[Doubt]:
    """Yield a doubt if a trial is too short for the memory of its packets.

    Repeats show by how much trials differ, whatever the memory is: intervals of several trials
    allow for that, so they are not doubted.
    """
    if user.n < ENOUGH or not 0 < user.n_effective < MEMORIES:
        return
    due = float(f"{user.n * MEMORIES / user.n_effective:.2g}")
    yield doubt(
        DoubtKind.LONG_MEMORY,
        f"{user.n} packets under load depend on each other so long that their median varies as "
        f"that of {user.n_effective:.1f} independent packets: intervals may be too narrow",
        f"repeat the trial at least three times, or probe at least {due:.0f} packets",
        packets=user.n,
        independent=user.n_effective,
    )


def _slip(measured: pl.DataFrame, interval_ns: int | None) -> Iterator[Doubt]:
    slip = measured["slip_ns"].drop_nulls()
    if len(slip) == 0 or not interval_ns:
        return
    p99 = float(np.quantile(slip.to_numpy(), 0.99))
    if p99 > interval_ns / 10:
        yield doubt(
            DoubtKind.SEND_SLIP,
            f"p99 of the send slip is {p99 / 1000:.0f} µs, over a tenth of the interval "
            f"({interval_ns / 1000:.0f} µs)",
            "give the probe a core of its own (cpus) or real-time scheduling, or a longer interval",
            slip_p99_us=p99 / 1000,
            interval_us=interval_ns / 1000,
        )


def _dropped(trials: list[TrialRecord]) -> Iterator[Doubt]:
    for trial in trials:
        for tap in trial.taps:
            if tap.dropped:
                yield doubt(
                    DoubtKind.DROPPED_STAMPS,
                    f"{trial.id}: the tap at {tap.point} dropped {tap.dropped} of "
                    f"{tap.packets + tap.dropped} packets",
                    "probe more slowly, or give the tap more CPU",
                    trial=trial.id,
                    point=tap.point,
                    dropped=tap.dropped,
                    packets=tap.packets + tap.dropped,
                )


def _queue_changed(trials: list[TrialRecord]) -> Iterator[Doubt]:
    for trial in trials:
        for tap in trial.taps:
            if not tap.queue_changed:
                continue
            if tap.queue == tap.queue_after:
                seen = f"the queue ({tap.queue}) at {tap.point} was set anew during the trial"
            else:
                seen = (
                    f"the queue at {tap.point} was {tap.queue} when the tap started and "
                    f"{tap.queue_after} at the end"
                )
            meaning = (
                "packets wait in it behind their stamp, so that time counts as the next layer's"
                if tap.by == "tcx"
                else "delays from before and after the change are pooled"
            )
            yield doubt(
                DoubtKind.QUEUE_CHANGED,
                f"{trial.id}: {seen}: {meaning}",
                "leave the queues of tapped interfaces alone while measuring (an uplink's rate "
                "belongs in the lab file), and run again",
                trial=trial.id,
                point=tap.point,
                queue=tap.queue,
                queue_after=tap.queue_after,
            )


def _unseen(account: Account) -> Iterator[Doubt]:
    for point in account.points:
        if point.unseen:
            where = f"{point.leg}, {point.way}" if point.way else point.leg
            yield doubt(
                DoubtKind.UNSEEN,
                f"{point.unseen} of {account.scheduled} packets passed {point.point} "
                f"({where}) without a stamp; their neighbouring segments are merged",
                "the first packets after the start may lack stamps: send some at rest first",
                point=point.point,
                leg=point.leg,
                unseen=point.unseen,
                scheduled=account.scheduled,
            )


def _lost(account: Account, in_downtimes: int) -> Iterator[Doubt]:
    lost = sum(account.lost_after.values()) - in_downtimes
    dropped = account.responder_dropped
    if dropped:
        yield doubt(
            DoubtKind.RESPONDER_DROPS,
            f"the responder's kernel dropped {dropped} replies (Icmp OutErrors): "
            "not the network's loss",
            "use UDP with a reflector, or probe more slowly; the kernel's buffer for ICMP answers "
            "serves all labs",
            dropped=dropped,
        )
    also = f", apart from {in_downtimes} while a link was down" if in_downtimes else ""
    if lost > max(dropped, account.scheduled // 100):
        yield doubt(
            DoubtKind.LOST,
            f"{lost} of {account.scheduled} packets lost{also}: the delays are those of the "
            "survivors",
            "read the account of where they were last seen before comparing delays",
            lost=lost,
            scheduled=account.scheduled,
        )


def _unsent(account: Account) -> Iterator[Doubt]:
    if account.unsent_replies:
        yield doubt(
            DoubtKind.FORGED_REPLIES,
            f"{account.unsent_replies} more packets were answered than the responder's kernel sent "
            "echo replies: another node answered them in its name",
            "find out who (`run --pcap`), and do not believe these delays",
            replies=account.unsent_replies,
        )


def _closed(account: Account) -> Iterator[Doubt]:
    closed = account.outcomes.get("closed", 0)
    if closed:
        yield doubt(
            DoubtKind.CLOSED_PORT,
            f"a closed port answered {closed} of {account.scheduled} packets: the delays are those "
            "of a reset",
            "run a server at the probe's `port`, or name another port",
            closed=closed,
            scheduled=account.scheduled,
        )


def _clock(measured: pl.DataFrame, user_ns: Numbers) -> Iterator[Doubt]:
    early = int((measured["slip_ns"].drop_nulls() < -STEP_NS).sum())
    negative = int((user_ns < 0).sum())
    if early or negative:
        yield doubt(
            DoubtKind.CLOCK_STEP,
            f"the clock was set during the trial: {early} packets were sent before their time, "
            f"{negative} have a negative RTT",
            "stop time synchronisation from stepping the clock (slewing is fine), run again",
            early=early,
            negative=negative,
        )


def _backwards(measured: Packets, trial: TrialRecord) -> Iterator[Doubt]:
    for start, end in pairwise(stations_of(trial.way)):
        stamps = (measured.stations[station].times for station in (start, end))
        (by_start, started), (by_end, ended) = map(when_seen, stamps)
        both = by_start & by_end
        packets, back = int(both.sum()), int((both & (ended < started)).sum())
        if back > packets // 100:
            yield doubt(
                DoubtKind.BACKWARDS,
                f"{back} of {packets} packets were stamped at {end} before {start}",
                f"add the segment from {start} to {end} to the next one: these points stamp in "
                "the other order here",
                start=str(start),
                end=str(end),
                backwards=back,
                packets=packets,
            )
