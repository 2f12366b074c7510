"""The slowest packets of a study, and what they lost their time in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from delaylab.api.files import JsonObject
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.over_time.slowest import NAMED, SlowPacket
from delaylab_study.charts import words
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report import value as v
from delaylab_study.report.sections.section import Report

NOTE = (
    "The packets under load whose user RTT is furthest above the median of their own levels. Lost "
    "in: the segment that took the most extra time, one way, compared with its median. Machine: "
    "the share of all CPUs' time that was busy or stolen then, the share of the time in which some "
    "task waited for a CPU, and the busiest programs and control groups outside the lab in that "
    "second."
)
COLUMNS = (
    v.Column("trials, packet", "label", v.TERMINAL, ratio=2, long="fold"),
    v.Column("user RTT (median)", on=v.WIDE),
    v.Column("lost in", "label", v.WIDE, ratio=3, long="fold"),
    v.Column("user RTT (median), lost in", "label", v.NARROW, ratio=3, long="fold"),
    v.Column("trials", "label", v.PAGE),
    v.Column("packet", "text", v.PAGE),
    *(v.Column(head, on=v.PAGE) for head in ("user RTT", "their median", "lost")),
    *(v.Column(head, "text", v.PAGE) for head in ("lost in", "machine then")),
)


def section(report: Report) -> v.Section:
    """Return the table of the slowest packets, if there are any."""
    found = slowest(report.groups)
    return v.Section("slowest", [table(found)] if found else [])


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return the trial's slowest packets."""
    found = group.packets.slowest if group and group.packets else []
    return {"slowest": [_json(packet) for packet in found]}


def slowest(groups: list[Group]) -> list[tuple[Group, SlowPacket]]:
    """Return the slowest packets of a study, each compared with packets of the same levels."""
    found = [
        (group, packet) for group in groups if group.packets for packet in group.packets.slowest
    ]
    return sorted(found, key=lambda pair: -pair[1].times)[:NAMED]


def table(found: Sequence[tuple[Group, SlowPacket]]) -> v.Table:
    """Return slow packets with the segments that they lost their time in."""
    return v.Table(COLUMNS, [_row(*each) for each in found], "The slowest packets", NOTE)


def _row(group: Group, packet: SlowPacket) -> v.Row:
    part = packet.lost_in
    trials = group.label_of(packet.trial)
    seq = f"{packet.seq} at {packet.after_s:.2f} s"
    rtt, usual = words.delay(packet.rtt_us), words.delay(packet.usual_us)
    layer = f"{part.layer}{f' ({part.at})' if part.at else ''}, {part.direction}"
    lost = f"{words.signed(part.lost_us)} (of {words.delay(part.delay_us)})"
    machine = _machine(packet)
    both, where = f"{rtt} ({usual})", f"{lost} in {layer}\nmachine: {machine}"
    head = (v.Span(trials, "strong"), f"\nseq {seq}")
    return [head, both, where, f"{both}\n{where}", trials, seq, rtt, usual, lost, layer, machine]


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
