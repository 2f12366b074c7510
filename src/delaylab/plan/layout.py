"""The layout of a running lab: the part of its spec and plan that `up` keeps beside it.

`ps` and `link show` read it from the lab's record, so they need not make the plan again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from delaylab.plan.model import Plan
    from delaylab.spec.lab import LabSpec


@dataclass(frozen=True)
class InterfaceLayout:
    """An interface of a node: its name there, its link and its addresses with their prefixes."""

    name: str
    link: str
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class NodeLayout:
    """A node: its kind, its host, and its interfaces in the order of its links."""

    kind: str
    host: str
    interfaces: tuple[InterfaceLayout, ...]


@dataclass(frozen=True)
class Layout:
    """The nodes of a lab, its agents that stand for others, and its links with conditions.

    `guests` are the agents with an agent in a guest behind them. `engines` maps the agents of link
    engines to their engines (`own` or `kernel`). `ports` maps links with conditions to their hosts,
    these to their ports, and these to the nodes behind them.
    """

    nodes: dict[str, NodeLayout] = field(default_factory=dict)
    guests: tuple[str, ...] = ()
    engines: dict[str, str] = field(default_factory=dict)
    ports: dict[str, dict[str, dict[str, list[str]]]] = field(default_factory=dict)


def layout(lab: LabSpec, plan: Plan) -> Layout:
    """Return the layout of a lab that was built by a plan."""
    return Layout(
        nodes={
            name: NodeLayout(
                kind=node.kind,
                host=lab.host_of(name),
                interfaces=tuple(
                    InterfaceLayout(each.name, each.link, each.addresses)
                    for each in plan.interfaces[name]
                ),
            )
            for name, node in lab.nodes.items()
        },
        guests=tuple(
            agent.name for agent in plan.agents if agent.guest and agent.guest.reach != "nothing"
        ),
        engines={agent.name: agent.links.engine for agent in plan.agents if agent.links},
        ports={name: link.ports for name, link in plan.link_ports.items()},
    )
