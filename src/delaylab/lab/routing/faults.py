"""The faults of a running lab: links that are down or silent, nodes and daemons that do not run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from delaylab.agent.wire.programs import ProgramsDone
from delaylab.forwarding.topology import End, Faults
from delaylab.lab.links import link_engines
from delaylab.lab.programs import programs
from delaylab.lab.routing import link_costs
from delaylab.lab.running import LiveLab
from delaylab.records.links import EngineReport
from delaylab.routing.router import SPEAKERS


def faults(lab: LiveLab, *, daemons: bool = True) -> Faults:
    """Return what is out of order in a lab now, by its link engines and its nodes.

    Without `daemons`, all of these are taken to run, with the costs of the lab file.
    """
    states = programs.node_states(lab)
    ends = _ends(link_engines.reports(lab))
    return Faults(
        down=frozenset(ends["down"]),
        silent=frozenset(ends["silent"]),
        nodes=frozenset(name for name, found in states.items() if found.node != "running"),
        mute=frozenset(_mute(lab, states)) if daemons else frozenset(),
        costs=link_costs.told(lab) if daemons else {},
    )


def _ends(reports: Iterable[EngineReport]) -> dict[str, set[End]]:
    """Return the ends of links that are down and those that are silent, by engines' reports."""
    ends: dict[str, set[End]] = {"down": set(), "silent": set()}
    for report in reports:
        for direction in report.of_nodes:
            state = direction.configured.state
            if state in ends and not direction.receives:
                ends[state] |= {(node, direction.link) for node in direction.nodes}
    return ends


def _mute(lab: LiveLab, states: Mapping[str, ProgramsDone]) -> Iterable[str]:
    """Yield the routers of which a daemon that speaks to others has ended, or is frozen."""
    for name, found in states.items():
        if lab.spec.nodes[name].has_daemons:
            spoken = [each for each in found.programs if each.name in SPEAKERS]
            if any(each.ended_ns is not None or each.frozen for each in spoken):
                yield name
