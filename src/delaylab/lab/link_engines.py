"""The link engines of a running lab: their reports, and changes of their conditions."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from delaylab.agent.session import AgentError
from delaylab.errors import BadInput, DelaylabError
from delaylab.lab.running import Lab
from delaylab.plan import LinkPorts
from delaylab.spec import (
    ConditionsSpec,
    asked,
    changes,
    check_profile,
    merge,
    why_not,
    why_not_in_kernel,
)

Report = dict[str, Any]
"""An engine's answer to `links` (docs/protocol.md), with its host, agent and engine kind.

The added keys are `host`, `agent` and `engine`.
"""
Asked = dict[str, Any]
Sent = dict[str, list[dict[str, Any]]]
"""A map from agents to the changes for the directions that start at their nodes."""


def agents(lab: Lab) -> list[str]:
    """Return the agents of a lab that carry links with conditions."""
    return [agent.name for agent in lab.plan.agents if agent.links is not None]


def reports(lab: Lab, *, reset: bool = False) -> list[Report]:
    """Return every engine's report on itself and its links; `reset` then restarts its counters.

    An engine that cannot be asked is reported as `down`, with the reason; its links carry nothing.
    """
    return [_report(lab, agent, reset=reset) for agent in agents(lab)]


def since(lab: Lab, first: list[Report]) -> list[Report]:
    """Return every engine's report now, with a note of conditions that changed since `first`.

    A direction whose configuration differs has its earlier one as `asked_first`.
    """
    before = {
        (report["host"], way["port"]): way["asked"] for report in first for way in _of_nodes(report)
    }
    found = reports(lab)
    for report in found:
        for way in _of_nodes(report):
            asked_first = before.get((report["host"], way["port"]), way["asked"])
            if asked_first != way["asked"]:
                way["asked_first"] = asked_first
    return found


def revive(lab: Lab) -> list[str]:
    """Restart the engines that are down; return the hosts whose links are up again.

    Raises DelaylabError if the agent of such an engine is dead.
    """
    down = [report for report in reports(lab) if report["state"] != "running"]
    for report in down:
        _call(lab, report["agent"], "link-restart")
    return [report["host"] for report in down]


def start_timeline(lab: Lab) -> None:
    """Restart the lab's timeline, with the conditions of the lab file restored first."""
    if not lab.spec.timeline:
        return
    back: Sent = defaultdict(list)
    for report in reports(lab):
        for direction in _of_nodes(report):
            link = lab.plan.laid[direction["link"]].link
            first = asked(link, direction["node"])
            back[report["agent"]] += _replacing(direction, direction["asked"], first)
    for agent in agents(lab):
        if back[agent]:
            _call(lab, agent, "link-set", changes=back[agent])
        _call(lab, agent, "link-timeline")


def change(lab: Lab, link: str, node: str | None, given: ConditionsSpec) -> list[Report]:
    """Change the given conditions of a link, on all hosts or none; return the new reports.

    With `node`, only the direction from that member changes. Raises BadInput if the conditions are
    impossible, and DelaylabError if an engine of the link is down or refuses them.
    """
    laid = _laid(lab, link)
    if node is not None and node not in laid.link.members:
        members = ", ".join(laid.link.members)
        raise BadInput(f"{node!r} is not on link {link!r}", fix=f"members: {members}")
    try:
        check_profile(given, laid.link, node)
    except ValueError as error:
        raise BadInput(str(error), f"link {link}") from None
    meant = laid.meant(node)
    there, back = defaultdict[str, list[dict[str, Any]]](list), defaultdict[str, Any](list)
    found = reports(lab)
    for report in found:
        # Check all engines before asking any: a dead engine reports no directions to compare.
        if report["host"] in laid.ports:
            _require_running(report, lab)
    for report in found:
        for direction in _of_nodes(report):
            if direction["link"] != link or direction["node"] not in meant:
                continue
            named = changes(given, laid.link, direction["node"], direction["asked"])
            wanted = merge(direction["asked"], named)
            _require_sense(direction, wanted, report["engine"])
            there[report["agent"]].append(_change(direction, named))
            back[report["agent"]] += _replacing(direction, wanted, direction["asked"])
    _send(lab, there, back)
    return reports(lab)


