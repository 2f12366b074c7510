"""`delaylab plan`, `up`, `ps` and `down` for a reader."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from delaylab import hosts, lab
from delaylab.plan import Plan, operation_message


def print_plan(plan: Plan, console: Console) -> None:
    """What `up` would do, one line per operation."""
    console.print(f"lab {plan.lab}: {len(plan.agents)} agents, {len(plan.operations)} operations")
    for agent in plan.agents:
        network = {"new": "a new network", "machine": "this machine's network"}
        extras = [f"isolated: {' '.join(agent.isolate)}"] if agent.isolate else []
        extras += [f"CPUs {','.join(map(str, agent.cpus))}"] if agent.cpus else []
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


def print_labs(labs: list[lab.Lab], console: Console) -> None:
    """Running labs and their nodes."""
    if not labs:
        console.print("no lab is up")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("LAB", "NODE", "KIND", "HOST", "PID", "INTERFACES"):
        table.add_column(title, overflow="fold")
    for one in labs:
        described = one.describe()
        for number, node in enumerate(described["nodes"]):
            interfaces = ", ".join(
                f"{i['name']} {' '.join(i['addresses'])}" for i in node["interfaces"]
            )
            name = described["lab"] if number == 0 else ""
            table.add_row(
                name, node["name"], node["kind"], node["host"], str(node["pid"]), interfaces
            )
    console.print(table)


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
