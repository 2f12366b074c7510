"""Words of one packet that was looked at: how slow it was, and what it waited for."""

from __future__ import annotations

from collections.abc import Iterator

from delaylab.api.causes import cause
from delaylab_study.analysis.causes.explained import LookedAt

SMALL = 0.03
"""The share of a packet's excess below which a cause is not named."""


def title(packet: LookedAt) -> str:
    """Return which packet it is, its round trip, and how much longer that was than usual."""
    levels = ", ".join(f"{name}={level}" for name, level in packet.trial.factors.items())
    return (
        f"{levels or packet.trial.id}, repeat {packet.trial.repeat}, seq {packet.seq}: "
        f"{time(packet.rtt_ns)}, {time(packet.explained.excess_ns)} more than usual"
    )


def named_causes(packet: LookedAt) -> Iterator[tuple[int, str]]:
    """Yield the time of each cause that is not small in ns, and its segment and cause in words."""
    found = packet.explained
    for share in found.shares:
        if abs(share.ns) >= SMALL * found.excess_ns:
            yield share.ns, f"{packet.segments[share.segment]}: {cause(share, found)}"


def time(ns: float, *, signed: bool = False) -> str:
    """Return a time in µs, from 1 ms on in ms."""
    sign = "+" if signed and ns > 0 else ""
    return f"{sign}{ns / 1e3:.0f} µs" if abs(ns) < 1e6 else f"{sign}{ns / 1e6:.2f} ms"
