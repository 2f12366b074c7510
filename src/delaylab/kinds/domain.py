"""A Xen domain on a machine that is itself a dom0: `xl` directly, with no machine around it.

Packets pass the domain, its backend's interface on the host (point `vif`), and the host.
"""

from __future__ import annotations

from delaylab.kinds import guest
from delaylab.plan.kind import Node, Rights
from delaylab.spec.kinds import XenNode
from delaylab.units import MEBIBYTE

BOOT_DEADLINE_MS = 240_000
NOT_ELSEWHERE = (
    "a dom0 starts no domains elsewhere; take kind qemu, or put its host on this machine"
)


class Domain(guest.VirtualMachine[XenNode]):
    """The variant of `delaylab.kinds.xen` for a machine that runs on Xen as its dom0.

    The domain's memory comes from the hypervisor; only what its backends take of this machine
    counts.
    """

    name = "xen"
    hypervisor_bridged = True
    not_elsewhere = NOT_ELSEWHERE
    memory_mib = 192
    overhead_mib = 24
    deadline_ms = BOOT_DEADLINE_MS

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Return None: on a dom0, domains can always be made."""
        return None

    def command(self, node: Node[XenNode]) -> list[str]:
        """Return the script that runs `xl`, with its parameters in the environment."""
        spec = node.spec
        known = {
            "AGENT": "{image:agent/program}",
            "KERNEL": "{image:domain/kernel}",
            "INITRD": "{image:domain/initrd}",
            "HOTPLUG": "{image:domain/vif}",
            "MARK": "{lab}/" + f"{node.name}.domain",
            "LAB": node.lab,
            "NODE": node.name,
            "TYPE": spec.guest,
            "MEMORY": str(guest.mebibytes(spec, self.memory_mib)),
            "VCPUS": str(spec.vcpus),
            "CPUS": ",".join(map(str, node.cpus or ())),
            "CARDS": " ".join(
                f"{cable.bridge},{cable.vif},{cable.card.mac},{cable.card.mtu}"
                for cable in node.inner
            ),
        }
        words = [f"{name}={value}" for name, value in known.items()]
        return ["env", *words, "{image:domain/start}"]

    def memory(self, spec: XenNode) -> int:
        """Return the bytes that the domain's backends take."""
        return self.overhead_mib * MEBIBYTE


KIND = Domain()
