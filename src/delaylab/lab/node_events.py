"""Events of a running lab's nodes: they stop, are killed, and start again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from delaylab.agent.wire.programs import ControlDone
from delaylab.agent.wire.words import Deed, NodeState
from delaylab.errors import BadInput
from delaylab.lab.links import link_changes
from delaylab.lab.links.link_changes import ChangedConditions
from delaylab.lab.programs import programs
from delaylab.lab.running import LiveLab
from delaylab.spec.conditions.model import ConditionsSpec

NodeDeed = Literal["stop", "start", "kill", "restart"]
STATES = {
    state: ConditionsSpec.model_validate({"state": state}) for state in ("down", "silent", "up")
}
DOWN, SILENT, UP = STATES.values()


@dataclass(frozen=True)
class NodeEvent:
    """An event of a node, and its time: between two times, in ns since 1970 by its clock.

    `programs` are those of the node that it was done to, `links` those that changed with it.
    """

    node: str
    did: NodeDeed
    began_ns: int
    done_ns: int
    programs: tuple[str, ...]
    links: tuple[str, ...]


def require(lab: LiveLab, node: str, names: Sequence[str] = ()) -> None:
    """Raise BadInput if a lab does not have a node or its programs, or if it cannot be cut off."""
    there = lab.planned(node).programs
    for name in names:
        if name not in there:
            what = f"node {node!r} has no program {name!r}"
            raise BadInput(what, fix=f"there are: {', '.join(there) or 'none'}")
    if not names:
        _links(lab, node)


def act(lab: LiveLab, node: str, do: NodeDeed, names: Sequence[str] = ()) -> NodeEvent:
    """Stop, kill, start or restart a node, or only its programs of these names.

    A node that is stopped is frozen: its programs do not run, and nothing that it sends arrives,
    although its links keep their carrier. One that is killed loses its programs at once, and its
    links lose their carrier, as without power. One that starts goes on, or starts its programs
    again.

    Raises BadInput if a link of the node has no conditions, and DelaylabError if a program does not
    become ready.
    """
    if do == "restart":
        first = act(lab, node, "kill", names)
        second = act(lab, node, "start", names)
        return _together(first, second)
    if names:
        return _event(node, do, _of_programs(lab, node, do, names))
    links, began = _links(lab, node), time.time_ns()
    if do == "start":
        wanted = _mended(lab, node, links)
        deed: Deed = "continue" if _state(lab, node) == "stopped" else "start"
    else:
        # Before its programs: what they still send is then not seen by the others.
        wanted = [_wanted(lab, node, link, DOWN if do == "kill" else SILENT) for link in links]
        deed = "kill" if do == "kill" else "freeze"
    reports = link_changes.change_all(lab, wanted) if wanted else []
    changed = link_changes.changed_at(reports, {each.link for each in wanted}, began)
    return _event(node, do, programs.control(lab, node, deed), wanted, changed)


def _of_programs(lab: LiveLab, node: str, do: NodeDeed, names: Sequence[str]) -> ControlDone:
    if do == "start":
        # Those that were frozen go on, those that ended start again.
        programs.control(lab, node, "continue", names)
        return programs.control(lab, node, "start", names)
    deed: Deed = "kill" if do == "kill" else "freeze"
    return programs.control(lab, node, deed, names)


def _mended(lab: LiveLab, node: str, links: Sequence[str]) -> list[ChangedConditions]:
    """Return the changes that bring a node's links into the state of the lab file.

    A cable whose other end has no power stays without carrier.
    """
    states = programs.node_states(lab)
    dead = {name for name, found in states.items() if found.node == "killed" and name != node}
    given = lab.spec.links
    return [
        _wanted(lab, node, link, STATES[given[link].sent[node].first.state or "up"])
        for link in links
        if not given[link].is_pair or not dead & set(given[link].members)
    ]


def _state(lab: LiveLab, node: str) -> NodeState:
    return programs.node_states(lab, only={node})[node].node


def _wanted(lab: LiveLab, node: str, link: str, state: ConditionsSpec) -> ChangedConditions:
    """Return the change of a link that a node's event makes.

    Only a cable between two loses the carrier at both ends; others are on a switch.
    """
    both = lab.spec.links[link].is_pair and state.state != "silent"
    return ChangedConditions(link, None if both else node, state)


def _links(lab: LiveLab, node: str) -> tuple[str, ...]:
    """Return the links of a node; raise BadInput if one of them cannot change."""
    links = tuple(dict.fromkeys(each.link for each in lab.planned(node).attachments))
    plain = next((link for link in links if not lab.plan.has_engine(link)), None)
    if plain is not None:
        what = f"node {node!r} cannot be cut off: its link {plain!r} has no conditions"
        raise BadInput(what, fix="give it one in the lab file, such as `state: up` or `delay: 0s`")
    return links


def _event(
    node: str,
    did: NodeDeed,
    done: ControlDone,
    wanted: Sequence[ChangedConditions] = (),
    changed: tuple[int, int] | None = None,
) -> NodeEvent:
    first, last = changed or (done.began_ns, done.done_ns)
    return NodeEvent(
        node,
        did,
        min(first, done.began_ns),
        max(last, done.done_ns),
        tuple(each.name for each in done.programs),
        tuple(each.link for each in wanted),
    )


def _together(first: NodeEvent, second: NodeEvent) -> NodeEvent:
    return NodeEvent(
        first.node, "restart", first.began_ns, second.done_ns, second.programs, second.links
    )
