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
from delaylab_study.report import written
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
    v.Column("trials", "label", v.PAGE, key="trials"),
    v.Column("packet", "text", v.PAGE),
    *(v.Column(head, on=v.PAGE) for head in ("user RTT", "their median", "lost")),
    v.Column("lost in", "text", v.PAGE),
    v.Column("machine then", "text", v.PAGE, key="machine"),
)


def section(report: Report) -> v.Section:
    """Return the table of the slowest packets, if there are any."""
    found = slowest(report.groups)
    each = [(group, packet) for group in report.groups for packet in _of(group)]
    of_each = v.Lazy(lambda _: [table(each, "slowest_of_each")], on=v.DATA)
    return v.Section("slowest", [table(found, "slowest"), of_each] if found else [])


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return the trial's slowest packets."""
    return {"slowest": [_json(packet) for packet in (_of(group) if group else [])]}


def slowest(groups: list[Group]) -> list[tuple[Group, SlowPacket]]:
    """Return the slowest packets of a study, each compared with packets of the same levels."""
    found = [(group, packet) for group in groups for packet in _of(group)]
    return sorted(found, key=lambda pair: -pair[1].times)[:NAMED]


def table(found: Sequence[tuple[Group, SlowPacket]], key: str = "") -> v.Table:
    """Return slow packets with the segments that they lost their time in."""
    return v.Table(COLUMNS, [_row(*each) for each in found], "The slowest packets", NOTE, key=key)


def _of(group: Group) -> list[SlowPacket]:
    return group.packets.slowest if group.packets else []


def _row(group: Group, packet: SlowPacket) -> v.Row:
    part = packet.lost_in
    trials, seq = group.label_of(packet.trial), v.Value("seq", packet.seq)
    after = v.Value("after_s", packet.after_s, "s", how=written.fixed(".2f"))
    rtt = v.Value("rtt_us", packet.rtt_us, "us")
    usual = v.Value("usual_us", packet.usual_us, "us")
    lost: v.Parts = (
        v.Value("lost_us", part.lost_us, "us", how=written.signed),
        *(" (of ", v.Value("delay_us", part.delay_us, "us"), ")"),
        *v.unseen(v.Value("delay_usual_us", part.usual_us, "us")),
    )
    at = v.Value("at", part.at)
    layer: v.Parts = (
        v.Value("layer", part.layer),
        *((" (", at, ")") if part.at else v.unseen(at)),
        *(", ", v.Value("direction", part.direction)),
        *v.unseen(*v.values({"leg": part.leg, "from": part.start, "to": part.end})),
    )
    machine = _machine(packet)
    both: v.Parts = (rtt, " (", usual, ")")
    where: v.Parts = (*lost, " in ", *layer, f"\nmachine: {machine}")
    shares = {"busy": packet.busy, "steal": packet.steal, "pressure": packet.pressure}
    then: v.Parts = (machine, *v.unseen(*v.values(shares, "share")))
    sent: v.Parts = (seq, " at ", after, " s", *v.unseen(v.Value("probe", packet.probe)))
    head, folded = (v.Span(trials, "strong"), "\nseq ", *sent), (*both, "\n", *where)
    return [head, both, where, folded, trials, sent, rtt, usual, lost, layer, then]


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
