"""Verb `delaylab plan`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO

from delaylab.io.terminal import print_lines
from delaylab.plan.model import Operation, Plan, Veth, operation_message
from delaylab.resolve.lab import Lab


def print_plan(plan: Plan, lab: Lab, stream: IO[str]) -> None:
    """Print what `up` would do: its operations, then the files and programs of nodes."""
    if lab.place is not None:
        from delaylab.verbs.placements import line_of  # noqa: PLC0415  few labs ask for hosts

        print_lines([line_of(lab, lab.place)], stream)
    print_lines(_plan_lines(plan), stream)


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
    for name, node in plan.nodes.items():
        for what, listed in (("write", node.files), ("start", node.programs)):
            if listed:
                yield f"  {what:<8} {name}: {', '.join(listed)}"


def _words(operation: Operation) -> tuple[str, str]:
    """Return an operation's name, and its fields in words."""
    if isinstance(operation, Veth):
        ends = (f"{end.agent}:{end.name} ({end.mac})" for end in operation.ends)
        return "veth", " <-> ".join(ends)
    message = dict(operation_message(operation))
    name, agent = message.pop("do"), message.pop("in")
    interface = message.pop("on", None) or message.pop("name", "")
    for key in ("mac", "macs"):
        message.pop(key, None)
    rest = [f" {key}={json.dumps(value)}" for key, value in message.items()]
    return str(name), f"{agent}:{interface}{''.join(rest)}"
