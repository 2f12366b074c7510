"""The faults of a running lab: links that are down or silent, nodes that are stopped or killed."""

from __future__ import annotations

from collections.abc import Iterable

from delaylab.dataset.records.links import EngineReport
from delaylab.forwarding.topology import End, Faults
from delaylab.lab import link_engines, programs
from delaylab.lab.running import Lab


def faults(lab: Lab) -> Faults:
    """Return what is out of order in a lab now, by its link engines and its nodes."""
    states = programs.node_states(lab)
    dead = frozenset(name for name, found in states.items() if found.node != "running")
    return of_links(link_engines.reports(lab), dead)


def of_links(reports: Iterable[EngineReport], nodes: frozenset[str] = frozenset()) -> Faults:
    """Return the ends of links that are down or silent by the reports of engines."""
    ends: dict[str, set[End]] = {"down": set(), "silent": set()}
    for report in reports:
        for direction in report.of_nodes:
            state = direction.configured.state
            if state in ends and not direction.receives:
                ends[state] |= {(node, direction.link) for node in direction.nodes}
    return Faults(
        ends_down=frozenset(ends["down"]), ends_silent=frozenset(ends["silent"]), nodes=nodes
    )
