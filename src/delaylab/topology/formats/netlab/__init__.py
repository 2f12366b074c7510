"""Reader of netlab's topologies, as far as their nodes are Linux, FRR or BIRD."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from delaylab.errors import BadInput
from delaylab.io.files import read_bytes
from delaylab.io.values import Json
from delaylab.spec import source as yaml_source
from delaylab.spec.source import Document, Location
from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.formats.containerlab.tree import Fields, Tree, fields, text, tree_of
from delaylab.topology.formats.folder import is_beside
from delaylab.topology.formats.losses import Losses, short
from delaylab.topology.formats.netlab import addressing, rows
from delaylab.topology.formats.netlab.rows import Part
from delaylab.topology.formats.netlab.shape import (
    Leaves,
    LinkSaid,
    NodeSaid,
    leaves,
    links_of,
    nodes_of,
    words,
)
from delaylab.topology.formats.netlab.static import Around, routes_of
from delaylab.topology.formats.shares import is_yaml
from delaylab.topology.model import Map, MapLink
from delaylab.topology.options import Options
from delaylab.topology.source import MOST_BYTES, Source, lines_that_count

NAME = "netlab"
TOP = re.compile(r"^(nodes|links)\s*:", re.M)
ITS_OWN = re.compile(r"^(module|links|groups|provider|validate|defaults[\w.]*)\s*:", re.M)
NOT_NETLAB = re.compile(r"^(lab|study|topology)\s*:", re.M)
PARTS = frozenset({"nodes", "links", "groups", "name", "module", "message", "defaults"})
PROTOCOLS = ("ospf", "isis", "bgp")
DEFAULTS = "topology-defaults.yml"
"""The file of defaults that netlab reads beside a topology."""
EXTRA = ("sources", "extra")
HOSTS = frozenset({"linux"})
DAEMONS: Mapping[str, str] = {"frr": "frr", "bird": "bird"}
CHOSEN = "nodes without a device run FRR; `by: bird` of their `routing` chooses BIRD"
ASSIGNED = "addresses that the topology does not write out are delaylab's"


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

    def _read_the_rest(self) -> None:
        """Read what holds of all nodes; name the parts that have no counterpart."""
        of_defaults = leaves(self.whole.get("defaults"))
        for name, value in self.whole.items():
            if name.startswith("defaults."):
                of_defaults |= leaves(value, tuple(name.split(".")[1:]))
        extra = words(of_defaults.pop(EXTRA, None))
        self.general = _beside(self.document.name, extra)
        self.general |= {key: value for key, value in of_defaults.items() if key}
        if any("/" in each for each in extra):
            self.losses.lose(("defaults",), "`defaults.sources.extra`", rows.WHY["sources"])
        for name, value in self.whole.items():
            head, *rest = name.split(".")
            if head in (*PROTOCOLS, "router_id"):
                self.general |= leaves(value, (head, *rest))
            elif head not in PARTS and head not in ("addressing", "version", "provider"):
                self.losses.lose((name,), f"`{head}`", rows.WHY.get(head, ""))
        known = {key for key in self.general if key in rows.NODE}
        for key in self.general:
            if key not in known and key[0] not in (
                "device",
                "provider",
                "addressing",
                "interfaces",
            ):
                self.losses.lose(("defaults",), f"`{'.'.join(key[:2])}` of all")

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
                self._put(part, row, value, node.at, ".".join(key), node.name)
            elif row is None and key in node.said and not self._is_apart(key):
                self._lose(node.at, key, value, node.name)
        return part

    @staticmethod
    def _speaks(path: tuple[str, ...], spoken: list[str]) -> bool:
        return bool(spoken) and (path[1] not in PROTOCOLS or path[1] in spoken)

    @staticmethod
    def _is_apart(key: tuple[str, ...]) -> bool:
        return key in rows.APART or key[:2] == ("routing", "static")

    def _put(
        self,
        part: Part,
        row: tuple[tuple[str, ...], rows.Reader],
        value: Tree,
        at: Location,
        what: str,
        node: str = "",
    ) -> None:
        path, reader = row
        found = reader(value)
        if found is None:
            self.losses.lose(at, f"`{what}: {str(value)[:40]}`", "no lab file can have it", node)
        else:
            part.put(path, found)

    def _lose(self, at: Location, key: tuple[str, ...], value: object, node: str = "") -> None:
        del value
        self.losses.lose(at, f"`{'.'.join(key[:3])}`", rows.WHY.get(key[0], ""), node)

    def _read_links(self) -> None:
        """Add the links to the map, with interfaces eth1, eth2 … of each node, as netlab has."""
        numbers: Counter[str] = Counter()
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
            devices = {}
            for name, said in link.ends:
                numbers[name] += 1
                devices[name] = text(said.get(("ifname",))) or f"eth{numbers[name]}"
            self._add(number, link, devices, line)

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
        given = addressing.WrittenAddresses(self.nodes, names)
        links = []
        for link in made.links:
            said = self.links[link.numbers[0]]
            links.append(self._link(link, said, names, parts, given))
        whole = addressing.versions(self.whole, self.general, links)
        nodes = []
        for node, (name, part) in zip(made.nodes, parts.items(), strict=True):
            around = Around(names, self._near(name, links), _versions_of(whole))
            routes = routes_of(self.nodes[name], around, self.losses)
            more: dict[str, Json] = {"routes": routes} if routes else {}
            nodes.append(replace(node, fields={**part.fields, **more}))
        self.losses.say(self.build.remarks)
        if any(not link.addresses for link in links):
            self.build.remarks.say(ASSIGNED)
        remarks = self.build.remarks
        return replace(
            made,
            nodes=tuple(nodes),
            links=tuple(links),
            whole=whole,
            assumptions=remarks.lines(),
            problems=tuple(remarks.problems),
            malformed=remarks.malformed,
        )

    def _near(self, name: str, links: Sequence[MapLink]) -> dict[str, str]:
        """Return the nodes on the links of a node, each with the name of the first link."""
        found: dict[str, str] = {}
        for link in links:
            ends = [each for each, _ in self.links[link.numbers[0]].ends]
            for other in ends if name in ends else ():
                found.setdefault(other, link.name)
        return found

    def _link(
        self,
        link: MapLink,
        said: LinkSaid,
        names: Mapping[str, str],
        parts: Mapping[str, Part],
        given: addressing.WrittenAddresses,
    ) -> MapLink:
        """Return a link with its fields; its areas are fields of its nodes."""
        part = Part()
        for key, value in said.said.items():
            if key in rows.LINK:
                self._put(part, rows.LINK[key], value, said.at, ".".join(key))
            elif key not in rows.APART:
                self._lose(said.at, key, value)
        for name, of_end in said.ends:
            if name in self.bridges:
                continue
            self._read_end(part, said, name, of_end, names)
            area = of_end.get(("ospf", "area"), said.said.get(("ospf", "area")))
            speaks = "ospf" in _routing_of(parts[name])
            if area is not None and speaks:
                row = (("routing", "ospf", "areas", link.name), rows.NODE["ospf", "area"][1])
                self._put(parts[name], row, area, said.at, "ospf.area", name)
        bridged = any(name in self.bridges for name, _ in said.ends)
        addresses = {} if bridged else given.addresses(said)
        return replace(link, fields=part.fields, addresses=addresses)

    def _read_end(
        self, part: Part, link: LinkSaid, name: str, said: Leaves, names: Mapping[str, str]
    ) -> None:
        for key, value in said.items():
            row = rows.END.get(key)
            if row is None:
                if key not in rows.APART:
                    self._lose(link.at, ("of one end", *key)[1:], value, name)
                continue
            general = part.fields.get(row[0][0])
            if general is not None and not isinstance(general, Mapping):
                part.put(row[0], {names[each]: general for each, _ in link.ends})
            self._put(part, ((*row[0], names[name]), row[1]), value, link.at, ".".join(key), name)


def _beside(name: str, extra: Sequence[str]) -> Leaves:
    """Return what the files of defaults beside a topology say."""
    found: Leaves = {}
    for each in (DEFAULTS, *(file for file in extra if "/" not in file)):
        path = Path(name).with_name(each)
        if is_beside(path):
            source = _file_beside(path)
            found |= leaves(tree_of(yaml_source.parse(source, str(path)), source))
    found.pop((), None)
    return found


def _file_beside(path: Path) -> str:
    try:
        return read_bytes(path, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput("cannot be read: it is not UTF-8", str(path)) from None


def _versions_of(whole: Mapping[str, Json]) -> list[int]:
    """Return the IP versions of a lab."""
    given = whole.get("ip")
    return [each for each in given if isinstance(each, int)] if isinstance(given, list) else [4]


def _routing_of(part: Part) -> Mapping[str, Json]:
    """Return what the part of a node says of its routing."""
    found = part.fields.get("routing")
    return found if isinstance(found, Mapping) else {}
