"""The nodes' work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from math import isfinite

from delaylab.api.files import JsonObject
from delaylab_study.analysis.domains import mean_shares
from delaylab_study.analysis.doubts.cpu_time import CpuTimes, cpu_times
from delaylab_study.analysis.fairness import WITHIN, NodeShare
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.work import FoundFigure, NodeWork, Work
from delaylab_study.charts import words
from delaylab_study.charts.messages import message_charts
from delaylab_study.charts.work import work_charts
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.sections.section import Report, interval

# Largest number of works, each of one group, that the terminal shows with their nodes.
SHOWN = 8
NOTE = (
    "Share: a node's rate of work in % of the mean of all nodes, while all worked, ± half of its "
    "95 % interval between trials; 100 is fair. CPU time: of this work, as the node's own kernel "
    "says (getrusage), and of all that the node did meanwhile, as this machine's kernel says of "
    "its control group (cgroup); how far that is from getrusage, if over 10 %; and how much "
    "of it the virtual CPUs of a machine took: the rest is its hypervisor's. Longest stop: the "
    "longest time without progress, which work of cpu tells every 5 ms, work of tcp every 100 ms, "
    "and work of scp every second."
)


MESSAGES = (
    "Times of messages: round-trip, from MPI_Send until as many bytes are back, between the first "
    "two nodes; exchange, MPI_Sendrecv, by which both send at once, about one way; barrier, "
    "MPI_Barrier of all nodes. Medians and least of the repetitions."
)
NODES = (
    v.Column("node", "label", long="fold", key="node"),
    v.Column("share", on=v.TERMINAL),
    v.Column("share (%)", on=v.PAGE),
    v.Column("rate"),
    v.Column("time"),
    *(v.Column(head, on=v.WIDE) for head in ("getrusage", "cgroup", "longest stop")),
    v.Column("getrusage\ncgroup\nlongest stop", on=v.NARROW),
    *(v.Column(f"CPU time ({by})", on=v.PAGE) for by in ("getrusage", "cgroup")),
    v.Column("longest stop", on=v.PAGE),
)
TIMES = (
    v.Column("operation", "label", key="operation"),
    *map(v.Column, ("size", "median", "least")),
)
FIGURES = (v.Column("figure", "label"), v.Column("value"))


def section(report: Report) -> v.Section:
    """Return the tables of all work, and its charts."""
    works = [(group, work) for group in report.groups for work in group.works]
    if not works:
        return v.Section("work", [])
    parts = [
        v.Heading("The nodes' work", 2),
        v.note(NOTE),
        v.Lazy(lambda _: _charts(report), on=v.PAGE),
    ]
    for at, (group, work) in enumerate(works, start=1):
        # One line for the Xen domains of a group.
        domains = _domains(group) if work is group.works[0] else []
        caption = f"{_said(work)}." + (f"\n{NOTE}" if at == min(SHOWN, len(works)) else "")
        parts += _work(group, work, domains, caption, v.ALL if at <= SHOWN else v.PAGE)
        if at > SHOWN:
            head = v.Span(f"{group.label}: {work.name}", "strong")
            parts.append(v.Line((head, f": {_said(work)}"), on=v.TERMINAL))
    for group, work in works:
        for why in _failed(work):
            said = f"work {work.name} of {group.label}: {why}"
            parts.append(v.Line(said, "bad", on=v.TERMINAL))
    return v.Section("work", parts)


def study_json(report: Report) -> JsonObject:
    """Return the work of each group."""
    return {"work": [_json(group, work) for group in report.groups for work in group.works]}


def _charts(report: Report) -> Iterator[v.Part]:
    charts = [*work_charts(report.groups), *message_charts(report.groups)]
    yield v.Block([v.Charts(charts)], "charts")


def _work(
    group: Group, work: Work, domains: list[str], caption: str, on: v.Forms
) -> Iterator[v.Part]:
    of, said = f"{work.name}: {group.label}", _said(work)
    yield v.Heading(of)
    yield v.note(f"{said[:1].upper()}{said[1:]}.")
    yield from (v.note(f"{line}.") for line in domains)
    yield from (v.Noticed("failed", why) for why in _failed(work))
    nodes = [*_nodes(group, work)]
    share = (v.Value("trials", group.label), v.Value("work", work.name))
    yield v.Table(
        *(NODES, nodes, f"Work {of}", caption),
        key="nodes",
        share=(*share, v.Value("unit", work.unit)),
        on=on if nodes else v.TERMINAL,
    )
    yield from (v.Line(f"{line}.", "faint", on=v.TERMINAL) for line in domains if on == v.ALL)
    if messages := _messages(work):
        yield v.note(MESSAGES)
        yield v.Table(
            *(TIMES, messages, f"Messages of {of}", MESSAGES), key="messages", share=share, on=on
        )
    if figures := [_figure(each) for each in work.figures]:
        yield v.Table(FIGURES, figures, f"Figures of {of}", key="figures", share=share, on=on)


def _domains(group: Group) -> list[str]:
    """Return a line for each host with Xen nodes: how its domains shared its CPU time."""
    return [
        f"Xen of {host}, CPU time of its domains: "
        + ", ".join(f"{name} {words.share(share)}" for name, share in shares.items())
        for host, shares in mean_shares(group.trials).items()
    ]


def _failed(work: Work) -> list[str]:
    """Return each reason for which nodes failed, with these nodes."""
    nodes: dict[str, list[str]] = {}
    for node, why in work.failed.items():
        nodes.setdefault(why, []).append(node)
    return [f"{', '.join(names)}: {why}" for why, names in nodes.items()]


def _messages(work: Work) -> list[v.Row]:
    return [
        [
            message.operation,
            v.Value(
                "size_bytes",
                None if message.operation == "barrier" else message.size_bytes,
                how=written.number(lambda size: f"{size:,} B".replace(",", " ")),
            ),
            v.Value("median_ns", message.median_ns, "ns"),
            v.Value("least_ns", message.least_ns, "ns"),
        ]
        for message in work.messages
    ]


def _figure(figure: FoundFigure) -> v.Row:
    """Return a figure's name and its value with its unit."""
    name = figure.name.replace("-", " ")
    for how in ("one way", "per message"):
        name = name.replace(f" {how}", f", {how}")
    unit = v.unseen(v.Value("unit", figure.unit))
    value = v.Value("value", figure.value, figure.unit)
    return [v.Value("name", figure.name, how=written.said(name)), (value, *unit)]


