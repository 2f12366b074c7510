"""Pure conversion of links with conditions to the part that each host's engine carries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from delaylab.errors import BadInput
from delaylab.plan.attachment import Attachment
from delaylab.plan.conditions.engine_links import (
    Change,
    EngineLink,
    EngineLinks,
    Moment,
    Port,
    RemoteCard,
)
from delaylab.resolve.lab import Direction, Link
from delaylab.spec.conditions.check import why_not_received
from delaylab.spec.conditions.directions import members_meant
from delaylab.spec.conditions.engine import Conditions
from delaylab.spec.lab import EngineSpec


@dataclass(frozen=True)
class HostPorts:
    """The ports of a link on a host, and the uplink by which it leaves, if it does.

    A host with `across` has a part for each stack.
    """

    uplink: str | None
    ports: dict[str, list[Attachment]] = field(default_factory=dict)

    @property
    def macs(self) -> frozenset[str]:
        """Return the MAC addresses behind the ports."""
        return frozenset(each.mac for mates in self.ports.values() for each in mates)


@dataclass(frozen=True)
class ConditionedLink:
    """A link with conditions, and its attachments in the order of its members on each host."""

    link: Link
    attachments: tuple[Attachment, ...]

    @property
    def name(self) -> str:
        """Return the link's name."""
        return self.link.name

    @cached_property
    def ports(self) -> dict[str, dict[str, list[Attachment]]]:
        """Return each host's ports, and the attachments behind each: several share a stack."""
        found: dict[str, dict[str, list[Attachment]]] = {}
        for each in self.attachments:
            assert each.port is not None
            found.setdefault(each.host, {}).setdefault(each.port, []).append(each)
        return found

    def parts(self, host: str) -> list[HostPorts]:
        """Return the parts of the link on a host; one, unless the host has `across`."""
        found: dict[str | None, HostPorts] = {}
        for port, mates in self.ports[host].items():
            step = mates[0].step("uplink")
            uplink = None if step is None else step.interface
            found.setdefault(uplink, HostPorts(uplink)).ports[port] = mates
        return list(found.values())

    def senders(self, host: str) -> dict[str, str]:
        """Map each node of a host to the node under whose name the engine lists their stack."""
        ports = self.ports[host].values()
        return {each.node: mates[0].node for mates in ports for each in mates}

    def check(self) -> None:
        """Raise BadInput if the link stays in one stack, or its senders cannot be told apart."""
        for host, ports in self.ports.items():
            several = len(self.link.members) > 1
            alone = (len(part.ports) + (part.uplink is not None) < 2 for part in self.parts(host))
            if several and any(alone):
                all_here = ", ".join(self.senders(host))
                raise BadInput(f"link {self.name!r} joins {all_here}, which are one stack")
            for mates in ports.values():
                sent, received = self.link.sent, self.link.received
                node = mates[0].node
                self.check_end(node, sent[node].first)
                for each in mates[1:]:
                    if sent[each.node] != sent[node]:
                        raise self._one_stack(mates)
                    if received.get(each.node) != received.get(node):
                        raise self._one_stack(mates, receives=True)

    def check_end(self, node: str, conditions: Conditions) -> None:
        """Raise BadInput if a node's end does not support these conditions.

        Frames cannot wait at an interface in a virtual machine, and not every card can lose its
        carrier.
        """
        queue = conditions.queue
        mine = [each for each in self.attachments if each.node == node]
        if conditions.state == "down" and any(each.carrier is None for each in mine):
            what = f"the card of {node} cannot lose its carrier"
            raise BadInput(what, f"link {self.name}", "say `state: silent`")
        if queue is None or queue.held != "sender":
            return
        if any(each.other_kernel for each in mine):
            what = f"what {node} sends cannot wait at its interface, which is in a virtual machine"
            raise BadInput(what, f"link {self.name}", "give `queue` packets or bytes")

    def check_direction(self, node: str, conditions: Conditions, *, receives: bool) -> None:
        """Raise BadInput if what a node sends, or receives, cannot have these conditions."""
        if not receives:
            self.check_end(node, conditions)
        elif reason := why_not_received(conditions):
            raise BadInput(reason, f"link {self.name}, to {node}")

    def meant(self, node: str | None, *, receives: bool = False) -> set[str]:
        """Return the nodes, as the engine knows them, whose frames a change is for.

        With `receives` it is for what they receive. Raises BadInput if it is for only some of the
        nodes that share a stack.
        """
        wanted = set(members_meant(self.link, node))
        found = set()
        for mates in (mates for ports in self.ports.values() for mates in ports.values()):
            here = {each.node for each in mates}
            if wanted & here and not wanted >= here:
                raise self._one_stack(mates, receives=receives)
            if wanted & here:
                found.add(mates[0].node)
        return found

    def _one_stack(self, mates: list[Attachment], *, receives: bool = False) -> BadInput:
        names, does = ", ".join(each.node for each in mates), "receives" if receives else "sends"
        what = f"{names} are one stack: what one of them {does} cannot be told apart"
        return BadInput(what, f"link {self.name}", "give them the same conditions")


