"""Delays of the probe's packets over a link: stamps at the ports before and behind its engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from delaylab.api.points import LEGS
from delaylab.api.records import Direction
from delaylab_study.analysis.clocks.stations import Station
from delaylab_study.analysis.packets.table import Packets
from delaylab_study.analysis.statistics.runs import Floats
from delaylab_study.dataset.records.ways import Way

VARIES = ("jitter", "reorder", "rate", "trace")
"""Conditions under which the delay varies as configured, so that there is no single error."""


@dataclass(frozen=True, slots=True)
class MeasuredDelays:
    """One-way delays through an engine in µs, of n packets, and their error.

    `error` is None where the delay is configured to vary.
    """

    n: int
    median: float
    p99: float
    error: LinkError | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkError:
    """The measured less the configured delay, one way in µs: mean, deviation, order statistics.

    `least_from_sender` is the least error counted from the stamp before the near port's. The near
    port's stamp may be taken late, so that a packet looks early; the sender's own stamp is never
    later than the packet.
    """

    mean: float
    deviation: float
    least: float
    median: float
    p99: float
    largest: float
    least_from_sender: float


def measured(
    ways: Iterable[tuple[Way, Packets]],
    direction: Direction,
    received: Mapping[str, Direction] = MappingProxyType({}),
) -> MeasuredDelays | None:
    """Return the delays of a trial's packets in one direction of a link.

    Return None if no packet passed both its ports. `ways` give for each way its packets under load.
    `received` are the conditions of what
    nodes receive from the link: no stamp is between the sender's and the receiver's, so the
    receiver's configured delay is subtracted; where that varies, a way is left out. Of what a node
    receives nothing is measured.
    """
    if direction.receives:
        return None
    found = [
        delays for way, packets in ways if (delays := _delays(way, packets, direction, received))
    ]
    if not found:
        return None
    delay_us, longer_us = (np.concatenate(each) for each in zip(*found, strict=True))
    return _measured(delay_us, longer_us, direction)


def _delays(
    way: Way, packets: Packets, direction: Direction, received: Mapping[str, Direction]
) -> tuple[Floats, Floats] | None:
    """Return the delays of one way's packets, and those counted from the stamp before them."""
    for leg, hop in [(each, hop) for each in LEGS for hop in way.taken(each)]:
        if hop.link != direction.link or hop.start not in direction.nodes:
            continue
        before = Station(leg, hop.near)
        # On one host there is no uplink: the engine itself hands a frame on to the far port.
        behind = (Station(leg, _uplink(hop.near)), Station(leg, hop.far))
        after = next((each for each in behind if each in packets.stations), None)
        if before not in packets.stations or after is None:
            return None
        by_receiver = 0.0
        if after == behind[-1] and (receiver := received.get(hop.end)):
            if _varies(receiver):
                return None
            by_receiver = (receiver.configured.delay_ns or 0) / 1000
        delay = _us(packets, before, after) - by_receiver
        if not len(delay):
            return None
        longer = _us(packets, _sent(way, before, packets) or before, after)
        return delay, longer - by_receiver
    return None


def _varies(direction: Direction) -> bool:
    """Return True if the delay of a direction is configured to vary."""
    return not direction.steady or any(name in direction.configured.named for name in VARIES)


def _beyond_ns(direction: Direction) -> int:
    """Return the part of a direction's delay that comes behind the uplink, between machines."""
    return 0 if direction.underlay is None else direction.underlay.delay_ns


def _uplink(near: str) -> str:
    """Return a port's uplink: an engine's frames leave the host there."""
    return near.replace(".vif", ".uplink") if near.endswith(".vif") else f"{near}.uplink"


def _us(packets: Packets, before: Station, after: Station) -> Floats:
    stamps = packets.stations
    return (stamps[after].times - stamps[before].times).drop_nulls().to_numpy() / 1000


def _sent(way: Way, near: Station, packets: Packets) -> Station | None:
    """Return the station before that of the near port, if the reference's clock stamped at both."""
    points = way.points(near.leg)
    at = points.index(near.point) if near.point in points else 0
    if at == 0:
        return None
    before = Station(near.leg, points[at - 1])
    both = [packets.stations.get(each) for each in (before, near)]
    return before if all(each is not None and each.own is None for each in both) else None


def _measured(delay_us: Floats, longer_us: Floats, direction: Direction) -> MeasuredDelays:
    error = None
    if not _varies(direction):
        configured_us = max(0, (direction.configured.delay_ns or 0) - _beyond_ns(direction)) / 1000
        off = delay_us - configured_us
        earliest = (longer_us if len(longer_us) else delay_us).min()
        error = LinkError(
            mean=float(off.mean()),
            deviation=float(off.std()),
            least=float(off.min()),
            median=float(np.median(off)),
            p99=float(np.quantile(off, 0.99)),
            largest=float(off.max()),
            least_from_sender=float(earliest - configured_us),
        )
    median, p99 = np.quantile(delay_us, (0.5, 0.99))
    return MeasuredDelays(len(delay_us), float(median), float(p99), error)
