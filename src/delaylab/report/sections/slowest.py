"""The slowest packets of a study, and what they lost their time in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from rich.table import Table
from rich.text import Text

from delaylab.analysis.group import Group
from delaylab.analysis.over_time.slowest import NAMED, SlowPacket
from delaylab.charts import words
from delaylab.dataset.records.trial import TrialRecord
from delaylab.io.values import JsonObject
from delaylab.report.sections.section import WIDE, Report

NOTE = (
    "The packets under load whose user RTT is furthest above the median of their own levels. Lost "
    "in: the segment that took the most extra time, one way, compared with its median. Machine: "
    "the share of all CPUs' time that was busy or stolen then, the share of the time in which some "
    "task waited for a CPU, and the busiest programs and control groups outside the lab in that "
    "second."
)


@dataclass(frozen=True, slots=True)
class SlowPacketRow:
    """One slow packet as words."""

    trials: str
    packet: str
    rtt: str
    usual: str
    layer: str
    lost: str
    machine: str


def terminal(report: Report, width: int) -> Iterator[Table]:
    """Yield the table of the slowest packets, if there are any."""
    if found := rows(report.groups):
        yield _table(found, width)


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return the trial's slowest packets."""
    found = group.packets.slowest if group and group.packets else []
    return {"slowest": [_json(packet) for packet in found]}


def rows(groups: list[Group]) -> list[SlowPacketRow]:
    """Return the slowest packets of a study, each compared with packets of the same levels."""
    found = [
        (group, packet) for group in groups if group.packets for packet in group.packets.slowest
    ]
    ranked = sorted(found, key=lambda pair: -pair[1].times)
    return [_row(group.label_of(packet.trial), packet) for group, packet in ranked[:NAMED]]


def _row(label: str, packet: SlowPacket) -> SlowPacketRow:
    """Return a packet as words."""
    part = packet.lost_in
    at = f" ({part.at})" if part.at else ""
    return SlowPacketRow(
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
    said += [f"{each.name} {each.cpus:.2f} CPUs" for each in packet.programs]
    said += [f"control group {each.short} {each.cpus:.2f} CPUs" for each in packet.groups]
    return ", ".join(said) or "not known"


def by_trial(groups: list[Group]) -> dict[str, list[SlowPacketRow]]:
    """Return the slowest packets of each group, by its label."""
    return {
        group.label: [
            _row(group.label_of(packet.trial), packet) for packet in group.packets.slowest
        ]
        for group in groups
        if group.packets and group.packets.slowest
    }


def _table(found: list[SlowPacketRow], width: int) -> Table:
    """Return the slowest packets with the segments that they lost their time in."""
    wide = width >= WIDE
    table = Table(
        title="The slowest packets",
        caption=Text(NOTE, "dim italic"),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("trials, packet", ratio=2, overflow="fold")
    if wide:
        table.add_column("user RTT (median)", justify="right")
    table.add_column("lost in" if wide else "user RTT (median), lost in", ratio=3, overflow="fold")
    for row in found:
        head = Text.assemble((row.trials, "bold"), f"\nseq {row.packet}")
        rtt = f"{row.rtt} ({row.usual})"
        lost = f"{row.lost} in {row.layer}\nmachine: {row.machine}"
        table.add_row(head, *([rtt, lost] if wide else [f"{rtt}\n{lost}"]))
    return table


def _json(packet: SlowPacket) -> JsonObject:
    part = packet.lost_in
    return {
        "probe": packet.probe,
        "seq": packet.seq,
        "after_s": packet.after_s,
        "rtt_us": packet.rtt_us,
        "median_rtt_us": packet.usual_us,
        "lost_in": {
            "leg": part.leg,
            "from": part.start,
            "to": part.end,
            "layer": part.layer,
            "at": part.at,
            "direction": part.direction,
            "delay_us": part.delay_us,
            "median_us": part.usual_us,
        },
        "machine": {
            "busy": packet.busy,
            "steal": packet.steal,
            "pressure": packet.pressure,
            "programs": [asdict(program) for program in packet.programs],
            "groups": [asdict(group) for group in packet.groups],
        },
    }
