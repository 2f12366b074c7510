"""Ways that packets really went, where routing daemons decide: read from the routers' stamps.

The plan knows the paths of the least cost. Once a link or a router fails, packets take others. Taps
stand at all routers (`ProbeWay.beside`), so each packet's stamps name the links that it took.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from delaylab.api.lab import Lab
from delaylab.api.plans import KeptPlan, NodePath, ProbeWay, way_over
from delaylab_study.dataset.records.ways import MOST_WAYS
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.stamps import SEPARATOR, Passed


def with_gone_ways(
    way: ProbeWay, plan: KeptPlan, lab: Lab, probe: ProbeSpec, passed: Sequence[Passed]
) -> ProbeWay:
    """Return a probe's way with those that its packets went beside the planned ones.

    `passed` has where packets were stamped, the most frequent first (`stamps.passed`). A packet
    that was lost, or that passed a router twice, makes no way. Of more than `MOST_WAYS` the most
    frequent are kept.
    """
    known = {(_links(one.hops), _links(one.back)) for one in way.every}
    others = list(way.others)
    for there, back in _paths(plan, probe, passed):
        found = way_over(plan, lab, probe, there, back)
        key = _links(found.hops), _links(found.back)
        if key not in known and len(others) < MOST_WAYS - 1:
            known.add(key)
            others.append(found)
    return replace(way, others=tuple(others))


def _links(hops: Sequence[object] | None) -> tuple[str, ...] | None:
    return None if hops is None else tuple(str(getattr(hop, "link", "")) for hop in hops)


def _paths(
    plan: KeptPlan, probe: ProbeSpec, passed: Sequence[Passed]
) -> Iterator[tuple[NodePath, NodePath]]:
    """Yield the paths of packets that arrived and came back; neither passes a node twice."""
    for there, back in passed:
        out = _path(plan, probe.sender, probe.to, there)
        home = _path(plan, probe.to, probe.sender, back)
        if out is not None and home is not None:
            yield out, home


def _path(plan: KeptPlan, start: str, end: str, passed: str | None) -> NodePath | None:
    """Return the path over the locations that a packet passed; None if they make none.

    They are in pairs, the interface by which it came to a router and that by which it left.
    """
    if passed is None:
        return None
    ends = [location.partition("@")[::2] for location in passed.split(SEPARATOR)]
    arrivals, departures = ends[::2], ends[1::2]
    nodes = [node for node, _ in arrivals]
    links = [link for _, link in arrivals] + [link for _, link in departures[-1:]]
    joined = [node for node, _ in departures] == nodes and [
        link for _, link in departures[:-1]
    ] == links[1:-1]
    whole = (start, *nodes, end)
    if not joined or len(set(whole)) < len(whole):
        return None
    first, last = ({each.link for each in plan.nodes[node].attachments} for node in (start, end))
    return NodePath(whole, tuple(links)) if links[0] in first and links[-1] in last else None
