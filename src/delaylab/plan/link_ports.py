"""Pure conversion of links with conditions to the part that each host's engine carries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from delaylab.errors import BadInput
from delaylab.plan.engine_links import Change, EngineLink, EngineLinks, Moment, Port
from delaylab.spec.directions import changes, conditions_of, members_meant
from delaylab.spec.lab import ChangeSpec, EngineSpec, LabSpec, LinkSpec
from delaylab.spec.link_conditions import NOTHING, Conditions
from delaylab.spec.merge import merge


@dataclass
class LinkPorts:
    """A link with conditions after its cables are laid.

    `ports` maps each host to its ports and the nodes behind them, several if they share a stack.
    `uplinks` maps hosts to their uplinks. `cards` maps nodes that are not in virtual machines to
    their own interfaces, as (agent, name).
    """

    name: str
    link: LinkSpec
    ports: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    uplinks: dict[str, str] = field(default_factory=dict)
    macs: dict[str, str] = field(default_factory=dict)
    cards: dict[str, tuple[str, str]] = field(default_factory=dict)

    def senders(self, host: str) -> dict[str, str]:
        """Return the nodes of a host, each with the node by which the engine knows its stack."""
        return {node: nodes[0] for nodes in self.ports[host].values() for node in nodes}

    def check(self) -> None:
        """Raise BadInput if the link stays in one stack, or its senders cannot be told apart."""
        for host, ports in self.ports.items():
            if len(ports) + (host in self.uplinks) < 2:
                all_here = ", ".join(self.senders(host))
                raise BadInput(f"link {self.name!r} joins {all_here}, which are one stack")
            for mates in ports.values():
                first = conditions_of(self.link, mates[0])
                self.check_held(mates[0], first)
                if any(conditions_of(self.link, node) != first for node in mates):
                    raise self._one_stack(mates)

    def check_held(self, node: str, conditions: Conditions) -> None:
        """Raise BadInput if frames are to wait at the interface of a node in a virtual machine."""
        queue = conditions.queue
        if queue is not None and queue.held == "sender" and node not in self.cards:
            what = f"what {node} sends cannot wait at its interface, which is in a virtual machine"
            raise BadInput(what, f"link {self.name}", "give `queue` packets or bytes")

    def meant(self, node: str | None) -> set[str]:
        """Return the nodes, as the engine knows them, whose frames a change is for.

        Raises BadInput if it is for only some of the nodes that share a stack.
        """
        wanted = set(members_meant(self.link, node))
        found = set()
        for ports in self.ports.values():
            for nodes in ports.values():
                if wanted & set(nodes) and not wanted >= set(nodes):
                    raise self._one_stack(nodes)
                if wanted & set(nodes):
                    found.add(nodes[0])
        return found

    def _one_stack(self, nodes: list[str]) -> BadInput:
        what = f"{', '.join(nodes)} are one stack: what one of them sends cannot be told apart"
        return BadInput(what, f"link {self.name}", "give them the same conditions")


def engine_links(
    lab: LabSpec, host: str, engine: EngineSpec, link_ports: Iterable[LinkPorts]
) -> EngineLinks | None:
    """Return the links that a host's engine carries; None if no link with conditions touches it."""
    here = [link for link in link_ports if host in link.ports]
    if not here:
        return None
    return EngineLinks(
        engine="kernel" if engine.kind == "kernel" else "own",
        seed=lab.seed,
        realtime=engine.realtime,
        memory_bytes=engine.memory.bytes,
        links=tuple(_engine_link(link, host) for link in here),
        timeline=tuple(_timeline(lab.timeline, host, here)),
    )


def _engine_link(link: LinkPorts, host: str) -> EngineLink:
    members = [
        Port(
            port,
            nodes[0],
            link.cards.get(nodes[0]),
            (link.macs[nodes[0]],),
            conditions_of(link.link, nodes[0]),
        )
        for port, nodes in link.ports[host].items()
    ]
    if host in link.uplinks:
        near = link.senders(host)
        far = [node for node in link.link.members if node not in near]
        macs = tuple(dict.fromkeys(link.macs[node] for node in far))
        members.append(Port(link.uplinks[host], None, None, macs, NOTHING))
    return EngineLink(link.name, link.link.mtu, tuple(members))


def _timeline(timeline: list[ChangeSpec], host: str, links: list[LinkPorts]) -> Iterator[Moment]:
    """Yield the changes for nodes of this host, each relative to the conditions before it."""
    by_name = {link.name: link for link in links}
    now = {
        link.name: {node: conditions_of(link.link, node) for node in link.senders(host).values()}
        for link in links
    }
    moments: dict[int, list[Change]] = defaultdict(list)
    for given in sorted(timeline, key=lambda change: change.at):
        link = by_name.get(given.link)
        if link is None:
            continue
        meant, before = link.meant(given.node), now[link.name]
        for node in (node for node in before if node in meant):
            change = changes(given.conditions, link.link, node, before[node])
            before[node] = merge(before[node], change)
            link.check_held(node, before[node])
            moments[given.at.ns].append(Change(link.name, node, change))
    return (Moment(at_ns, tuple(made)) for at_ns, made in moments.items())
