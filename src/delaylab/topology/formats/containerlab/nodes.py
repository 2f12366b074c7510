"""Nodes of a containerlab topology: what each of their fields becomes in a lab file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field

from delaylab.spec.programs import VARIABLE
from delaylab.topology.formats.containerlab import limits, variables
from delaylab.topology.formats.containerlab.commands import MANAGEMENT, Command, words_of
from delaylab.topology.formats.containerlab.tree import (
    Said,
    Tree,
    fields,
    is_list,
    is_mapping,
    is_text,
    items,
    text,
)
from delaylab.topology.formats.folder import Files, Folder
from delaylab.topology.formats.losses import Losses, short

LAN_KINDS = frozenset({"bridge", "ovs-bridge"})
"""Kinds that are networks: links with `join`."""
OUTSIDE_KINDS = frozenset({"host", "ext-container"})
"""Kinds that are parts of the machine, and no nodes."""
LINUX = "linux"
MOST_COMMANDS = 99
"""One less than the programs of a node: `entrypoint` is one, too."""
MOST_FILES = 1000
FORWARDING = ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding")
OTHER_FORM = "it has another form than containerlab reads"
NO_WORDS = "it has no words, quotes that do not end, or over 100 kB"
NO_MANAGEMENT = "there is no management network; `delaylab exec` and `cp` reach nodes"
USUAL: Mapping[str, frozenset[str]] = {
    "auto-remove": frozenset({"false"}),
    "cgroupns-mode": frozenset({"private"}),
    "cpu": frozenset({"0"}),
    "enforce-startup-config": frozenset({"false"}),
    "image-pull-policy": frozenset({"never"}),
    "network-mode": frozenset({"none"}),
    "privileged": frozenset({"false"}),
    "restart-policy": frozenset({"no"}),
    "runtime": frozenset({"docker"}),
    "startup-delay": frozenset({"0"}),
    "suppress-startup-config": frozenset({"false"}),
    "user": frozenset({"root", "0"}),
}
"""Values that say what every node of a lab is."""
WHY: Mapping[str, str] = {
    "aliases": "a node has one name",
    "cmd": "the image says what program it is for",
    "license": "`files:` can have it, at the path that the image reads",
    "mgmt-ipv4": NO_MANAGEMENT,
    "mgmt-ipv6": NO_MANAGEMENT,
    "network-mode": NO_MANAGEMENT,
    "ports": "nothing reaches a lab from outside",
    "privileged": "`capabilities:` can name those that its programs need",
    "startup-config": "`files:` can have it, at the path that the image reads",
    "user": "programs run as root",
}
"""Reasons why fields are not carried over, where there is more to say than that."""


@dataclass(kw_only=True)
class Node:
    """A node in the making: its fields in a lab file, and its commands."""

    name: str
    given: Mapping[str, Said]
    lab: str
    folder: Folder
    losses: Losses
    linked: Set[str]
    """The interfaces by which links of the lab reach it."""
    missing: Set[str]
    """Those of links that the lab does not have."""
    fields: dict[str, object] = field(default_factory=dict)
    commands: list[Command] = field(default_factory=list)
    forwards: bool | None = None
    """True or False where the topology says so."""

    def routes(self, links: int) -> bool:
        """Return True for a router: the topology says so, or it has several links."""
        return links > 1 if self.forwards is None else self.forwards

    def lose(self, name: str, what: str = "", why: str = "") -> None:
        """Note that a field, or a part of it, is not carried over."""
        self.losses.lose(self.given[name].at, what or f"`{name}`", why, self.name)

    def text(self, name: str) -> str:
        """Return the text of a field."""
        return text(self.given[name].value) if name in self.given else ""

    def texts(self, name: str) -> list[str]:
        """Return the items of a field that are texts, with values for magic variables."""
        found = []
        for item in items(self.given[name].value):
            if isinstance(item, str):
                found.append(variables.of_node(item, self.lab, self.name))
            else:
                self.lose(name, f"an item of `{name}`", "it is not text")
        return found


def read(node: Node) -> None:
    """Read the fields of a node."""
    image = node.text("image")
    if image:
        node.fields |= {"kind": "docker", "image": image}
    else:
        at = ("topology", "nodes", node.name)
        why = "it gets the kind of --kind, netns unless given"
        node.losses.lose(at, "the container of a node without `image`", why, node.name)
    kind = node.text("kind")
    if image and kind and kind != LINUX:
        node.lose("kind", f"what containerlab does to start kind {kind}")
    for name in node.given:
        if name in ("kind", "image"):
            if not node.text(name):
                node.lose(name, why=OTHER_FORM)
        elif node.text(name).lower() not in USUAL.get(name, ()):
            _read_field(node, name)


def _read_field(node: Node, name: str) -> None:
    reader = READERS.get(name)
    if reader is None:
        node.lose(name, why=WHY.get(name, ""))
    elif reader.of_containers and "image" not in node.fields:
        node.lose(name, why="the node has no image")
    elif not reader.form(node.given[name].value):
        node.lose(name, why=OTHER_FORM)
    else:
        reader.read(node)


def _env(node: Node) -> None:
    found = {}
    for name, value in fields(node.given["env"].value).items():
        if name == "__IMPORT_ENVS" or not (value is None or isinstance(value, str)):
            node.lose("env", f"`{name[:60]}` of `env`")
        elif not re.fullmatch(VARIABLE, name):
            why = "a name of a variable has letters, digits, `_` and `.`"
            node.lose("env", f"variable {short(name)} of `env`", why)
        else:
            found[name] = value or ""
    if found:
        node.fields["env"] = found


def _cpu(node: Node) -> None:
    _limit(node, "cpu", "cpu_quota", limits.quota(node.text("cpu")))


def _memory(node: Node) -> None:
    _limit(node, "memory", "memory", limits.memory(node.text("memory")))


def _cpu_set(node: Node) -> None:
    _limit(node, "cpu-set", "cpus", limits.cpus(node.text("cpu-set")))


def _limit(node: Node, name: str, called: str, value: object) -> None:
    if value is None:
        node.lose(name, f"`{name}: {node.text(name)[:40]}`", "no node can have it")
    else:
        node.fields[called] = value


def _capabilities(node: Node) -> None:
    found = []
    for name in node.texts("cap-add"):
        capability = limits.capability(name)
        if capability is None:
            node.lose("cap-add", f"capability {short(name)}")
        elif capability and capability not in found:
            found.append(capability)
    if found:
        node.fields["capabilities"] = found


def _sysctls(node: Node) -> None:
    for name, value in fields(node.given["sysctls"].value).items():
        if name in FORWARDING and value in ("0", "1"):
            node.forwards = bool(node.forwards) or value == "1"
        else:
            node.lose("sysctls", f"sysctl {short(name)}")


def _binds(node: Node) -> None:
    files: Files = {}
    for bind in node.texts("binds"):
        source, _, rest = bind.partition(":")
        found, why = node.folder.bound(source, rest.partition(":")[0])
        if len(files | found) > MOST_FILES:
            found, why = {}, f"a node has at most {MOST_FILES} files"
        files |= found
        if why:
            part = "a part of " if found else ""
            node.lose("binds", f"{part}bind {short(bind)}", why)
    if files:
        node.fields["files"] = files


def _entrypoint(node: Node) -> None:
    command = f"{node.text('entrypoint')} {node.text('cmd')}"
    words = words_of(variables.of_node(command, node.lab, node.name))
    if not words:
        for name in ("entrypoint", "cmd"):
            if name in node.given:
                node.lose(name, why=NO_WORDS)
        return
    node.commands.insert(0, Command("entrypoint", words, ends=False))


def _cmd(node: Node) -> None:
    if not node.text("entrypoint"):
        node.lose("cmd", why=WHY["cmd"])


def _exec(node: Node) -> None:
    gone = {MANAGEMENT, *node.missing} - node.linked
    for number, line in enumerate(node.texts("exec"), start=1):
        command = Command(f"exec-{number}", words_of(line), ends=True)
        named = command.first_of(gone)
        what = f"exec {short(line)}"
        if not command.words:
            node.lose("exec", what, NO_WORDS)
        elif named:
            why = NO_MANAGEMENT if named == MANAGEMENT else f"no link has interface {named}"
            node.lose("exec", what, why)
        elif len(node.commands) >= MOST_COMMANDS:
            node.lose("exec", what, f"a node has at most {MOST_COMMANDS} commands")
        else:
            node.commands.append(command)


def _hostname(node: Node) -> None:
    if node.text("hostname") != node.name:
        node.lose("hostname", why="it is the name of the node")


@dataclass(frozen=True, slots=True)
class _Reader:
    """A reader of a field, and the form that the field has."""

    read: Callable[[Node], None]
    form: Callable[[Tree], bool] = is_text
    of_containers: bool = False
    """True for what only a node with an image gets: without one, programs are this machine's."""


READERS: Mapping[str, _Reader] = {
    "env": _Reader(_env, is_mapping),
    "cpu": _Reader(_cpu),
    "cpu-set": _Reader(_cpu_set),
    "cap-add": _Reader(_capabilities, is_list),
    "hostname": _Reader(_hostname),
    "sysctls": _Reader(_sysctls, is_mapping),
    "memory": _Reader(_memory, of_containers=True),
    "binds": _Reader(_binds, is_list, of_containers=True),
    "entrypoint": _Reader(_entrypoint, of_containers=True),
    "cmd": _Reader(_cmd, of_containers=True),
    "exec": _Reader(_exec, is_list, of_containers=True),
}
"""The fields that are carried over; the others are named."""
