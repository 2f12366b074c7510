"""The largest MTUs that the network cards of nodes can have."""

from __future__ import annotations

from delaylab.spec.kinds import NodeSpec, QemuNode

LARGEST = 65_535
"""The largest MTU of a virtual interface."""
LARGEST_OF_KIND = {"uml": 1500, "xen": 65_517}
"""That of User-Mode Linux's vector driver, and of the host's end of a Xen domain's card."""
LARGEST_OF_NIC = {
    "virtio": 65_521,  # that of a TAP device
    "vmxnet3": 9000,
    "e1000": 16_110,
    "e1000e": 9212,
    "rtl8139": 4096,
}
"""That of each card of QEMU, which its driver in Linux sets."""


def largest_mtu(node: NodeSpec) -> int:
    """Return the largest MTU that a node's cards can have."""
    if isinstance(node, QemuNode):
        return LARGEST_OF_NIC[node.nic]
    return LARGEST_OF_KIND.get(node.kind, LARGEST)


def in_words(node: NodeSpec) -> str:
    """Return what a node's cards are, for a reader of a lab file."""
    return f"{node.kind}, nic {node.nic}" if isinstance(node, QemuNode) else node.kind
