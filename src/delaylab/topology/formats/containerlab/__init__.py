"""Reader of containerlab's topologies. What a lab file has no field for is named, once."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from delaylab.errors import BadInput
from delaylab.spec import source as yaml_source
from delaylab.spec.source import Document
from delaylab.topology.builder import Builder
from delaylab.topology.formats.containerlab import nodes, variables
from delaylab.topology.formats.containerlab.files import Folder
from delaylab.topology.formats.containerlab.layers import Layers
from delaylab.topology.formats.containerlab.links import Links
from delaylab.topology.formats.containerlab.losses import Losses
from delaylab.topology.formats.containerlab.nodes import LAN_KINDS, OUTSIDE_KINDS, Node
from delaylab.topology.formats.containerlab.tree import Fields, fields, text, tree_of
from delaylab.topology.formats.shares import is_yaml
from delaylab.topology.model import Map
from delaylab.topology.options import Options
from delaylab.topology.source import Source, lines_that_count

NAME = "containerlab"
TEMPLATE = "{{"
TOP = re.compile(r"^topology\s*:", re.M)
PARTS = ("nodes", "links", "kinds", "groups", "defaults")
RENAMED = "interfaces get delaylab's names and addresses; all routers get its routes"
IN_FILES = "files of `binds` are as they are: they may name containerlab's interfaces"
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
    return _map(topology, document, build, losses)


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
            losses.lose((name,), f"`{name}`")
    for name in topology:
        if name not in PARTS:
            losses.lose(("topology", name), f"`{name}` of the topology")


def _map(topology: Fields, document: Document, build: Builder, losses: Losses) -> Map:
    layers = Layers(topology)
    try:
        given = {node: layers.of(node) for node in fields(topology.get("nodes"))}
    except ValueError as error:
        raise document.refuse(str(error), ("topology",), "give defaults fewer of them") from None
    kinds = {
        node: text(said["kind"].value) if "kind" in said else nodes.LINUX
        for node, said in given.items()
    }
    links = Links(kinds, build, losses)
    links.read(topology.get("links"))
    folder = Folder(Path(document.name).parent)
    made: dict[str, Node] = {}
    for name, kind in kinds.items():
        at = ("topology", "nodes", name)
        if kind in LAN_KINDS:
            build.lan(name, losses.line(at))
            for own in fields(fields(topology.get("nodes")).get(name)):
                if own != "kind":
                    losses.lose((*at, own), f"`{own}` of a bridge", "", name)
        elif kind in OUTSIDE_KINDS:
            losses.lose(at, f"kind {kind}", "it is a part of the machine", name)
        else:
            said = {
                field: each
                for field, each in given[name].items()
                if field != "group" or not layers.is_group(each.value)
            }
            linked = links.linked[name]
            made[name] = Node(
                name, said, build.name, folder, losses, set(linked), links.missing[name]
            )
            nodes.read(made[name])
            build.node(
                name,
                line=losses.line(at),
                label=name,
                forwards=made[name].routes(len(set(linked.values()))),
                fields=made[name].fields,
            )
    if not made:
        what = "all nodes are bridges, or parts of the machine"
        raise document.refuse(what, ("topology", "nodes"))
    for edge in links.edges:
        build.edge(edge)
    losses.say(build.remarks)
    build.remarks.say(RENAMED)
    if any("image" in node.fields for node in made.values()):
        build.remarks.say(NOT_STARTED)
    if any("files" in node.fields for node in made.values()):
        build.remarks.say(IN_FILES)
    return _with_commands(build.finish(), made, links)


def _with_commands(found: Map, made: dict[str, Node], links: Links) -> Map:
    """Return a map whose nodes have their commands, with the names of interfaces in the lab."""
    called = {number: link.name for link in found.links for number in link.numbers}
    with_programs = []
    for node, of in zip(found.nodes, made.values(), strict=True):
        names = {
            interface: called[number]
            for interface, number in links.linked[of.name].items()
            if number in called and interface
        }
        programs = [command.program(names) for command in of.commands]
        start: dict[str, object] = {"start": programs} if programs else {}
        with_programs.append(replace(node, fields={**node.fields, **start}))
    return replace(found, nodes=tuple(with_programs))
