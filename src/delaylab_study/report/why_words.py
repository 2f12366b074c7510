"""Words of one packet that was looked at: how slow it was, and what it waited for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from delaylab.api.causes import cause
from delaylab_study.analysis.causes.explained import LookedAt

SMALL = 0.03
"""The share of a packet's excess below which a cause is not named."""
NONE_NS = 500
"""The time below which there is nothing to show in µs."""


def title(packet: LookedAt) -> str:
    """Return which packet it is, its round trip, and how much longer that was than usual."""
    levels = ", ".join(f"{name}={level}" for name, level in packet.trial.factors.items())
    return (
        f"{levels or packet.trial.id}, repeat {packet.trial.repeat}, seq {packet.seq}: "
        f"{time(packet.rtt_ns)}, {time(packet.explained.excess_ns)} more than usual"
    )


def cpu_name(cpu: str) -> str:
    """Return what a CPU is called: `CPU 0`, on another machine than the sender's `m2 0`."""
    return f"CPU {cpu}" if cpu.isdecimal() else cpu


def named_causes(packet: LookedAt) -> Iterator[tuple[int, str]]:
    """Yield the time of each cause that is not small in ns, and its segment and cause in words.

    Tasks that have the same name are one cause.
    """
    found = packet.explained
    total = Counter[str]()
    for share in found.shares:
        words = cause(share, found) if share.ns > 0 else f"less {share.cause.value} than usual"
        total[f"{packet.segments[share.segment]}: {words}"] += share.ns
    for words, ns in total.most_common():
        if abs(ns) >= SMALL * found.excess_ns:
            yield ns, words


def time(ns: float, *, signed: bool = False) -> str:
    """Return a time in µs, from 1 ms on in ms."""
    if abs(ns) < NONE_NS:
        return "0 µs"
    sign = "+" if signed and ns > 0 else ""
    return f"{sign}{ns / 1e3:.0f} µs" if abs(ns) < 1e6 else f"{sign}{ns / 1e6:.2f} ms"
