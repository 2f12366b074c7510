"""Fields of links and of their ends; settings of OSPF there are fields of the nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from delaylab.io.values import Json
from delaylab.topology.formats.containerlab.tree import Tree, text
from delaylab.topology.formats.losses import Losses
from delaylab.topology.formats.netlab import addressing, ospf, rows
from delaylab.topology.formats.netlab.rows import Part, Row, carry, lose
from delaylab.topology.formats.netlab.shape import Leaves, LinkSaid, NodeSaid, below, is_off, is_on
from delaylab.topology.model import MapLink

IGP = ("ospf", "isis")
OWN_COST = 10
"""The cost that FRR and BIRD give a link by themselves, in OSPF as in IS-IS."""
OF_ROLES: Mapping[str, Json] = {"external": False, "passive": "passive"}
"""Roles of links by which netlab turns OSPF and IS-IS off, or makes them passive."""


@dataclass(frozen=True)
class LinkFields:
    """The reading of links' fields, into links and into the parts of their nodes.

    `general` is what the topology says of all nodes, `parts` has those that are no bridges, and
    `names` their names in the lab.
    """

    nodes: Mapping[str, NodeSaid]
    general: Leaves
    bridges: Collection[str]
    hosts: Collection[str]
    names: Mapping[str, str]
    parts: Mapping[str, Part]
    losses: Losses

    def of(self, link: MapLink, said: LinkSaid, given: addressing.Addresses) -> MapLink:
        """Return a link with its fields and its addresses."""
        part = Part()
        for key, value in said.said.items():
            if key in rows.LINK:
                self._carry(part, rows.LINK[key], value, said, ".".join(key))
            elif key not in rows.APART:
                lose(self.losses, said.at, key)
        ends = [(name, of_end) for name, of_end in said.ends if name not in self.bridges]
        for name, of_end in ends:
            self._read_end(part, said, name, of_end)
            if "ospf" in self.parts[name].routing:
                form = "broadcast" if link.members else "point-to-point"
                self._put_ospf(link.name, said, name, of_end, form)
        self._put_roles(part, said)
        self._put_mtu(part, said)
        self._put_advertisements(link.name, said, given)
        of_names = {self.names[name]: texts for name, texts in given.items()} if given else {}
        cost = self._cost(part, said, ends)
        return replace(link, fields=part.fields, addresses=of_names, cost=cost)

    def _carry(
        self, part: Part, row: Row, value: Tree, link: LinkSaid, what: str, node: str = ""
    ) -> None:
        carry(part, row, value, losses=self.losses, at=link.at, what=what, node=node)

    def _cost(
        self, part: Part, link: LinkSaid, ends: Sequence[tuple[str, Leaves]]
    ) -> Fraction | None:
        """Return the cost of a link, which the source has or its daemons give it by themselves.

        Costs of single ends stay among the fields.
        """
        said = part.fields.get("cost")
        speaks = any(set(IGP) & part.routing.keys() for part in self.parts.values())
        usual = OWN_COST if speaks else 1
        if isinstance(said, Mapping) and not speaks:
            self.losses.lose(link.at, "`cost` of one end", "daemons have such costs")
        elif isinstance(said, Mapping):
            of_ends = {self.names[name]: usual for name, _ in ends}
            part.put(("cost",), {**of_ends, **said})
            return Fraction(usual)
        part.fields.pop("cost", None)
        return Fraction(said) if isinstance(said, int) else Fraction(usual) if speaks else None

    def _read_end(self, part: Part, link: LinkSaid, name: str, said: Leaves) -> None:
        for key, value in said.items():
            row = rows.END.get(key)
            if key == ("shutdown",):
                self._carry(part, rows.LINK[key], value, link, "shutdown", name)
            elif row is not None:
                self._spread(part, row[0][0], link)
                path = (*row[0], self.names[name])
                self._carry(part, (path, row[1]), value, link, ".".join(key), name)
            elif key not in rows.APART:
                lose(self.losses, link.at, key, name)

    def _spread(self, part: Part, where: str, link: LinkSaid) -> None:
        """Give each end what is said of the whole link, so that one may differ."""
        general = part.fields.get(where)
        if general is not None and not isinstance(general, Mapping):
            part.put((where,), {self.names[each]: general for each, _ in link.ends})

    def _put_ospf(self, link: str, said: LinkSaid, name: str, of_end: Leaves, form: str) -> None:
        """Put the area and the settings of OSPF at an end into the part of its node."""
        part, node = self.parts[name], {**self.general, **self.nodes[name].said}
        area = of_end.get(("ospf", "area"), said.said.get(("ospf", "area")))
        if area is not None:
            row = (("routing", "ospf", "areas", link), rows.NODE["ospf", "area"][1])
            self._carry(part, row, area, said, "ospf.area", name)
        found, lost = ospf.interface_settings(of_end, said.said, node, form)
        if found:
            part.put(("routing", "ospf", "links", link), found)
        for key in lost:
            self.losses.lose(said.at, f"`{'.'.join(key)}`", rows.NOTHING, name)

    def _put_roles(self, part: Part, link: LinkSaid) -> None:
        """Leave OSPF and IS-IS out of links to another AS, as netlab does, and of such roles."""
        role = text(link.said.get(("role",)))
        numbers = {self._as_number(name) for name, _ in link.ends} - {None}
        value = OF_ROLES.get("external" if not role and len(numbers) > 1 else role)
        for name, _ in link.ends if value is not None else ():
            for protocol in IGP:
                if name in self.parts and protocol in self.parts[name].routing:
                    said = part.fields.get(protocol)
                    if said is None or (isinstance(said, Mapping) and self.names[name] not in said):
                        part.put((protocol, self.names[name]), value)

    def _as_number(self, name: str) -> Json:
        of_bgp = self.parts[name].routing.get("bgp") if name in self.parts else None
        return of_bgp.get("as") if isinstance(of_bgp, Mapping) else None

    def _put_mtu(self, part: Part, link: LinkSaid) -> None:
        """Put the MTU of a link whose ends or nodes have one; name it if they differ."""
        key = ("mtu",)
        found = {
            text(of_end.get(key) or link.said.get(key) or self.nodes[name].said.get(key))
            for name, of_end in link.ends
            if name not in self.bridges
        }
        if len(found) > 1:
            self.losses.lose(link.at, "`mtu` of one end", "a link has one MTU")
        elif found - {""} and "mtu" not in part.fields:
            self._carry(part, rows.LINK[key], found.pop(), link, "mtu")

    def _put_advertisements(self, link: str, said: LinkSaid, given: addressing.Addresses) -> None:
        """Put the router advertisements of a link: netlab has them wherever hosts are."""
        has_hosts = any(name in self.hosts for name, _ in said.ends)
        for name, of_end in said.ends:
            own = {**below(said.said, "ra"), **below(of_end, "ra")}
            is_router = name in self.parts and name not in self.hosts
            has_ipv6 = any(":" in each for each in given.get(name, ()))
            if not is_router or not has_ipv6 or not (own or has_hosts):
                continue
            if self.parts[name].routing.get("by") == "bird":
                self.losses.lose(said.at, "`ra`", rows.WHY["daemon"], name)
            elif not is_on(own.get(("disable",))):
                settings: Json = {"autoconf": False} if is_off(own.get(("slaac",))) else {}
                path = ("routing", "router_advertisements", link)
                self.parts[name].put(path, settings)


def near(name: str, links: Mapping[str, tuple[MapLink, LinkSaid]]) -> dict[str, MapLink]:
    """Return the nodes on the links of a node, each with the first link."""
    found: dict[str, MapLink] = {}
    for link, said in links.values():
        ends = [each for each, _ in said.ends]
        for other in ends if name in ends else ():
            found.setdefault(other, link)
    return found
