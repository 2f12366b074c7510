"""Delays and losses of the trials of one combination of levels, each trial on its own."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from delaylab_study.analysis.packets.layers import SLIP
from delaylab_study.analysis.packets.rtt import user_rtts
from delaylab_study.analysis.packets.table import MEASURED
from delaylab_study.analysis.packets.trial import TrialPackets, packets_by_way
from delaylab_study.analysis.statistics.runs import Floats
from delaylab_study.dataset.records.outcomes import NO_REPLY, NOT_SENT
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.store import Study

USER = "user RTT"
ROUND_TRIP = "round trip"
AT_WORK = "work"
"""Direction of a part that is work: it goes no way."""
AFTER_EVENT = "after an event"
"""Direction of a time after an event, of which each trial has one value."""
US, SHARE = "us", "share"
"""Units of what packets tell: delays in µs, and shares of packets from 0 to 1."""


@dataclass(frozen=True, slots=True)
class ComparedQuantity:
    """A quantity that two datasets can have in common: the user RTT, a segment (one way), or work.

    Segments are the same if they lie between the same points and have the same layer, and their
    packets went the same way (`way`, "" if all went one).
    """

    name: str
    direction: str
    leg: str = ""
    start: str = ""
    end: str = ""
    at: str = ""
    unit: str = US
    way: str = ""


"""Outcomes of packets that never left the sender, so that nothing on the way lost them."""


@dataclass(frozen=True, slots=True)
class MeasuredParts:
    """Delays in µs by part, and the fate of each packet under load (1 for lost), by repeat.

    `bounds` has the largest error in µs of the parts whose ends two clocks stamped. Parts are in
    the order of the packet's way, the user RTT first.
    """

    delays: dict[ComparedQuantity, dict[int, Floats]] = field(default_factory=dict)
    lost: dict[int, Floats] = field(default_factory=dict)
    bounds: dict[ComparedQuantity, float] = field(default_factory=dict)


def measured(study: Study, trials: list[TrialRecord]) -> MeasuredParts:
    """Read the trials' delays under load."""
    found = MeasuredParts()
    for trial in trials:
        packets = packets_by_way(study, trial)
        _add_all(found, trial.block, packets.whole.of(MEASURED))
        for way, those in packets.on.items():
            named = way if len(packets.on) > 1 else ""
            _add_segments(found, trial.block, those.of(MEASURED), named)
    return found


def _add_all(parts: MeasuredParts, repeat: int, packets: TrialPackets) -> None:
    user = user_rtts(packets.answered).drop_nulls().to_numpy()
    _keep(parts, repeat, ComparedQuantity(USER, ROUND_TRIP), user / 1000)
    slip = packets.packets.scheduled["slip_ns"].drop_nulls().to_numpy()
    _keep(
        parts, repeat, ComparedQuantity(SLIP, "sending", "request", "intended", "sent"), slip / 1000
    )
    fates = _fates(packets.packets.scheduled)
    if len(fates):
        parts.lost[repeat] = fates


def _add_segments(parts: MeasuredParts, repeat: int, packets: TrialPackets, way: str) -> None:
    for each in packets.segments():
        if each.merged:
            continue
        ends = each.leg, each.start, each.end, each.at
        part = ComparedQuantity(each.layer, each.direction, *ends, way=way)
        _keep(parts, repeat, part, each.delay_ns / 1000)
        if each.bound_ns:
            most = max(parts.bounds.get(part, 0.0), each.bound_ns / 1000)
            parts.bounds[part] = most


def _fates(table: pl.DataFrame) -> Floats:
    """Return 1 for each packet that was lost and 0 for each other that was sent, in their order."""
    sent = table.filter(~pl.col("outcome").is_in(NOT_SENT))
    return sent["outcome"].is_in(NO_REPLY).cast(pl.Float64).to_numpy()


def _keep(parts: MeasuredParts, repeat: int, part: ComparedQuantity, values: Floats) -> None:
    if len(values):
        parts.delays.setdefault(part, {})[repeat] = np.asarray(values, dtype=np.float64)
