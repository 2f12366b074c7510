"""Reader of containerlab's topologies. What a lab file has no field for is named, once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from delaylab.errors import BadInput
from delaylab.spec import source as yaml_source
from delaylab.spec.source import Document
from delaylab.topology.builder import Builder
from delaylab.topology.formats.containerlab import nodes, variables
from delaylab.topology.formats.containerlab.layers import Layers
from delaylab.topology.formats.containerlab.links import Links
from delaylab.topology.formats.containerlab.nodes import LAN_KINDS, OUTSIDE_KINDS, Node
from delaylab.topology.formats.containerlab.tree import (
    Fields,
    Said,
    fields,
    is_mapping,
    text,
    tree_of,
)
from delaylab.topology.formats.folder import Folder
from delaylab.topology.formats.losses import Losses
from delaylab.topology.formats.shares import is_yaml
from delaylab.topology.model import Map
from delaylab.topology.options import Options
from delaylab.topology.source import Source, lines_that_count

NAME = "containerlab"
TEMPLATE = "{{"
TOP = re.compile(r"^topology\s*:", re.M)
PARTS = ("nodes", "links", "kinds", "groups", "defaults")
ADDED = "interfaces get addresses of delaylab's, too, and all routers its routes to them"
NOT_STARTED = "programs of images (ENTRYPOINT, CMD) are not started: name them in `start:`"


def fits(source: str) -> bool:
    """Return True for a file of YAML with `topology:`."""
    head = source[:200_000]
    return TOP.search(head) is not None and is_yaml(lines_that_count(head))


def read(source: Source, _: Options) -> Map:
    """Read a topology."""
    plain, said = variables.expanded(source.text)
    document = _parsed(plain, source.name)
    whole = fields(tree_of(document, plain))
    topology = fields(whole.get("topology"))
    if not topology:
        raise document.refuse("expected `topology:` with nodes and links")
    if not fields(topology.get("nodes")):
        raise document.refuse("the topology has no nodes", ("topology",))
    name = variables.named(text(whole.get("name"))) or source.lab
    build = Builder(name, NAME, source.name)
    for remark in said:
        build.remarks.say(remark)
    losses = Losses(document.lines)
    _lose_the_rest(whole, topology, losses)
    return _Reading(topology, document, build, losses).map()


def _parsed(text: str, name: str) -> Document:
    try:
        return yaml_source.parse(text, name)
    except BadInput as error:
        if TEMPLATE not in text:
            raise
        fix = f"it is a template ({TEMPLATE}): fill in its variables first"
        raise BadInput(error.what, error.where, fix) from None


def _lose_the_rest(whole: Fields, topology: Fields, losses: Losses) -> None:
    """Note the fields of the file and of the topology that have no counterpart."""
    for name, value in whole.items():
        if name not in ("name", "topology") and (name != "prefix" or value):
            losses.lose((name,), f"`{name}`", nodes.NO_MANAGEMENT if name == "mgmt" else "")
    for name in topology:
        if name not in PARTS:
            losses.lose(("topology", name), f"`{name}` of the topology")


@dataclass
class _Reading:
    """The reading of a topology: its nodes and links, and what it has made so far."""

    topology: Fields
    document: Document
    build: Builder
    losses: Losses
    made: dict[str, Node] = field(default_factory=dict)

    def map(self) -> Map:
        """Return the map of the topology."""
        layers = Layers(self.topology)
        try:
            given = {node: layers.of(node) for node in fields(self.topology.get("nodes"))}
        except ValueError as error:
            fix = "give defaults fewer of them"
            raise self.document.refuse(str(error), ("topology",), fix) from None
        kinds = {
            node: text(said["kind"].value) if "kind" in said else nodes.LINUX
            for node, said in given.items()
        }
        links = Links(kinds, self.build, self.losses)
        links.read(self.topology.get("links"))
        folder = Folder(Path(self.document.name).parent)
        for name, said in given.items():
            at = ("topology", "nodes", name)
            if kinds[name] in LAN_KINDS:
                self._bridge(name)
            elif kinds[name] in OUTSIDE_KINDS:
                self.losses.lose(at, f"kind {kinds[name]}", "it is a part of the machine", name)
            else:
                self._node(name, layers.without_group(said), links, folder)
        if not self.made:
            what = "all nodes are bridges, or parts of the machine"
            raise self.document.refuse(what, ("topology", "nodes"))
        for edge in links.edges:
            self.build.edge(edge)
        self.losses.say(self.build.remarks)
        self._say_what_holds_of_all()
        return _with_commands(self.build.finish(), self.made, links)

    def _own(self, name: str) -> Fields:
        """Return a node's own fields; name a node that has something else."""
        given = fields(self.topology.get("nodes")).get(name)
        if given and not is_mapping(given):
            at = ("topology", "nodes", name)
            self.losses.lose(at, "a text or a list in place of fields", "", name)
        return fields(given)

    def _bridge(self, name: str) -> None:
        at = ("topology", "nodes", name)
        self.build.lan(name, self.losses.line(at))
        for own in self._own(name):
            if own != "kind":
                self.losses.lose((*at, own), f"`{own}` of a bridge", "", name)

    def _node(self, name: str, said: Mapping[str, Said], links: Links, folder: Folder) -> None:
        self._own(name)
        linked, missing = links.linked[name], links.missing[name]
        node = Node(
            name=name,
            given=said,
            lab=self.build.name,
            folder=folder,
            losses=self.losses,
            linked=linked.keys(),
            missing=missing,
        )
        nodes.read(node)
        self.build.node(
            name,
            line=self.losses.line(("topology", "nodes", name)),
            label=name,
            forwards=node.routes(len(set(linked.values()) - links.nowhere)),
            fields=node.fields,
        )
        self.made[name] = node

    def _say_what_holds_of_all(self) -> None:
        remarks, given = self.build.remarks, [node.fields for node in self.made.values()]
        remarks.say(ADDED)
        if any("image" in each for each in given):
            remarks.say(NOT_STARTED)


def _with_commands(network: Map, made: dict[str, Node], links: Links) -> Map:
    """Return a map whose nodes have their commands, with the names of interfaces in the lab."""
    links_of = {number: link for link in network.links for number in link.numbers}
    with_programs = []
    for node, of in zip(network.nodes, made.values(), strict=True):
        names = {
            interface: links_of[number].device(node.name)
            for interface, number in links.linked[of.name].items()
            if number in links_of and interface
        }
        programs = [command.program(names) for command in of.commands]
        start: dict[str, object] = {"start": programs} if programs else {}
        with_programs.append(replace(node, fields={**node.fields, **start}))
    return replace(network, nodes=tuple(with_programs))