def _said(work: Work) -> str:
    """Return a sentence on the fairness of a work."""
    found = work.fairness
    if work.together:
        return "the nodes did not finish it" if work.failed else "one job of all its nodes"
    if found is None:
        return "fewer than two nodes finished" if work.failed else "one node"
    within = f"within {100 * WITHIN:.0f} % of fair"
    said = {
        "fair": f"fair: all shares are {within}",
        "not fair": f"not fair: a share is not {within}, and {found.worst} got least",
        "open": f"open: more trials would show if all shares are {within}",
    }[found.verdict]
    said += f"; Jain's index {found.jain:.3f}, most / least {found.spread:.2f}"
    if work.courses:
        settled = (
            "never settled within 5 % of fair"
            if work.settled_s is None
            else f"settled within 5 % of fair after {words.seconds(work.settled_s)}"
        )
        said += f", {settled}"
    return said


def _nodes(group: Group, work: Work) -> Iterator[v.Row]:
    differ = {(e.work, e.node): e for e in cpu_times(group.trials)}
    shares = work.fairness.shares if work.fairness is not None else {}
    for node, done in work.nodes.items():
        of_fair = shares[node].of_fair if node in shares else None
        share = v.Value(
            "share_of_fair",
            of_fair.value if of_fair else None,
            "share",
            of_fair.interval if of_fair else v.UNKNOWN,
            how=written.of_fair,
        )
        cpu_s = v.Value("cpu_s", done.user_s + done.system_s, "s")
        own = v.unseen(*v.values({"user_s": done.user_s, "system_s": done.system_s}, "s"))
        rest: list[v.Parts] = [
            (cpu_s, *own),
            _host_cpu(done, differ.get((work.name, node))),
            (v.Value("longest_stop_s", done.longest_stop_s, "s", how=written.stop),),
        ]
        folded = (*rest[0], "\n", *rest[1], "\n", *rest[2])
        rate, time = (
            v.Value("rate", done.rate, work.unit, how=written.rate),
            v.Value("wall_s", done.wall_s, "s"),
        )
        yield [node, share, share, rate, time, *rest, folded, *rest]


def _host_cpu(done: NodeWork, times: CpuTimes | None) -> v.Parts:
    apart = v.Value("cpu_times_differ", times.differ if times else None, "share")
    vcpu = v.Value("vcpu_s", done.vcpu_s, "s")
    agree = times is None or times.agree
    shown = replace(apart, how=written.percent("+.0f"))
    return (
        v.Value("host_cpu_s", done.host_cpu_s, "s"),
        *(v.unseen(apart) if agree else (" (", shown, ")")),
        *(v.unseen(vcpu) if done.vcpu_s is None else (", vCPUs ", vcpu)),
    )


def _json(group: Group, work: Work) -> JsonObject:
    fair = work.fairness
    apart = {each.node: each for each in cpu_times(group.trials) if each.work == work.name}
    shares = fair.shares if fair is not None else {}
    return {
        "factors": group.factors,
        "work": work.name,
        "unit": work.unit,
        "verdict": fair.verdict if fair is not None else None,
        "said": fair.verdict if fair is not None else None,  # the older name of `verdict`
        "jain": fair.jain if fair is not None else None,
        "most_over_least": fair.spread if fair is not None and isfinite(fair.spread) else None,
        "settled_s": work.settled_s,
        "failed": work.failed,
        "together": work.together,
        "messages": [asdict(each) for each in work.messages],
        "figures": [asdict(each) for each in work.figures],
        "nodes": {
            node: {
                **asdict(done),
                "cpu_times_differ": apart[node].differ if node in apart else None,
                "cpu_times_agree": apart[node].agree if node in apart else None,
                **_share_json(shares.get(node)),
            }
            for node, done in work.nodes.items()
        },
    }


def _share_json(share: NodeShare | None) -> JsonObject:
    if share is None:
        return {"share_of_fair": None, "share_of_fair_interval": None}
    of_fair = share.of_fair
    return {
        "share_of_fair": of_fair.value,
        "share_of_fair_interval": interval(of_fair.interval),
        "share_of_cpu_time": share.cpu,
        "share_of_speed": share.speed,
    }
