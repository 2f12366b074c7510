"""A map: the nodes and links of a network as a source has them, before it is a lab."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Position:
    """The place of a node: degrees east and north, or on a plane to the right and downwards."""

    x: float
    y: float
    on_earth: bool = True


@dataclass(frozen=True, slots=True)
class MapNode:
    """A node of a map."""

    name: str
    """Its name in the lab: of a lab file's letters, unique, the same in every import."""
    label: str = ""
    """The name that the source gives it: a city, a router, an AS."""
    at: Position | None = None
    line: int = 0
    forwards: bool = True
    fields: Mapping[str, object] = field(default_factory=dict)
    """Further fields of the lab file, such as the image of a container."""


@dataclass(frozen=True, slots=True)
class MapLink:
    """A link of a map. Delays are one-way, in ns; those of `b` differ only if `delay_back` is set.

    A cost is as the source has it, and may be a fraction.
    """

    a: str
    b: str
    name: str
    delay: int | None = None
    delay_back: int | None = None
    capacity: int | None = None
    """Bits per second in each direction."""
    cost: Fraction | None = None
    line: int = 0
    loss: int | None = None
    """The share of packets that are lost, in 10⁻⁹, and from `b` if it differs."""
    loss_back: int | None = None
    jitter: int | None = None
    jitter_back: int | None = None
    mtu: int | None = None
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The addresses of its nodes, with prefixes; without them they are assigned."""
    devices: Mapping[str, str] = field(default_factory=dict)
    """The names of interfaces that the source gives, by node."""
    fields: Mapping[str, object] = field(default_factory=dict)
    """Further fields of the lab file, such as `ospf`."""
    numbers: tuple[int, ...] = ()
    """The numbers of the edges that it is made of."""
    members: tuple[str, ...] = ()
    """The nodes of a LAN; without them it is a link of two nodes, `a` and `b`."""

    @property
    def ends(self) -> tuple[str, ...]:
        """Return the nodes that the link joins."""
        return self.members or (self.a, self.b)

    def device(self, node: str) -> str:
        """Return the name of a node's interface to the link."""
        return self.devices.get(node, self.name)


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of the source that could not be used, and why."""

    line: int
    what: str
    file: str = ""
    """The file, where a source has several; else it is the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """A network as a source has it, with what was assumed and which lines were of no use."""

    name: str
    format: str
    nodes: tuple[MapNode, ...]
    links: tuple[MapLink, ...]
    whole: Mapping[str, object] = field(default_factory=dict)
    """Further fields of the lab as a whole, such as `routes`."""
    source: str = ""
    """The file that the lines of nodes and links are of."""
    assumptions: tuple[str, ...] = ()
    problems: tuple[BadLine, ...] = ()
    """The first malformed lines."""
    malformed: int = 0
    """The number of malformed lines."""
