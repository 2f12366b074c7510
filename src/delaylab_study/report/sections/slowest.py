"""The slowest packets of a study, and what they lost their time in."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace

from delaylab.api.files import JsonObject
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.over_time.slowest import NAMED, SlowPacket
from delaylab_study.charts import words
from delaylab_study.charts.over_time import anchor, dot_of
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.sections.section import Report

NOTE = (
    "The packets under load whose user RTT is furthest above the median of their own levels, with "
    "their neighbours: packets sent close together that lost their time in the same segment are "
    "one line, which shows the slowest of them. Lost in: the segment that took the most extra "
    "time, one way, compared with its median, and how much that is of the packet's excess over the "
    "median user RTT. Machine: "
    "the share of all CPUs' time that was busy or stolen then, the share of the time in which some "
    "task waited for a CPU, and the busiest programs and control groups outside the lab in that "
    "second."
)
COLUMNS = (
    v.Column("trials, packets", "label", v.TERMINAL, ratio=2, long="fold"),
    v.Column("user RTT (median)", on=v.WIDE),
    v.Column("lost in", "label", v.WIDE, ratio=3, long="fold"),
    v.Column("user RTT (median), lost in", "label", v.NARROW, ratio=3, long="fold"),
    v.Column("trials", "label", v.PAGE, key="trials"),
    v.Column("packets", "text", v.PAGE),
    *(v.Column(head, on=v.PAGE) for head in ("user RTT", "their median", "lost of excess")),
    v.Column("lost in", "text", v.PAGE),
    v.Column("machine then", "text", v.PAGE, key="machine"),
)


STAMPS = (
    *(v.Column(head, "text") for head in ("leg", "stamped at")),
    v.Column("after it was sent"),
    v.Column("segment until there", "text"),
    *map(v.Column, ("delay", "median", "more")),
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


def table(
    found: Sequence[tuple[Group, SlowPacket]],
    key: str = "",
    drawn: Collection[str] = (),
    named: Collection[str] = (),
) -> v.Table:
    """Return slow packets with the segments that they lost their time in.

    `drawn` are the trials whose packets are drawn over time, to which lines lead. A line has the
    packet's name unless another has it already (`named`).
    """
    names = [anchor(*each) for each in found]
    return v.Table(
        COLUMNS,
        [_row(*each, drawn) for each in found],
        "The slowest packets",
        NOTE,
        key=key,
        anchors=["" if name in named else name for name in names],
        opens=[_opens(packet) for _, packet in found],
    )


def _opens(packet: SlowPacket) -> v.Block:
    """Return the stamps of a packet against the medians of its levels."""
    rows: list[v.Row] = []
    after_us = 0.0
    for part in packet.parts:
        after_us += part.delay_us
        worst = part == packet.lost_in
        lost = v.Value("lost_us", part.lost_us, "us", how=written.signed)
        rows.append(
            [
                part.leg,
                part.end,
                v.Value("after_us", after_us, "us"),
                f"{part.layer} ({part.at})" if part.at else part.layer,
                v.Value("delay_us", part.delay_us, "us"),
                v.Value("usual_us", part.usual_us, "us"),
                (replace(lost, tone="strong" if worst else ""),),
            ]
        )
    title = f"stamps of packet {packet.seq} against the medians"
    return v.unfolded(title, [v.Table(STAMPS, rows)])


def _of(group: Group) -> list[SlowPacket]:
    return group.packets.slowest if group.packets else []


def _row(group: Group, packet: SlowPacket, drawn: Collection[str]) -> v.Row:
    part = packet.lost_in
    trials, seq = group.label_of(packet.trial), v.Value("seq", packet.seq)
    after, first, last = (
        v.Value(key, at_s, "s", how=written.fixed(".2f"))
        for key, at_s in (
            ("after_s", packet.after_s),
            ("first_s", packet.first_s),
            ("last_s", packet.last_s),
        )
    )
    rtt = v.Value("rtt_us", packet.rtt_us, "us")
    usual = v.Value("usual_us", packet.usual_us, "us")
    lost: v.Parts = (
        v.Value("lost_us", part.lost_us, "us", how=written.signed),
        *(" of ", v.Value("excess_us", packet.excess_us, "us")),
        *v.unseen(*v.values({"delay_us": part.delay_us, "delay_usual_us": part.usual_us}, "us")),
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
    count = v.Value("packets", packet.packets)
    sent: v.Parts = (seq, " at ", after, " s")
    if packet.packets > 1:
        sent = (count, " packets, ", first, " to ", last, " s")
        sent = (*sent, *v.unseen(seq, after))
    else:
        sent = ("seq ", *sent, *v.unseen(count, first, last))
    head, folded = (v.Span(trials, "strong"), "\n", *sent), (*both, "\n", *where)
    dot = v.Link("drawn", to=dot_of(anchor(group, packet)))
    on_page = (*sent, *v.unseen(v.Value("probe", packet.probe)))
    if packet.trial in drawn:
        on_page = (*on_page, " (", dot, ")")
    return [head, both, where, folded, trials, on_page, rtt, usual, lost, layer, then]


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
        "packets": packet.packets,
        "first_s": packet.first_s,
        "last_s": packet.last_s,
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
