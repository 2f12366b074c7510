"""Reader of netlab's topologies, as far as their nodes are Linux, FRR or BIRD."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from delaylab.io.values import Json
from delaylab.spec import source as yaml_source
from delaylab.spec.source import Document
from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.formats.containerlab.tree import Fields, fields, text, tree_of
from delaylab.topology.formats.losses import Losses, short
from delaylab.topology.formats.netlab import addressing, ospf, rows
from delaylab.topology.formats.netlab.defaults import beside
from delaylab.topology.formats.netlab.link_fields import LinkFields, near
from delaylab.topology.formats.netlab.policies import NoWords, route_map
from delaylab.topology.formats.netlab.pools import Pools, pools_of
from delaylab.topology.formats.netlab.rows import Part, carry, lose
from delaylab.topology.formats.netlab.shape import (
    Leaves,
    LinkSaid,
    NodeSaid,
    below,
    is_on,
    leaves,
    links_of,
    nodes_of,
    words,
)
from delaylab.topology.formats.netlab.static import Around, routes_of
from delaylab.topology.formats.shares import is_yaml
from delaylab.topology.model import Map, MapLink
from delaylab.topology.options import Options
from delaylab.topology.source import Source, lines_that_count

NAME = "netlab"
TOP = re.compile(r"^(nodes|links)\s*:", re.M)
ITS_OWN = re.compile(r"^(module|links|groups|provider|validate|defaults[\w.]*)\s*:", re.M)
NOT_NETLAB = re.compile(r"^(lab|study|topology)\s*:", re.M)
PARTS = frozenset({"nodes", "links", "groups", "name", "module", "message", "defaults", "prefix"})
PLUGINS = frozenset({"ospf.areas", "files"})
"""Plugins of netlab's own whose fields are carried over, or that have no fields."""
PROTOCOLS = ("ospf", "isis", "bgp")
EXTRA = ("sources", "extra")
OF_ALL = frozenset({"device", "provider", "addressing", "interfaces"})
"""Parts of `defaults` that are read, or say nothing of the network."""
OBJECTS = (("policy",), ("prefix",))
HOSTS = frozenset({"linux"})
DAEMONS: Mapping[str, str] = {"frr": "frr", "bird": "bird"}
CHOSEN = "nodes without a device run FRR; `by: bird` of their `routing` chooses BIRD"
ASSIGNED = "links without addresses of netlab's have addresses of delaylab's"


def fits(source: str) -> bool:
    """Return True for a file of YAML with nodes and links at the top, and netlab's other words."""
    head = source[:200_000]
    found = {match[1] for match in TOP.finditer(head)}
    lines = lines_that_count(head)
    if NOT_NETLAB.search(head):
        return False
    return "nodes" in found and ITS_OWN.search(head) is not None and is_yaml(lines)


def read(source: Source, _: Options) -> Map:
    """Read a topology."""
    document = yaml_source.parse(source.text, source.name)
    whole = fields(tree_of(document, source.text))
    losses = Losses(document.lines)
    name = text(whole.get("name")) or source.lab
    return _Reading(whole, document, losses, Builder(name, NAME, source.name)).map()


