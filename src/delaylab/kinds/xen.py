"""Xen domains in a virtual machine that runs Xen and its driver domain, one for each host.

`delaylab.kinds.domain` is used instead where this machine is itself a dom0. Packets pass the
domain, the driver domain (point `dom0`), the machine's TAP (`vif`), and the host.
"""

from __future__ import annotations

from delaylab.io.values import JsonObject
from delaylab.kinds import domain, guest
from delaylab.kinds.domain import BOOT_DEADLINE_MS
from delaylab.kinds.qemu import PORT, PROGRAM
from delaylab.plan.kind import Kind, Node, Rights
from delaylab.plan.model import Agent, Guest
from delaylab.resolve.agent_names import host_agent, machine_agent
from delaylab.spec.kinds import XenNode
from delaylab.spec.lab import XenSpec

DOM0_MIB = 460
DOM0_FOR_EACH_DOMAIN_MIB = 24
"""MiB per domain for its backends in dom0, and for the tools that watch over it."""
HYPERVISOR_MIB = 80
FOR_EACH_DOMAIN_MIB = 16
EMULATOR_MIB = 300
MODULES = (
    *("virtio_pci", "virtio_net", "virtio_console", "xen_privcmd", "xenfs", "xen_evtchn"),
    *("xen_gntdev", "xen_gntalloc", "xen_netback", "bridge"),
)


class Xen(guest.VirtualMachine[XenNode]):
    """A domain, paravirtualised (pv) or in hardware with paravirtual devices (pvh)."""

    name = "xen"
    in_shared_machine = True
    boot_s = 25.0
    program = PROGRAM
    # Each domain counts the machine around it, since it may be the only one.
    overhead_mib = DOM0_MIB + HYPERVISOR_MIB + EMULATOR_MIB
    deadline_ms = BOOT_DEADLINE_MS

    def here(self, rights: Rights) -> Kind[XenNode]:
        """Return the variant without a machine around the domains if this machine is a dom0."""
        return domain.KIND if rights.dom0 else self

    def command(self, node: Node[XenNode]) -> list[str]:
        """Return the command that starts the domain by its driver domain.

        Its stream is the domain's console.
        """
        spec = node.spec
        words = ["{image:agent/program}", "call", "--stream", "{stream}"]
        words += ["{lab}/" + machine_agent(node.host) + ".sock", "--"]
        words += ["/lib/delaylab/domu", node.name, spec.guest]
        words += [str(guest.mebibytes(spec, self.memory_mib)), str(spec.vcpus)]
        return words + [f"{card.bridge},{card.vif},{card.card.mac}" for card in node.inner]

    def services(self, nodes: tuple[Node[XenNode], ...]) -> tuple[Agent, ...]:
        """Return the machine that Xen runs in, for each host with such nodes."""
        hosts = dict.fromkeys(node.host for node in nodes)
        return tuple(
            _machine(host, [node for node in nodes if node.host == host]) for host in hosts
        )


KIND = Xen()


def _machine(host: str, nodes: list[Node[XenNode]]) -> Agent:
    domains = sum(
        guest.mebibytes(node.spec, KIND.memory_mib) + FOR_EACH_DOMAIN_MIB for node in nodes
    )
    dom0_mib = DOM0_MIB + len(nodes) * DOM0_FOR_EACH_DOMAIN_MIB
    memory = dom0_mib + HYPERVISOR_MIB + domains
    taps, xen = nodes[0].cards, nodes[0].xen or XenSpec()
    # A comma separates boot modules in QEMU's list; a doubled comma is a literal one.
    init = guest.init(f"virtio:{PORT}", [*MODULES])
    dom0 = f"console=hvc0 quiet panic=-1 {guest.ROOT} -- {init}"
    dom0 += " --before /lib/delaylab/dom0"
    words = [PROGRAM, "-machine", "pc", "-accel", "tcg,thread=multi", "-cpu", "qemu64,+npt"]
    words += [
        *guest.QEMU_SANDBOX,
        "-smp",
        str(xen.cpus),
        "-m",
        str(memory),
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
    ]
    words += ["-no-reboot", "-serial", "stdio", "-kernel", "{image:xen/hypervisor}"]
    words += ["-append", f"console=com1 com1=115200,8n1 dom0_mem={dom0_mib}M,max:{dom0_mib}M"]
    words[-1] += f" dom0_max_vcpus=1 sched={xen.scheduler}"
    words[-1] += " noreboot loglvl=error guest_loglvl=error"
    words += ["-initrd", "{image:xen/kernel} " + dom0.replace(",", ",,") + ",{image:xen/initrd}"]
    words += ["-device", "virtio-serial-pci", "-chardev", "socket,id=agent,fd={stream}"]
    words += ["-device", f"virtserialport,chardev=agent,name={PORT}"]
    for number, tap in enumerate(taps):
        words += ["-netdev", f"tap,id=n{number},ifname={tap.host.name},script=no,downscript=no"]
        words += ["-device", f"virtio-net-pci,netdev=n{number},mac={tap.card.mac},romfile="]
    cards: list[JsonObject] = [
        {"name": t.card.name, "mac": t.card.mac, "mtu": t.card.mtu} for t in taps
    ]
    setup: JsonObject = {"op": "setup", "hostname": "dom0", "interfaces": cards, "operations": []}
    started = Guest(
        "stream",
        tuple(words),
        env={"TMPDIR": "{folder}"},
        deadline_ms=BOOT_DEADLINE_MS,
        setup=setup,
    )
    cpus = next((node.cpus for node in nodes if node.cpus), None)
    return Agent(machine_agent(host), host_agent(host), cpus=cpus, guest=started)
