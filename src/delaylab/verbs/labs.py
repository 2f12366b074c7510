"""`delaylab plan`, `up`, `ps` and `down` for a reader."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from delaylab import engines, hosts, lab
from delaylab.images.progress import Progress
from delaylab.plan import Plan, operation_message
from delaylab.spec import LabSpec
from delaylab.verbs.links import state_line, states


def print_plan(plan: Plan, console: Console) -> None:
    """What `up` would do, one line per operation."""
    console.print(f"lab {plan.lab}: {len(plan.agents)} agents, {len(plan.operations)} operations")
    for agent in plan.agents:
        network = {"new": "a new network", "machine": "this machine's network"}
        extras = [f"isolated: {' '.join(agent.isolate)}"] if agent.isolate else []
        extras += [f"CPUs {','.join(map(str, agent.cpus))}"] if agent.cpus else []
        if agent.links is not None:
            extras.append(f"carries {', '.join(link.link for link in agent.links.links)}")
        place = network.get(agent.network, f"the network of {agent.network}")
        console.print(
            f"  agent    {agent.name} in {'; '.join([place, *extras])}",
            highlight=False,
            soft_wrap=True,
        )
    for operation in plan.operations:
        message = operation_message(operation)
        console.print(
            f"  {message.pop('do'):<8} {_words(message)}", highlight=False, soft_wrap=True
        )


def _words(message: dict[str, Any]) -> str:
    if "ends" in message:
        return " <-> ".join(f"{end['in']}:{end['name']} ({end['mac']})" for end in message["ends"])
    place = f"{message.pop('in')}:{message.pop('on', message.pop('name', ''))}"
    message.pop("mac", None)
    return " ".join([place, *(f"{key}={json.dumps(value)}" for key, value in message.items())])


def up(spec: LabSpec, name: str | None, progress: Progress) -> lab.Lab:
    """Bring a lab up; of one that is up with links down, bring these up again."""
    running = {one.name: one for one in hosts.running()}.get(name or spec.lab)
    if running is not None:
        attached = lab.attached(running)
        if engines.revive(attached):
            return attached
    return lab.start(spec, name=name, progress=progress)


def described(one: lab.Lab) -> dict[str, Any]:
    """What `ps --json` prints of a lab."""
    return {**one.describe(), "engines": states(one)}


def print_labs(labs: list[lab.Lab], console: Console) -> None:
    """Running labs, their nodes, and how their links fare."""
    if not labs:
        console.print("no lab is up")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("LAB", "NODE", "KIND", "HOST", "PID", "INTERFACES"):
        table.add_column(title, overflow="fold")
    for one in labs:
        known = one.describe()
        for number, node in enumerate(known["nodes"]):
            interfaces = ", ".join(
                f"{i['name']} {' '.join(i['addresses'])}" for i in node["interfaces"]
            )
            name = known["lab"] if number == 0 else ""
            table.add_row(
                name, node["name"], node["kind"], node["host"], str(node["pid"]), interfaces
            )
    console.print(table)
    for one in labs:
        for state in states(one):
            console.print(f"{one.name}: {state_line(state)}", markup=False, soft_wrap=True)


def down(name: str | None, *, everything: bool) -> list[str]:
    """Take one lab down, or all of this user's; the names of those that were up."""
    if not everything:
        one = hosts.find(name)
        hosts.stop(one)
        return [one.name]
    labs = hosts.running()
    for one in labs:
        hosts.stop(one)
    hosts.sweep(hosts.run_directory())
    return [one.name for one in labs]
