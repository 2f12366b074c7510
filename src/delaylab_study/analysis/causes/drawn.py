"""Packets of trials that were drawn at random, judged by causes: the share of samples to believe.

The rule is that of `ping --clean`: it adds up what the machines took of a packet's time, and never
looks at the packet's delay.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from delaylab.api.causes import Cause, HostTime, WatchedPacket, host_time_of
from delaylab_study.analysis.packets.rtt import user_rtts
from delaylab_study.analysis.packets.table import MEASURED
from delaylab_study.analysis.packets.trial import TrialPackets
from delaylab_study.analysis.statistics.effects import Effect, share_of_drawn
from delaylab_study.analysis.statistics.quantiles import Quantile, Summary, summarise

FEWEST_CLEAN = 20
"""The fewest clean packets whose median is an estimate."""


@dataclass(frozen=True, slots=True)
class DrawnPacket:
    """A packet that was drawn, and what the kernels on its way took of it.

    `took` is None, and the packet unknown, if not all points of its way saw it. `rtt_ns` is its
    user RTT.
    """

    seq: int
    rtt_ns: int | None
    took: HostTime | None

    @property
    def reasons(self) -> Sequence[Cause] | None:
        """Return the causes that bias it, the largest first; nothing if it is clean.

        None if that is not known.
        """
        return None if self.took is None else self.took.reasons


@dataclass(frozen=True, slots=True)
class DrawnPackets:
    """The drawn packets of a trial in the order of sending; none in datasets of earlier versions.

    `rtts_ns` has the user RTTs of all packets answered under load, shape (n,).
    """

    packets: Sequence[DrawnPacket]
    rtts_ns: NDArray[np.int64]

    @property
    def clean_rtts_ns(self) -> NDArray[np.int64]:
        """Return the user RTTs of the clean packets, shape (n,)."""
        rtts_ns = (each.rtt_ns for each in self.packets if is_clean(each))
        return np.array([ns for ns in rtts_ns if ns is not None], dtype=np.int64)

    def marks(self, of: Callable[[DrawnPacket], bool]) -> NDArray[np.bool_]:
        """Return for each packet whether something is true of it."""
        return np.array([of(each) for each in self.packets], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class BiasReason:
    """A cause that biased packets: how many, and at least how much it took of them, in the median.

    A packet may have several reasons.
    """

    cause: Cause
    packets: int
    median_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleBias:
    """The bias of the packets of trials that have the same levels, by those that were drawn.

    Of `drawn` packets some are biased, some unknown, and `clean` ones are neither; the shares are
    of all that were drawn. `reasons` come with the most frequent first. Medians are of user RTTs in
    µs: `clean_median` of the clean packets, with a reason why there is none if they are too few,
    and `raw` of all packets answered under load, drawn or not.
    """

    drawn: int
    clean: int
    biased: Effect
    unknown: Effect
    reasons: Sequence[BiasReason]
    clean_median: Quantile
    raw: Summary


def is_biased(packet: DrawnPacket) -> bool:
    """Return True if the machines took too much of a packet's time."""
    return bool(packet.reasons)


def is_unknown(packet: DrawnPacket) -> bool:
    """Return True if too much of a packet's time is unknown."""
    return packet.reasons is None


def is_clean(packet: DrawnPacket) -> bool:
    """Return True for a packet that is neither biased nor unknown."""
    return not is_biased(packet) and not is_unknown(packet)


def drawn_packets(
    read: TrialPackets, drawn: Mapping[tuple[int, int], WatchedPacket | None]
) -> DrawnPackets:
    """Judge the drawn packets of a trial, by probe and sequence number.

    One that not all points saw is None.
    """
    answered = read.answered
    keys = answered.scheduled.select("probe", "seq").iter_rows()
    rtts_ns: dict[tuple[int, int], int] = dict(zip(keys, user_rtts(answered), strict=True))
    packets = [
        DrawnPacket(key[1], rtts_ns.get(key), None if packet is None else host_time_of(packet))
        for key, packet in sorted(drawn.items(), key=lambda item: item[0])
    ]
    return DrawnPackets(packets, user_rtts(read.of(MEASURED).answered).to_numpy())


def sample_bias(trials: Sequence[DrawnPackets]) -> SampleBias | None:
    """Return what the drawn packets of trials with the same levels say; None if there are none."""
    known = [each for each in trials if each.packets]
    if not known:
        return None
    clean = [each.clean_rtts_ns for each in known]
    return SampleBias(
        drawn=sum(len(each.packets) for each in known),
        clean=sum(map(len, clean)),
        biased=share_of_drawn([each.marks(is_biased) for each in known]),
        unknown=share_of_drawn([each.marks(is_unknown) for each in known]),
        reasons=_reasons([packet for each in known for packet in each.packets]),
        clean_median=_clean_median(clean),
        raw=summarise([each.rtts_ns for each in known]),
    )


def _reasons(packets: Sequence[DrawnPacket]) -> list[BiasReason]:
    took_ns: dict[Cause, list[int]] = {}
    for packet in packets:
        for cause in packet.reasons or ():
            if packet.took is not None:
                took_ns.setdefault(cause, []).append(packet.took.by_cause[cause])
    found = [BiasReason(each, len(ns), statistics.median(ns)) for each, ns in took_ns.items()]
    return sorted(found, key=lambda reason: -reason.packets)


def _clean_median(rtts_ns: Sequence[NDArray[np.int64]]) -> Quantile:
    clean = sum(map(len, rtts_ns))
    if clean < FEWEST_CLEAN:
        why = f"an estimate needs {FEWEST_CLEAN} clean packets; of those drawn {clean} are clean"
        return Quantile(None, None, why)
    return summarise(rtts_ns).median
