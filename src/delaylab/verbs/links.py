"""Verb `delaylab link show`, and the output of `link set`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from delaylab.io.values import JsonObject
from delaylab.lab.links import link_engines
from delaylab.lab.links.interfaces import InterfaceReport
from delaylab.lab.running import LiveLab
from delaylab.machines.backlog import backlog
from delaylab.records.links import Direction, EngineReport, Underlay
from delaylab.records.underlays import ClosedWay, MeasuredUnderlay
from delaylab.spec.conditions.words import one_line
from delaylab.verdicts.links import Verdict, engine_reasons, judge

DOWN_FIELDS = {"host", "agent", "engine", "state", "why", "directions"}
WITH_COSTS = frozenset({"ospfd", "ospf6d", "isisd", "bird"})
"""The daemons that have costs of links."""
NOW = "just now"
AGAIN = "verdicts are about all frames since the counts began; `link show --reset` begins anew"


def shown(lab: LiveLab, link: str | None, *, reset: bool = False) -> list[EngineReport]:
    """Return the reports of a lab's engines on all its links, or on one.

    With `reset` the counters of all links then start anew, and so do the verdicts.
    Raise BadInput if the lab has no such link with conditions.
    """
    if link is not None:
        link_engines.check_conditioned(lab, link)
    return of_link(link_engines.reports(lab, reset=reset), link)


def of_link(reports: list[EngineReport], link: str | None) -> list[EngineReport]:
    """Return the reports with the directions of one link only, or of all."""
    if link is None:
        return reports
    return [
        report.model_copy(
            update={"directions": [each for each in report.directions if each.link == link]}
        )
        for report in reports
    ]


def print_interfaces(reports: list[InterfaceReport], console: Console) -> None:
    """Print a line for each direction of a host's interface; nothing if no host has any."""
    if not reports:
        return
    table = Table(box=None, pad_edge=False)
    for title in ("INTERFACE", "HOST", "WAY", "RATE"):
        table.add_column(title, overflow="fold")
    for title in ("PASSED", "DROPPED", "WAITING"):
        table.add_column(title, justify="right")
    for each in reports:
        table.add_row(
            each.interface,
            each.host,
            each.way,
            f"{each.rate_bps / 1e6:g} Mbit/s",
            str(each.frames),
            str(each.dropped),
            str(each.waiting_frames),
        )
    console.print(table)
    console.print("interfaces count from the start of the lab on", soft_wrap=True)


def costs(lab: LiveLab, link: str | None) -> dict[str, dict[str, int]]:
    """Return what routers' daemons have as the costs of their ends of links, by link."""
    if not any(WITH_COSTS.intersection(node.programs) for node in lab.plan.nodes.values()):
        return {}
    # Most labs have no daemons, and then the lab's file is not read for this verb.
    from delaylab.lab.routing import link_costs  # noqa: PLC0415

    return link_costs.now(lab, link)


def print_costs(found: Mapping[str, Mapping[str, int]], console: Console) -> None:
    """Print the costs of links that differ from 1, the cost of a link that states none."""
    for link, ends in found.items():
        if set(ends.values()) == {1}:
            continue
        same = len(set(ends.values())) == 1
        said = [f"{cost} from {node}" for node, cost in ends.items()]
        text = str(next(iter(ends.values()))) if same else ", ".join(said)
        console.print(f"cost of {link}: {text}", soft_wrap=True)


def as_json(
    reports: list[EngineReport],
    underlays: Sequence[MeasuredUnderlay] = (),
    closed: Sequence[ClosedWay] = (),
) -> list[JsonObject]:
    """Return the reports, with a verdict for each direction of a node.

    `underlays` are the networks between machines as measured now, `closed` the ways between them
    that do not take the links' frames.
    """
    judged = judge(reports, underlays, NOW, closed)
    verdicts = {(v.host, v.direction.port, v.direction.receives): v for v in judged}
    return [
        {
            **_engine_fields(report),
            "directions": [
                {
                    **_message(direction),
                    **_verdict(verdicts.get((report.host, direction.port, direction.receives))),
                }
                for direction in report.directions
            ],
        }
        for report in reports
    ]


def _engine_fields(report: EngineReport) -> JsonObject:
    """Return an engine's own fields; one that is down has counted nothing, so it has no counts."""
    counted = None if report.running else DOWN_FIELDS
    return report.model_dump(mode="json", by_alias=True, include=counted)


def print_links(
    reports: list[EngineReport],
    console: Console,
    underlays: Sequence[MeasuredUnderlay] = (),
    closed: Sequence[ClosedWay] = (),
) -> None:
    """Print a line per direction: conditions, passed, dropped, lateness, why it did not hold.

    `underlays` are the networks between machines as measured now, `closed` the ways between them
    that do not take the links' frames.
    """
    verdicts = judge(reports, underlays, NOW, closed)
    if not verdicts and not any(not report.running for report in reports):
        console.print("no link has conditions")
        _print_closed(closed, console)
        return
    table = Table(box=None, pad_edge=False)
    for title in ("LINK", "FROM", "CONFIGURED (one way)"):
        table.add_column(title, overflow="fold")
    for title in ("IN", "OUT", "DROPPED", "LATE p50/p99"):
        table.add_column(title, justify="right")
    for verdict in verdicts:
        direction = verdict.direction
        table.add_row(
            direction.link,
            _end(direction),
            one_line(direction.configured) or "nothing",
            str(direction.entered.frames),
            str(direction.left.frames),
            _dropped_text(verdict),
            _late_text(verdict),
        )
    console.print(table)
    for line in dict.fromkeys(_lines(reports, verdicts)):
        console.print(line, soft_wrap=True)
    for each in underlays:
        console.print(_measured(each), soft_wrap=True)
    _print_closed(closed, console)
    if (here := backlog()) is not None and here.dropped:
        console.print(f"backlog of this machine's kernel: {here.text}", soft_wrap=True)


