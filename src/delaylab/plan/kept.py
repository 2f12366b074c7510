"""The part of a plan that holds while its lab runs, and its form as JSON.

It names no type of links' conditions: pydantic takes 40 ms to make these, and `ps` needs none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from ipaddress import ip_interface
from typing import TYPE_CHECKING, Literal

from delaylab.plan.attachment import Attachment

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True)
class Names:
    """An address of a node and its names there: the node's own, and one for the link alone."""

    address: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class PlannedNode:
    """A node of a plan, with its attachments in the order of its links.

    `own_stack` is True if it has a network stack of its own; otherwise it uses its host's. `stack`
    is the agent in whose network its stack is. `own_root` is True if it has a root file
    system of its own. `no_send_stamp` is the reason why its card gives no stamp on sending, None if
    it gives one. `own_folders` are those of this machine of which it has a copy of its own. `files`
    are the paths of its files, `programs` those that run as long as the node, `env` are variables
    of its programs' environment. `loopbacks` are the addresses, with prefix, that a
    node that forwards has in addition to those of its links.
    """

    kind: str
    host: str
    own_stack: bool
    stack: str
    own_root: bool
    no_send_stamp: str | None = None
    own_folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()
    loopbacks: tuple[str, ...] = ()

    def loopback(self, version: int) -> str | None:
        """Return the address of the loopback of an IP version, without its prefix; None if none."""
        addresses = (ip_interface(text).ip for text in self.loopbacks)
        return next((str(each) for each in addresses if each.version == version), None)


@dataclass(frozen=True)
class LinkUnderlay:
    """The network between the two machines of a link: round trips in ns, and pings by number.

    `delay_ns` is its one-way delay, which is part of the link's own: half of the least round trip.
    """

    delay_ns: int
    least_rtt_ns: int
    p50_rtt_ns: int
    p99_rtt_ns: int
    sent: int
    lost: int


@dataclass(frozen=True, kw_only=True)
class HostInterface:
    """One direction of a host's interface: the queue `queue` of `agent`, and the links by it."""

    host: str
    interface: str
    way: Literal["out", "in"]
    agent: str
    queue: str
    rate_bps: int
    links: tuple[str, ...]


@dataclass(frozen=True)
class KeptPlan:
    """The part of a plan that is kept beside its lab.

    `engines` are the agents of link engines, each with its engine (`own` or `kernel`). `guests` are
    the agents that pass sessions on to an agent in a container or a machine. `in_machine` are those
    whose network is the machine's own. `machines` are the machines of hosts that are not on this
    one. `underlays` are the networks below links of two nodes on two machines, by link.
    `interfaces` are those of hosts by which links leave. `mtus` are those of links for which the
    file states none, as machines' cards leave them.
    """

    lab: str
    nodes: dict[str, PlannedNode]
    engines: dict[str, str]
    guests: tuple[str, ...]
    in_machine: tuple[str, ...]
    machines: dict[str, str] = field(default_factory=dict)
    underlays: dict[str, LinkUnderlay] = field(default_factory=dict)
    interfaces: tuple[HostInterface, ...] = ()
    mtus: dict[str, int] = field(default_factory=dict)

    @cached_property
    def _links(self) -> dict[str, tuple[Attachment, ...]]:
        found: dict[str, list[Attachment]] = {}
        for each in self.every_attachment:
            found.setdefault(each.link, []).append(each)
        return {link: tuple(attachments) for link, attachments in found.items()}

    @property
    def every_attachment(self) -> Iterator[Attachment]:
        """Yield the attachments of all nodes."""
        for node in self.nodes.values():
            yield from node.attachments

    def attachment(self, node: str, link: str) -> Attachment:
        """Return the attachment of a node to a link; raise LookupError if it has none."""
        for each in self.nodes[node].attachments:
            if each.link == link:
                return each
        raise LookupError(f"node {node} is not on link {link}")

    def on_link(self, link: str) -> tuple[Attachment, ...]:
        """Return the attachments to a link; none if the lab has no such link."""
        return self._links.get(link, ())

    @property
    def conditioned(self) -> list[str]:
        """Return the names of the links with conditions."""
        return [link for link in self._links if self.has_engine(link)]

    def has_engine(self, link: str) -> bool:
        """Return True if link engines carry a link: it has conditions."""
        return any(each.port is not None for each in self.on_link(link))

    @property
    def names(self) -> Iterator[Names]:
        """Yield the names of every address, for the nodes' `/etc/hosts`.

        A node that forwards has its name on its loopback, which is reached over any of its links.
        """
        for name, node in self.nodes.items():
            for address in node.loopbacks:
                yield Names(address.split("/")[0], (name,))
            for each in node.attachments:
                names = (
                    (f"{name}.{each.link}",) if node.loopbacks else (name, f"{name}.{each.link}")
                )
                for address in each.addresses:
                    yield Names(address.split("/")[0], names)


def written(plan: KeptPlan) -> str:
    """Return the part of a plan that is kept, as JSON."""
    part = KeptPlan(**{each.name: getattr(plan, each.name) for each in fields(KeptPlan)})
    # Defaults are omitted: a lab of thousands of links is then read in half the time.
    return _adapter().dump_json(part, exclude_defaults=True).decode()


def read(kept: str) -> KeptPlan:
    """Return a kept plan; raise ValidationError if it is not one of this version."""
    return _adapter().validate_json(kept)


@cache
def _adapter() -> TypeAdapter[KeptPlan]:
    from pydantic import TypeAdapter  # noqa: PLC0415  `plan` keeps none

    return TypeAdapter(KeptPlan)
