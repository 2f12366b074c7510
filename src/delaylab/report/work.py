"""Work of the nodes in words, for terminal and page."""

from __future__ import annotations

from dataclasses import dataclass

from delaylab.analysis.domains import mean_shares
from delaylab.analysis.doubts.cpu_time import cpu_times
from delaylab.analysis.fairness import WITHIN, Share
from delaylab.analysis.group import Group
from delaylab.analysis.work import FoundFigure, NodeWork, Work
from delaylab.charts import words

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
class Row:
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
class Part:
    """Work of one group: its rows, what they say together, and who failed.

    `messages` and `figures` are what a program of MPI found. `domains` has a line for each host
    with Xen nodes: how its domains shared its CPU time.
    """

    trials: str
    work: str
    said: str
    rows: list[Row]
    failed: list[str]
    messages: list[Message]
    figures: list[FigureRow]
    domains: list[str]


def parts(groups: list[Group]) -> list[Part]:
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


def _part(group: Group, work: Work, domains: list[str]) -> Part:
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
    return Part(group.label, work.name, _said(work), rows, failed, messages, figures, domains)


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


def _row(node: str, done: NodeWork, work: Work, share: Share | None, differ: float | None) -> Row:
    host_cpu = "–" if done.host_cpu_s is None else words.seconds(done.host_cpu_s)
    if differ is not None:
        host_cpu += f" ({100 * differ:+.0f} %)".replace("-", words.MINUS)
    if done.vcpu_s is not None:
        host_cpu += f", vCPUs {words.seconds(done.vcpu_s)}"
    return Row(
        node=node,
        share="–" if share is None else words.share_of_fair(share.of_fair),
        rate=words.rate(done.rate, work.unit),
        time=words.seconds(done.wall_s),
        own_cpu=words.seconds(done.user_s + done.system_s),
        host_cpu=host_cpu,
        stop="–" if done.longest_stop_s is None else words.delay(done.longest_stop_s * 1e6),
    )