def engine_links(
    seed: int, host: str, engine: EngineSpec, links: Iterable[ConditionedLink]
) -> EngineLinks | None:
    """Return the links that a host's engine carries; None if no link with conditions touches it.

    `seed` is that of the lab's random numbers.
    """
    here = [link for link in links if host in link.ports]
    if not here:
        return None
    return EngineLinks(
        engine="kernel" if engine.kind == "kernel" else "own",
        seed=seed,
        realtime=engine.realtime,
        memory_bytes=engine.memory.bytes,
        links=tuple(_engine_link(link, part) for link in here for part in link.parts(host)),
        timeline=tuple(_timeline(host, here)),
    )


def _engine_link(link: ConditionedLink, part: HostPorts) -> EngineLink:
    members = [_port(link.link, port, mates[0]) for port, mates in part.ports.items()]
    if part.uplink is not None:
        here = part.macs
        far = dict.fromkeys(each.mac for each in link.attachments if each.mac not in here)
        members.append(Port(port=part.uplink, macs=tuple(far)))
    return EngineLink(link.name, link.link.mtu, tuple(members))


def _port(link: Link, port: str, end: Attachment) -> Port:
    received = link.received.get(end.node)
    return Port(
        port=port,
        node=end.node,
        card=None if end.other_kernel else (end.agent, end.device),
        carrier=_remote_card(end),
        macs=(end.mac,),
        conditions=link.sent[end.node].first,
        received=None if received is None else received.first,
    )


def _remote_card(end: Attachment) -> RemoteCard | None:
    """Return how to take the carrier of a card that does not see the other end of its cable."""
    if end.carrier == "monitor":
        return RemoteCard(f"{end.agent}.card", end.device)
    return RemoteCard(f"{end.agent}.sock", end.device) if end.carrier == "agent" else None


def _directions(link: ConditionedLink, host: str) -> Iterator[tuple[str, bool, Direction]]:
    """Yield what each node of a host sends, then what it receives (True)."""
    nodes = list(dict.fromkeys(link.senders(host).values()))
    yield from ((node, False, link.link.sent[node]) for node in nodes)
    received = link.link.received
    yield from ((node, True, received[node]) for node in nodes if node in received)


def _timeline(host: str, links: list[ConditionedLink]) -> Iterator[Moment]:
    """Yield the changes for nodes of this host, each relative to the conditions before it."""
    found: list[tuple[int, int, Change]] = []
    for link in links:
        for node, receives, direction in _directions(link, host):
            for each in direction.changes:
                link.check_direction(node, each.after, receives=receives)
                change = Change(link.name, node, each.change, receives)
                found.append((each.place, each.at_ns, change))
    moments: dict[int, list[Change]] = defaultdict(list)
    for _, at_ns, change in sorted(found, key=lambda each: each[0]):
        moments[at_ns].append(change)
    return (Moment(at_ns, tuple(made)) for at_ns, made in moments.items())