@dataclass
class _Reading:
    """The reading of a topology: its nodes and links, and what it has made of them so far."""

    whole: Fields
    document: Document
    losses: Losses
    build: Builder
    nodes: dict[str, NodeSaid] = field(default_factory=dict)
    bridges: dict[str, NodeSaid] = field(default_factory=dict)
    links: list[LinkSaid] = field(default_factory=list)
    lans: Counter[str] = field(default_factory=Counter)
    """The number of LANs by the name that they would have alone."""
    general: Leaves = field(default_factory=dict)
    objects: Leaves = field(default_factory=dict)
    """Policies and prefix lists of all nodes."""
    given: list[addressing.Addresses] = field(default_factory=list)
    """The addresses of each link's ends."""

    def map(self) -> Map:
        """Return the map of the topology."""
        try:
            self.nodes = nodes_of(self.whole)
        except ValueError as error:
            raise self.document.refuse(str(error), ("nodes",)) from None
        if not self.nodes:
            raise self.document.refuse("the topology has no nodes", ("nodes",))
        self._read_the_rest()
        for name in [each for each in self.nodes if self._is_bridge(self.nodes[each])]:
            bridge = self.bridges[name] = self.nodes[name]
            self.build.lan(name, self.losses.line(bridge.at))
        for name, node in self._systems().items():
            line = self.losses.line(node.at)
            self.build.node(name, line=line, label=name, forwards=not self._is_host(node))
        self._read_links()
        parts = {name: self._node(node) for name, node in self._systems().items()}
        made = self.build.finish()
        return self._with_fields(made, parts)

    @cached_property
    def pools(self) -> Pools:
        """The pools of addresses."""
        said = below(self.general, "addressing")
        prefixes: Leaves = {}
        for name, value in self.whole.items():
            head, *rest = name.split(".")
            said |= leaves(value, tuple(rest)) if head == "addressing" else {}
            prefixes |= leaves(value, tuple(rest)) if head == "prefix" else {}
        return pools_of({key: each for key, each in said.items() if key}, prefixes)

    @cached_property
    def giving(self) -> addressing.Addressing:
        """The giving of addresses."""
        hosts = {name for name, node in self.nodes.items() if self._is_host(node)}
        return addressing.Addressing(self.pools, self.nodes, hosts)

    def _read_the_rest(self) -> None:
        """Read what holds of all nodes; name the parts that have no counterpart."""
        of_defaults = leaves(self.whole.get("defaults"))
        for name, value in self.whole.items():
            if name.startswith("defaults."):
                of_defaults |= leaves(value, tuple(name.split(".")[1:]))
        extra = words(of_defaults.pop(EXTRA, None))
        self.general = beside(self.document.name, extra)
        self.general |= {key: value for key, value in of_defaults.items() if key}
        if any("/" in each for each in extra):
            self.losses.lose(("defaults",), "`defaults.sources.extra`", rows.WHY["sources"])
        for name, value in self.whole.items():
            head, *rest = name.split(".")
            if head in (*PROTOCOLS, "router_id", "bfd"):
                self.general |= leaves(value, (head, *rest))
            elif head == "routing":
                self._read_objects(leaves(value, (head, *rest)))
            elif head == "plugin":
                if others := [each for each in words(value) if each not in PLUGINS]:
                    what = f"plugin {', '.join(others)}"
                    self.losses.lose((name,), what, rows.WHY["plugin"])
            elif head not in PARTS and head not in ("addressing", "version", "provider"):
                self.losses.lose((name,), f"`{head}`", rows.WHY.get(head, ""))
        for key in self.general:
            if not self._is_known(key) and key[0] not in OF_ALL:
                self.losses.lose(("defaults",), f"`{'.'.join(key[:2])}` of all")

    def _read_objects(self, said: Leaves) -> None:
        """Keep policies and prefix lists; name the other parts of `routing`."""
        self.objects |= {key: each for key, each in said.items() if key[1:2] in OBJECTS}
        for kind in dict.fromkeys(key[1:2] for key in said if key[1:2] not in OBJECTS):
            self.losses.lose(("routing",), f"`{'.'.join(('routing', *kind))}`")

    @staticmethod
    def _is_known(key: tuple[str, ...]) -> bool:
        """Return True for a field of all nodes, or of one, that is read somewhere."""
        return (
            key in rows.NODE
            or key in rows.APART
            or key[:2] in rows.BELOW
            or key[:1] in ((), ("bfd",))
        )

    def _device(self, node: NodeSaid) -> str:
        return text(node.said.get(("device",))) or text(self.general.get(("device",)))

    def _systems(self) -> dict[str, NodeSaid]:
        """Return the nodes that are no bridges."""
        return {name: node for name, node in self.nodes.items() if name not in self.bridges}

    @staticmethod
    def _is_bridge(node: NodeSaid) -> bool:
        return text(node.said.get(("role",))) == "bridge"

    def _is_host(self, node: NodeSaid) -> bool:
        role = text(node.said.get(("role",)))
        return role == "host" or (self._device(node) in HOSTS and role != "router")

    def _modules(self, node: NodeSaid) -> list[str]:
        own = node.said.get(("module",))
        return words(self.whole.get("module") if own is None else own)

    def _node(self, node: NodeSaid) -> Part:
        """Return the fields of a node; name what it has no counterpart for."""
        part, device, modules = Part(), self._device(node), self._modules(node)
        spoken = [each for each in PROTOCOLS if each in modules] if device not in HOSTS else []
        if device and device not in HOSTS and device not in DAEMONS:
            why = "it becomes a router with FRR"
            self.losses.lose(node.at, f"device {short(device)}", why, node.name)
        if not device and spoken:
            self.build.remarks.say(CHOSEN)
        for module in modules:
            if module not in rows.MODULES:
                self.losses.lose(node.at, f"module {module}", rows.WHY.get(module, ""), node.name)
        for protocol in spoken:
            part.put(("routing", protocol), {})
        if spoken and device == "bird":
            part.put(("routing", "by"), "bird")
        for key, value in {**self.general, **node.said}.items():
            row = rows.NODE.get(key)
            if row is not None and (row[0][0] != "routing" or self._speaks(row[0], spoken)):
                what = ".".join(key)
                carry(part, row, value, losses=self.losses, at=node.at, what=what, node=node.name)
            elif row is None and key in node.said and not self._is_known(key):
                lose(self.losses, node.at, key, node.name)
        self._put_loopback(part, node, spoken)
        self._put_daemons(part, node, spoken, bfd="bfd" in modules)
        return part

    def _put_loopback(self, part: Part, node: NodeSaid, spoken: list[str]) -> None:
        found = self.giving.loopback(node)
        if found and self._is_host(node):
            self.losses.lose(
                node.at, "`loopback` of a host", "a lab has those of routers", node.name
            )
        elif found:
            texts: list[Json] = [addressing.shown(each) for each in found]
            part.put(("loopback",), texts if len(texts) > 1 else texts[0])
        has_own = "router_id" in part.routing or any(":" not in each for each in found)
        if spoken and not has_own and (given := self.giving.router_id(node)):
            part.put(("routing", "router_id"), given)

    def _lent(self, link: MapLink, said: LinkSaid, parts: Mapping[str, Part]) -> MapLink:
        """Return a link, unnumbered if the topology says so and its routers can have it so."""
        if link.addresses or not self.giving.is_unnumbered(said):
            return link
        ends = [parts[name] for name, _ in said.ends if name in parts]
        of_ospf = [each for each in ends if {*each.routing} & {*PROTOCOLS} == {"ospf"}]
        has_ipv4 = any("." in str(each.fields.get("loopback")) for each in ends)
        by_bird = any(each.routing.get("by") == "bird" for each in ends)
        if not link.members and len(of_ospf) == 2 and has_ipv4 and not by_bird:
            return replace(link, fields={**link.fields, "unnumbered": True})
        self.losses.lose(said.at, "an unnumbered link", rows.WHY["unnumbered"])
        return link

    def _routers(self) -> list[str]:
        """Return the nodes that forward."""
        return [name for name, node in self._systems().items() if not self._is_host(node)]

    def _put_routes(self, part: Part, name: str, around: Around) -> None:
        """Put a node's static routes: those of a router are its daemons'."""
        node = self.nodes[name]
        routes = routes_of(node, around, self.losses)
        if routes and self._is_host(node):
            part.put(("routes",), routes)
        elif routes:
            if self._device(node) == "bird":
                part.put(("routing", "by"), "bird")
            part.put(("routing", "static"), routes)

    def _put_areas(self, part: Part, name: str, ip: Collection[int]) -> None:
        """Put the settings of the areas that a router is in; take out what its daemon has not."""
        of_ospf, node = part.routing.get("ospf"), self.nodes[name]
        if not isinstance(of_ospf, Mapping):
            return
        here = ospf.areas_here(of_ospf)
        for said in (self.general, node.said):
            found, lost = ospf.areas_of(said.get(("ospf", "areas")), here)
            for area, own in found.items():
                part.put(("routing", "ospf", "area_settings", area), own)
            for key in lost:
                self.losses.lose(node.at, f"`{key}` of `ospf.areas`", rows.NOTHING, name)
        possible, lost = ospf.without_impossible(part.routing, ip)
        part.put(("routing", "ospf"), possible)
        for key in lost:
            self.losses.lose(node.at, f"`ospf.{key}`", rows.WHY["daemon"], name)

    def _put_daemons(self, part: Part, node: NodeSaid, spoken: list[str], *, bfd: bool) -> None:
        """Put the settings of a router's daemons."""
        said = {**self.general, **node.said}
        if "ospf" in spoken:
            for each in ospf.router_settings(said):
                if isinstance(each[0], tuple):
                    part.put(("routing", "ospf", *each[0]), each[1])
                else:
                    lose(self.losses, node.at, each, node.name)
        if spoken and bfd and any(is_on(said.get(key)) for key in ospf.BFD):
            part.put(("routing", "bfd"), ospf.bfd_times(below(said, "bfd")))

    def _put_policies(self, part: Part, name: str, ip: Collection[int]) -> None:
        """Put the route maps that a router's OSPF names; name those without words here."""
        node, added = self.nodes[name], ""
        for policy in ospf.policies(part.routing):
            try:
                added += route_map(policy, {**self.objects, **node.said}, self.pools, ip)
            except NoWords as error:
                what = f"`routing.policy.{policy}` ({error})"
                self.losses.lose(node.at, what, rows.WHY["config"], name)
                part.put(("routing", "ospf"), ospf.without_policy(part.routing, policy))
        if added:
            part.put(("routing", "added"), added)

    @staticmethod
    def _speaks(path: tuple[str, ...], spoken: list[str]) -> bool:
        return bool(spoken) and (path[1] not in PROTOCOLS or path[1] in spoken)

    def _read_links(self) -> None:
        """Add the links to the map, with interfaces eth1, eth2 … of each node, as netlab has."""
        numbers: Counter[tuple[str, str]] = Counter()
        for link in links_of(self.whole, self.nodes):
            if not isinstance(link, LinkSaid):
                line = self.losses.line(link)
                self.build.remarks.problem(line, "expected a link between nodes: left out")
                continue
            if len({name for name, _ in link.ends}) < len(link.ends):
                self.losses.lose(link.at, "a link of a node with itself", "")
                continue
            number, line = len(self.links), self.losses.line(link.at)
            self.links.append(link)
            self.given.append(self._addresses(link))
            devices = {}
            for name, said in link.ends:
                kind = "lo" if text(link.said.get(("type",))) == "loopback" else "eth"
                numbers[kind, name] += 1
                usual = f"{kind}{numbers[kind, name]}"
                devices[name] = text(said.get(("ifname",))) or usual
            self._add(number, link, devices, line)

    def _addresses(self, link: LinkSaid) -> addressing.Addresses:
        """Return the addresses of a link's ends; none for a LAN of several links."""
        found = self.giving.of_link(link)
        return {} if any(name in self.bridges for name, _ in link.ends) else found

    def _add(self, number: int, link: LinkSaid, devices: dict[str, str], line: int) -> None:
        names = [name for name, _ in link.ends]
        kind = text(link.said.get(("ospf", "network_type"))) or text(link.said.get(("type",)))
        if len(names) == 2 and kind not in ("broadcast", "lan", "non-broadcast"):
            edge = Edge(a=names[0], b=names[1], line=line, devices=devices, number=number)
            self.build.edge(edge)
            return
        key = f"link {number}"
        wanted = f"lan-{names[0]}" if len(names) > 1 else f"stub-{names[0]}"
        self.lans[wanted] += 1
        again = f"-{self.lans[wanted]}" if self.lans[wanted] > 1 else ""
        self.build.lan(key, line, f"{wanted}{again}")
        for name in names:
            device = {name: devices[name]}
            self.build.edge(Edge(a=name, b=key, line=line, devices=device, number=number))

    def _with_fields(self, made: Map, parts: Mapping[str, Part]) -> Map:
        """Return the map with the fields of nodes and links, by their names in the lab."""
        names = dict(zip(self._systems(), (node.name for node in made.nodes), strict=True))
        reading = LinkFields(
            nodes=self.nodes,
            general=self.general,
            bridges=self.bridges,
            hosts=self.giving.hosts,
            names=names,
            parts=parts,
            losses=self.losses,
        )
        links = {}
        for link in made.links:
            number = link.numbers[0]
            said = self.links[number]
            links[link.name] = reading.of(link, said, self.given[number]), said
        of_map = [self._lent(link, said, parts) for link, said in links.values()]
        loopbacks = {name: self.giving.loopback(self.nodes[name]) for name in self._routers()}
        whole = addressing.versions(self.pools, of_map, loopbacks.values())
        nodes = []
        for node, (name, part) in zip(made.nodes, parts.items(), strict=True):
            around = Around(names, near(name, links), loopbacks, self.pools, _versions_of(whole))
            self._put_routes(part, name, around)
            self._put_areas(part, name, around.ip)
            self._put_policies(part, name, around.ip)
            nodes.append(replace(node, fields=part.fields))
        self.losses.say(self.build.remarks)
        if any(not link.addresses and not link.fields.get("unnumbered") for link in of_map):
            self.build.remarks.say(ASSIGNED)
        remarks = self.build.remarks
        return replace(
            made,
            nodes=tuple(nodes),
            links=tuple(of_map),
            whole=whole,
            assumptions=remarks.lines(),
            problems=tuple(remarks.problems),
            malformed=remarks.malformed,
        )


def _versions_of(whole: Mapping[str, Json]) -> list[int]:
    """Return the IP versions of a lab."""
    given = whole.get("ip")
    return [each for each in given if isinstance(each, int)] if isinstance(given, list) else [4]