def _laid(lab: Lab, link: str) -> LinkPorts:
    if link in lab.plan.laid:
        return lab.plan.laid[link]
    known = ", ".join(lab.plan.laid) or "none"
    if any(i.link == link for of_node in lab.plan.interfaces.values() for i in of_node):
        fix = "give it one in the lab file, such as `delay: 0s`"
        raise BadInput(f"link {link!r} has no conditions: the kernel carries it", fix=fix)
    raise BadInput(f"lab {lab.name!r} has no link {link!r}", fix=f"with conditions: {known}")


def _send(lab: Lab, there: Sent, back: Sent) -> None:
    """Make the changes host by host; if one host refuses, undo those of the others."""
    done: list[str] = []
    for agent, wanted in there.items():
        try:
            _call(lab, agent, "link-set", changes=wanted)
        except AgentError as error:
            for other in done:
                _call(lab, other, "link-set", changes=back[other])
            raise DelaylabError(f"{error.what}; nothing is changed", error.where) from None
        done.append(agent)


def _replacing(direction: Report, now: Asked, wanted: Asked) -> list[dict[str, Any]]:
    """Return the two changes that turn conditions `now` into exactly `wanted`.

    Differing conditions are removed first and then set: a change keeps the fields that it does not
    name, so fields of the old condition would otherwise remain.
    """
    differ = [key for key in now.keys() | wanted.keys() if now.get(key) != wanted.get(key)]
    if not differ:
        return []
    away: Asked = dict.fromkeys(differ)
    anew = {key: wanted[key] for key in differ if key in wanted}
    return [_change(direction, away), _change(direction, anew)]


def _change(direction: Report, named: Asked) -> dict[str, Any]:
    return {"link": direction["link"], "node": direction["node"], "set": named}


def _of_nodes(report: Report) -> list[Report]:
    """Return the directions conditioned on this host, which leaves out those from other hosts."""
    return [each for each in report["directions"] if each["node"] is not None]


def _require_running(report: Report, lab: Lab) -> None:
    if report["state"] != "running":
        why = f"the link engine of host {report['host']!r} is down: {report['why']}"
        restart = f"delaylab up, with the file of {lab.name!r}, restarts it"
        again = f"delaylab down {lab.name}, then up again"
        raise DelaylabError(why, fix=restart if lab.is_alive(report["agent"]) else again)


def _require_sense(direction: Report, wanted: Asked, engine: str) -> None:
    reason = why_not(wanted) or (why_not_in_kernel(wanted) if engine == "kernel" else None)
    if reason:
        raise BadInput(reason, f"link {direction['link']}, from {direction['node']}")


def _report(lab: Lab, agent: str, *, reset: bool) -> Report:
    host = agent.removeprefix("link.")
    carried = next(one.links for one in lab.plan.agents if one.name == agent)
    engine = carried.engine if carried else "own"
    try:
        answer = _call(lab, agent, "links", reset=reset)
        answer["pid"] = _pid_out_here(lab.pid(agent), answer.get("pid"))
        for direction in answer["directions"]:
            direction["nodes"] = _behind(lab, host, direction)
    except AgentError as error:
        answer = {"state": "down", "why": str(error), "directions": []}
    return {"host": host, "agent": agent, "engine": engine, **answer}


def _behind(lab: Lab, host: str, direction: Report) -> list[str]:
    """Return all nodes behind a port.

    The engine itself knows only the first of several nodes that share a network stack.
    """
    return lab.plan.laid[direction["link"]].ports[host].get(direction["port"], [])


def _pid_out_here(parent: int, inside: int | None) -> int | None:
    """Return this process's pid for a child that the lab's PID namespace numbers `inside`.

    Pids inside are small and mean other processes outside. `parent` is the child's parent, as a pid
    outside. Returns None if there is no such child.
    """
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        for child in children:
            numbers = re.search(r"^NSpid:(.*)$", Path(f"/proc/{child}/status").read_text(), re.M)
            if numbers and int(numbers[1].split()[-1]) == inside:
                return int(child)
    except OSError:
        pass
    return None


def _call(lab: Lab, agent: str, op: str, **fields: Any) -> dict[str, Any]:
    session = lab.session(agent)
    try:
        return session.call(op, **fields).done
    finally:
        session.close()
