"""The kinds of nodes, and what is true of each: stated here, for both wings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

NodeKind = Literal["native", "shared", "netns", "lxc", "docker", "qemu", "uml", "xen"]


@dataclass(frozen=True)
class KindFacts:
    """Facts about a kind of nodes.

    `own_stack` is False for nodes that use their host's network stack. A `container` and a
    `virtual_machine` have root file systems of their own; a virtual machine has a kernel of its
    own, too. `emulated` kinds are emulated in software where the CPU cannot run them. `fields` are
    those of a node's entry that mean something to the kind, beyond those of every node.
    """

    fields: frozenset[str]
    own_stack: bool = True
    container: bool = False
    virtual_machine: bool = False
    emulated: bool = False

    @property
    def own_root(self) -> bool:
        """Return True if the nodes have root file systems of their own."""
        return self.container or self.virtual_machine


_SHARES = frozenset({"cpu_weight", "cpu_quota"})
_PROCESSES = frozenset({"capabilities", "packages"}) | _SHARES
_CONTAINERS = _PROCESSES | {"memory", "image"}
# A Xen domain's kernel is in its driver domain's image, and its CPU time is Xen's to share out.
_WITH_KERNEL = frozenset({"memory", "packages", "kernel", "initrd"}) | _SHARES
_QEMU = _WITH_KERNEL | {"image", "vcpus", "pin", "scratch", "accel", "nic", "machine"}
FACTS: dict[str, KindFacts] = {
    "native": KindFacts(_PROCESSES, own_stack=False),
    "shared": KindFacts(_PROCESSES, own_stack=False),
    "netns": KindFacts(_PROCESSES),
    "lxc": KindFacts(_CONTAINERS, container=True),
    "docker": KindFacts(_CONTAINERS, container=True),
    "qemu": KindFacts(_QEMU, virtual_machine=True, emulated=True),
    "uml": KindFacts(_WITH_KERNEL, virtual_machine=True),
    "xen": KindFacts(frozenset({"memory", "vcpus", "guest"}), virtual_machine=True, emulated=True),
}


def facts_of(kind: str | None) -> KindFacts:
    """Return what is true of a kind; of one that only another version knows, the usual."""
    return FACTS.get(kind or "", KindFacts(frozenset()))


FIELDS_OF_KINDS = {
    field: frozenset(kind for kind, facts in FACTS.items() if field in facts.fields)
    for field in sorted(frozenset[str]().union(*(facts.fields for facts in FACTS.values())))
}
"""Each field of a node that is not for every kind -> the kinds that it is for."""
assert tuple(FACTS) == get_args(NodeKind)
