"""The nodes' work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isfinite

from rich.table import Table
from rich.text import Text

from delaylab.analysis.domains import mean_shares
from delaylab.analysis.doubts.cpu_time import cpu_times
from delaylab.analysis.fairness import WITHIN, NodeShare
from delaylab.analysis.group import Group
from delaylab.analysis.work import FoundFigure, NodeWork, Work
from delaylab.charts import words
from delaylab.charts.messages import message_charts
from delaylab.charts.work import work_charts
from delaylab.io.values import JsonObject
from delaylab.report.sections.section import WIDE, Html, Report, interval

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


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node's work as words."""

    node: str
    share: str
    rate: str
    time: str
    own_cpu: str
    host_cpu: str
    stop: str


MESSAGES = (
    "Times of messages: round-trip, from MPI_Send until as many bytes are back, between the first "
    "two nodes; exchange, MPI_Sendrecv, by which both send at once, about one way; barrier, "
    "MPI_Barrier of all nodes. Medians and least of the repetitions."
)


@dataclass(frozen=True, slots=True)
class Message:
    """Time of messages of one size as words."""

    operation: str
    size: str
    median: str
    least: str


@dataclass(frozen=True, slots=True)
class FigureRow:
    """Figure of a program as words."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class WorkInWords:
    """Work of one group: its rows, what they say together, and who failed.

    `messages` and `figures` are what a program of MPI found. `domains` has a line for each host
    with Xen nodes: how its domains shared its CPU time.
    """

    trials: str
    work: str
    said: str
    rows: list[NodeRow]
    failed: list[str]
    messages: list[Message]
    figures: list[FigureRow]
    domains: list[str]


def terminal(report: Report, width: int) -> Iterator[Table | Text]:
    """Yield the tables of all work."""
    yield from _tables(parts(report.groups), width)


def study_json(report: Report) -> JsonObject:
    """Return the work of each group."""
    return {"work": [_json(group, work) for group in report.groups for work in group.works]}


def html(report: Report) -> Html:
    """Return the tables of all work, and its charts."""
    charts = [*work_charts(report.groups), *message_charts(report.groups)]
    values = {"note": NOTE, "messages_said": MESSAGES, "parts": parts(report.groups)}
    return Html({**values, "charts": charts}, charts)


def parts(groups: list[Group]) -> list[WorkInWords]:
    """Return all work of a study's groups. Xen's domains are told once for each group."""
    return [
        _part(group, work, [] if at else _domains(group))
        for group in groups
        for at, work in enumerate(group.works)
    ]


def _domains(group: Group) -> list[str]:
    """Return a line for each host with Xen nodes: how its domains shared its CPU time."""
    return [
        f"Xen of {host}, CPU time of its domains: "
        + ", ".join(f"{name} {words.share(share)}" for name, share in shares.items())
        for host, shares in mean_shares(group.trials).items()
    ]


def _part(group: Group, work: Work, domains: list[str]) -> WorkInWords:
    differ = {(e.work, e.node): e.differ for e in cpu_times(group.trials) if not e.agree}
    shares = work.fairness.shares if work.fairness is not None else {}
    rows = [
        _row(node, done, work, shares.get(node), differ.get((work.name, node)))
        for node, done in work.nodes.items()
    ]
    reasons = dict.fromkeys(work.failed.values())
    failed = [f"{', '.join(_nodes_of(work, reason))}: {reason}" for reason in reasons]
    messages = [
        Message(
            each.operation,
            "–" if each.operation == "barrier" else f"{each.size_bytes:,} B".replace(",", " "),
            words.delay(each.median_ns / 1e3),
            words.delay(each.least_ns / 1e3),
        )
        for each in work.messages
    ]
    figures = [FigureRow(*_figure(each)) for each in work.figures]
    return WorkInWords(
        group.label, work.name, _said(work), rows, failed, messages, figures, domains
    )


def _figure(figure: FoundFigure) -> tuple[str, str]:
    """Return a figure's name and its value with its unit."""
    name = figure.name.replace("-", " ")
    for how in ("one way", "per message"):
        name = name.replace(f" {how}", f", {how}")
    if figure.unit == "ns":
        return name, words.delay(figure.value / 1e3)
    return name, words.rate(figure.value, figure.unit)


