"""A running lab's link engines: what they did, and changes of what is asked of them."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from delaylab.errors import BadInput, DelaylabError
from delaylab.lab import Lab
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
from delaylab.wireline import AgentError

Report = dict[str, Any]
"""An engine's answer to `links` (docs/protocol.md), with its `host` and its kind, `engine`."""
Asked = dict[str, Any]
Sent = dict[str, list[dict[str, Any]]]
"""Agent -> changes of what its nodes send."""


def agents(lab: Lab) -> list[str]:
    """The agents of a lab that carry links with conditions."""
    return [agent.name for agent in lab.plan.agents if agent.links is not None]


def reports(lab: Lab, *, reset: bool = False) -> list[Report]:
    """What every engine says of itself and of its links; with `reset` its counts begin anew.

    One that cannot be asked is `down`, with the reason; nothing passes its links then.
    """
    return [_report(lab, agent, reset=reset) for agent in agents(lab)]


def since(lab: Lab, first: list[Report]) -> list[Report]:
    """What every engine says now; with what was asked at first, where that was something else."""
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
    """Start the engines that are down; return the hosts whose links are up again.

    Raises DelaylabError if an agent that would start one is dead.
    """
    down = [report for report in reports(lab) if report["state"] != "running"]
    for report in down:
        _call(lab, report["agent"], "link-restart")
    return [report["host"] for report in down]


def start_timeline(lab: Lab) -> None:
    """Begin the lab's timeline anew, from what its file asks before any change."""
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
    """Change what is named about a link, on all hosts or none; BadInput if it cannot be.

    `node`: only what this member sends.
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
        # All of them, before anything is asked of one: an engine that is dead names no directions.
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
    """Make the changes host by host; if one host refuses, take back what others have done."""
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
    """Two steps to exactly what is wanted: a part of a condition may be too many now."""
    differ = [key for key in now.keys() | wanted.keys() if now.get(key) != wanted.get(key)]
    if not differ:
        return []
    away: Asked = dict.fromkeys(differ)
    anew = {key: wanted[key] for key in differ if key in wanted}
    return [_change(direction, away), _change(direction, anew)]


def _change(direction: Report, named: Asked) -> dict[str, Any]:
    return {"link": direction["link"], "node": direction["node"], "set": named}


def _of_nodes(report: Report) -> list[Report]:
    """The directions whose frames are conditioned here: not those from another host."""
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
    """All nodes behind a port: the engine knows the first of those that are one stack."""
    return lab.plan.laid[direction["link"]].ports[host].get(direction["port"], [])


def _pid_out_here(parent: int, inside: int | None) -> int | None:
    """The pid by which this process knows a child that the lab's own PID namespace calls `inside`.

    Inside numbers are small, and out here those of other processes.
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
