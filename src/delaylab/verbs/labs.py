"""Verbs `delaylab plan`, `up`, `ps` and `down`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from delaylab import hosts
from delaylab.errors import DelaylabError
from delaylab.io.terminal import print_lines
from delaylab.io.values import JsonObject
from delaylab.lab import health, link_engines
from delaylab.lab.description import describe
from delaylab.lab.running import Lab
from delaylab.lab.start import attached, start
from delaylab.plan import Plan, operation_message
from delaylab.plan.model import Operation, Veth
from delaylab.progress import Progress
from delaylab.spec import LabSpec
from delaylab.verbs.links import state_line, states


def print_plan(plan: Plan, console: Console) -> None:
    """Print what `up` would do, one line per operation."""
    print_lines(_plan_lines(plan), console)


def _plan_lines(plan: Plan) -> Iterator[str]:
    yield f"lab {plan.lab}: {len(plan.agents)} agents, {len(plan.operations)} operations"
    for agent in plan.agents:
        network = {"new": "a new network", "machine": "this machine's network"}
        extras = [f"isolated: {' '.join(agent.isolate)}"] if agent.isolate else []
        extras += [f"CPUs {','.join(map(str, agent.cpus))}"] if agent.cpus else []
        if agent.links is not None:
            extras.append(f"carries {', '.join(link.link for link in agent.links.links)}")
        place = network.get(agent.network, f"the network of {agent.network}")
        yield f"  agent    {agent.name} in {'; '.join([place, *extras])}"
    for operation in plan.operations:
        name, words = _words(operation)
        yield f"  {name:<8} {words}"


def _words(operation: Operation) -> tuple[str, str]:
    """Return an operation's name, and its fields in words."""
    message = dict(operation_message(operation))
    name = str(message.pop("do"))
    if isinstance(operation, Veth):
        ends = (f"{end.agent}:{end.name} ({end.mac})" for end in operation.ends)
        return name, " <-> ".join(ends)
    names = [str(message.pop(key)) for key in ("on", "name") if key in message][:1] or [""]
    place = f"{message.pop('in')}:{names[0]}"
    rest = [f"{key}={json.dumps(value)}" for key, value in message.items() if key != "mac"]
    return name, " ".join([place, *rest])


def up(spec: LabSpec, name: str | None, progress: Progress) -> Lab:
    """Bring a lab up; if it is up but its links are down, bring only these up again.

    Raise DelaylabError if a lab of this name is up with nothing to bring up, or has dead agents.
    """
    running = {one.name: one for one in hosts.running()}.get(name or spec.lab)
    if running is not None:
        lab = attached(running)
        gone = health.dead(lab)
        if gone:
            again = f"take it down, then up again: delaylab down {lab.name}"
            raise DelaylabError(f"lab {lab.name!r} is up, but {_gone(gone)}", fix=again)
        if link_engines.revive(lab):
            return lab
    return start(spec, name=name, progress=progress)


def _gone(gone: dict[str, str]) -> str:
    """Return a lab's dead agents as part of a sentence."""
    first, why = next(iter(gone.items()))
    more = f", and {len(gone) - 1} more" if len(gone) > 1 else ""
    return f"agent {first} is dead: {why}{more}"


def described(one: Lab) -> JsonObject:
    """Return the description of a lab that `ps --json` prints."""
    return {**asdict(describe(one)), "engines": [asdict(state) for state in states(one)]}


def print_labs(labs: list[Lab], console: Console) -> None:
    """Print running labs, their nodes, and the state of their links."""
    if not labs:
        console.print("no lab is up")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("LAB", "NODE", "KIND", "HOST", "PID", "INTERFACES"):
        table.add_column(title, overflow="fold")
    known = [describe(one) for one in labs]
    for about in known:
        for number, node in enumerate(about.nodes):
            interfaces = ", ".join(f"{i.name} {' '.join(i.addresses)}" for i in node.interfaces)
            name = about.lab if number == 0 else ""
            pid = "dead" if node.state == "dead" else str(node.pid)
            table.add_row(name, node.name, node.kind, node.host, pid, interfaces)
    console.print(table)
    for one, about in zip(labs, known, strict=True):
        for agent, why in about.dead.items():
            console.print(f"{one.name}: agent {agent} is dead: {why}", style="red")
        if about.dead:
            again = f"take it down, then up again: delaylab down {one.name}"
            console.print(f"{one.name}: {again}")
        for state in states(one):
            console.print(f"{one.name}: {state_line(state)}", soft_wrap=True)


def down(name: str | None, *, everything: bool) -> tuple[list[str], hosts.SweepResult]:
    """Take one lab down, or all labs of this user.

    Return the names of the labs taken down, and what a sweep of remains had to leave in place.
    """
    labs = (
        hosts.running()
        if everything
        else [hosts.find(name, "delaylab down NAME, or delaylab down --all")]
    )
    for one in labs:
        hosts.stop(one)
    left = hosts.sweep(hosts.run_directory())
    return [one.name for one in labs], left
