"""The slowest packets of a study in words, for terminal and page."""

from __future__ import annotations

from dataclasses import dataclass

from delaylab.analysis.group import Group
from delaylab.analysis.over_time.slowest import NAMED, SlowPacket
from delaylab.charts import words

NOTE = (
    "The packets under load whose user RTT is furthest above the median of their own levels. Lost "
    "in: the segment that took the most extra time, one way, compared with its median. Machine: "
    "the share of all CPUs' time that was busy or stolen then, and the share of the time in which "
    "some task waited for a CPU."
)


@dataclass(frozen=True, slots=True)
class Row:
    """One slow packet as words."""

    trials: str
    packet: str
    rtt: str
    usual: str
    layer: str
    lost: str
    machine: str


def slowest(groups: list[Group]) -> list[Row]:
    """Return the slowest packets of a study, each compared with packets of the same levels."""
    found = [
        (group, packet) for group in groups if group.packets for packet in group.packets.slowest
    ]
    ranked = sorted(found, key=lambda pair: -pair[1].times)
    return [row(group.label, packet) for group, packet in ranked[:NAMED]]


def row(label: str, packet: SlowPacket) -> Row:
    """Return a packet as words."""
    part = packet.lost_in
    at = f" ({part.at})" if part.at else ""
    return Row(
        trials=label,
        packet=f"{packet.seq} at {packet.after_s:.2f} s",
        rtt=words.delay(packet.rtt_us),
        usual=words.delay(packet.usual_us),
        layer=f"{part.layer}{at}, {part.direction}",
        lost=f"{words.signed(part.lost_us)} (of {words.delay(part.delay_us)})",
        machine=_machine(packet),
    )


def _machine(packet: SlowPacket) -> str:
    known = {
        "busy": packet.busy,
        "waiting": packet.pressure,
        "stolen": packet.steal or None,
    }
    said = [f"{words.share(share)} {name}" for name, share in known.items() if share is not None]
    return ", ".join(said) or "not known"