def _nodes_of(work: Work, reason: str) -> list[str]:
    """Return the nodes that failed for a reason."""
    return [node for node, why in work.failed.items() if why == reason]


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
    }[found.said]
    said += f"; Jain's index {found.jain:.3f}, most / least {found.spread:.2f}"
    if work.courses:
        settled = (
            "never settled within 5 % of fair"
            if work.settled_s is None
            else f"settled within 5 % of fair after {words.seconds(work.settled_s)}"
        )
        said += f", {settled}"
    return said


def _row(
    node: str, done: NodeWork, work: Work, share: NodeShare | None, differ: float | None
) -> NodeRow:
    host_cpu = "–" if done.host_cpu_s is None else words.seconds(done.host_cpu_s)
    if differ is not None:
        host_cpu += f" ({100 * differ:+.0f} %)".replace("-", words.MINUS)
    if done.vcpu_s is not None:
        host_cpu += f", vCPUs {words.seconds(done.vcpu_s)}"
    return NodeRow(
        node=node,
        share="–" if share is None else words.share_of_fair(share.of_fair),
        rate=words.rate(done.rate, work.unit),
        time=words.seconds(done.wall_s),
        own_cpu=words.seconds(done.user_s + done.system_s),
        host_cpu=host_cpu,
        stop="–" if done.longest_stop_s is None else words.delay(done.longest_stop_s * 1e6),
    )


def _tables(found: Sequence[WorkInWords], width: int) -> Iterator[Table | Text]:
    """Yield a table for each work of a group, and a line for each of those beyond `SHOWN`."""
    for number, part in enumerate(found[:SHOWN]):
        yield _table(part, width, last=number == len(found[:SHOWN]) - 1)
        yield from (Text(f"{line}.", "dim") for line in part.domains)
        yield from _findings(part)
    for part in found[SHOWN:]:
        yield Text.assemble((f"{part.trials}: {part.work}", "bold"), f": {part.said}")
    for part in found:
        yield from (Text(f"work {part.work} of {part.trials}: {why}", "red") for why in part.failed)


def _findings(part: WorkInWords) -> Iterator[Table]:
    """Yield the tables of what a program of MPI found, if it was one."""
    if part.messages:
        caption = Text(MESSAGES, "dim italic")
        table = Table(title=f"Messages of {part.work}: {part.trials}", caption=caption)
        table.title_justify = table.caption_justify = "left"
        for head in ("operation", "size", "median", "least"):
            table.add_column(head, justify="left" if head == "operation" else "right")
        for each in part.messages:
            table.add_row(each.operation, each.size, each.median, each.least)
        yield table
    if part.figures:
        table = Table(title=f"Figures of {part.work}: {part.trials}", title_justify="left")
        table.add_column("figure")
        table.add_column("value", justify="right")
        for figure in part.figures:
            table.add_row(figure.name, figure.value)
        yield table


def _table(part: WorkInWords, width: int, *, last: bool) -> Table:
    wide = width >= WIDE
    caption = f"{part.said}." + (f"\n{NOTE}" if last else "")
    table = Table(
        title=f"Work {part.work}: {part.trials}",
        caption=Text(caption, "dim italic"),
        title_justify="left",
        caption_justify="left",
    )
    heads = ["getrusage", "cgroup", "longest stop"]
    table.add_column("node", overflow="fold")
    for head in ("share", "rate", "time", *(heads if wide else ["\n".join(heads)])):
        table.add_column(head, justify="right")
    for row in part.rows:
        rest = [row.own_cpu, row.host_cpu, row.stop]
        table.add_row(
            row.node, row.share, row.rate, row.time, *(rest if wide else ["\n".join(rest)])
        )
    return table


def _json(group: Group, work: Work) -> JsonObject:
    fair = work.fairness
    apart = {each.node: each for each in cpu_times(group.trials) if each.work == work.name}
    shares = fair.shares if fair is not None else {}
    return {
        "factors": group.factors,
        "work": work.name,
        "unit": work.unit,
        "said": fair.said if fair is not None else None,
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