def _print_closed(closed: Iterable[ClosedWay], console: Console) -> None:
    """Print a line for each way between machines that does not take the frames of its links."""
    for each in closed:
        console.print(f"{each.why(NOW)} (links: {', '.join(each.links)})", soft_wrap=True)


def _end(direction: Direction) -> str:
    nodes = ", ".join(direction.nodes) or str(direction.node)
    return f"to {nodes}" if direction.receives else nodes


def _direction(verdict: Verdict) -> str:
    direction = verdict.direction
    return f"{direction.link} {direction.preposition} {direction.node}"


def _message(direction: Direction) -> JsonObject:
    unset = {"configured_first"} if direction.steady else set[str]()
    if not direction.downtimes:
        unset.add("downtimes")
    if direction.underlay is None:
        unset |= {"underlay", "short"}
    return direction.model_dump(mode="json", by_alias=True, exclude=unset)


def _verdict(verdict: Verdict | None) -> JsonObject:
    if verdict is None:
        return {}
    late = {"p50_ns": verdict.late.p50_ns, "p99_ns": verdict.late.p99_ns}
    return {"held": verdict.held, "why_not": list(verdict.why), "late_at_receiver": late}


def _lines(reports: list[EngineReport], verdicts: list[Verdict]) -> Iterator[str]:
    for report in reports:
        if not report.running:
            yield f"links of {report.host} are down: {report.why}"
        if report.cpu_noise.known:
            yield f"link engine on host {report.host}: {report.cpu_noise.text}"
        yield from (f"note, {report.host}: {note}" for note in report.notes)
    for report in reports:
        concerned = [v for v in verdicts if report.host in v.at_fault]
        if report.running and concerned:
            why = "; ".join(engine_reasons(report))
            links = dict.fromkeys(verdict.direction.link for verdict in concerned)
            yield f"not held ({', '.join(links)}), because {why}"
    for downtimes in dict.fromkeys(verdict.downtimes for verdict in verdicts if verdict.downtimes):
        yield f"{downtimes.link}: {downtimes.text}"
    below = {each.direction.link: each.direction.underlay for each in verdicts}
    yield from (f"{link}: {_below(each)}" for link, each in below.items() if each is not None)
    for verdict in verdicts:
        if verdict.of_direction:
            why = "; ".join(verdict.of_direction)
            yield f"{_direction(verdict)}: not held, because {why}"
        if verdict.direction.moved:
            yield f"{_direction(verdict)}: {_moved(verdict.direction.moved)}"
        if verdict.used and verdict.unjudged:
            which = f"{', '.join(verdict.unjudged)} {'is' if len(verdict.unjudged) == 1 else 'are'}"
            yield f"{_direction(verdict)}: its conditions changed; {which} not judged"
    if any(verdict.why or verdict.unjudged for verdict in verdicts if verdict.used):
        yield AGAIN


def _moved(frames: int) -> str:
    """Return in words that frames came with the MAC address of another end of their link."""
    came = "1 frame came" if frames == 1 else f"{frames} frames came"
    return f"{came} with the MAC address of another end of the link"


def _below(underlay: Underlay) -> str:
    """Return the part of a link's delay that the network between its machines takes, in words."""
    least, p99 = underlay.least_rtt_ns / 1e6, underlay.p99_rtt_ns / 1e6
    return (
        f"the network between its machines takes {underlay.delay_ns / 1e6:.3f} ms of its delay "
        f"(round trip before the lab was up: {least:.3f} ms at least, p99 {p99:.3f} ms; "
        f"{underlay.lost} of {underlay.sent} pings lost)"
    )


def _measured(underlay: MeasuredUnderlay) -> str:
    """Return the network between two machines as measured now, in words."""
    pair = f"the network between machines {underlay.machine} and {underlay.other} {NOW}"
    if underlay.least_rtt_ns is None or underlay.p99_rtt_ns is None:
        return f"{pair}: not known, pings are not answered"
    least, p99 = underlay.least_rtt_ns / 1e6, underlay.p99_rtt_ns / 1e6
    lost = f"{underlay.lost} of {underlay.sent} pings lost"
    return f"{pair}: round trip {least:.3f} ms at least, p99 {p99:.3f} ms; {lost}"


def _dropped_text(verdict: Verdict) -> str:
    counts = verdict.direction.dropped.model_dump()
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "0"


def _late_text(verdict: Verdict) -> str:
    late = verdict.late
    if not late.count or late.p50_ns is None or late.p99_ns is None:
        return "–"
    return f"{late.p50_ns / 1000:.1f} / {late.p99_ns / 1000:.1f} µs"
