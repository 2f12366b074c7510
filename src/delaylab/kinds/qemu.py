"""A virtual machine by QEMU, on KVM where it boots, else by software emulation (TCG)."""

from __future__ import annotations

from delaylab.kinds import guests
from delaylab.plan.kind import TUN, Kind, Node, Rights
from delaylab.plan.model import Agent, Guest, node_agent
from delaylab.spec import NodeSpec

PROGRAM = "qemu-system-x86_64"
PORT = "delaylab"
MEMORY_MIB = 160
OVERHEAD_MIB = 140
BOOT_DEADLINE_MS = 120_000
DEVICES = {"virtio": "virtio-net-pci", "rtl8139": "rtl8139"}
"""QEMU's names of the cards, where they are not ours."""
DRIVERS = {"virtio": "virtio_net", "rtl8139": "8139cp"}
"""The Linux drivers, likewise."""
CLOCK = "tsc=reliable tsc_early_khz={tsc_khz}"
"""The guest is told how fast the counter runs that it reads. Found out by itself, on an emulated
timer, the figure can be wrong by 1000 ppm, or not come at all: a microvm then does not boot. KVM's
guests have a clock of their own and do not ask."""
EARLY = "earlyprintk=ttyS0,115200"
"""Else a kernel that panics before it has a console says nothing of why."""
NO_SEND_STAMP = frozenset({"vmxnet3", "rtl8139"})
"""Cards whose drivers take no software stamp on sending (no skb_tx_timestamp())."""
IN_CLOUD_KERNEL = frozenset({"virtio", "vmxnet3"})


class Qemu(Kind):
    """A PC or a microvm with the distribution's kernel, or the user's."""

    name = "qemu"
    own_kernel = True
    boot_s = 3.0

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Where QEMU is installed and TAPs can be made; root is not needed."""
        return rights.why_not(PROGRAM, TUN)

    def agent(self, node: Node) -> Agent:
        """A monitor in the host's network, where the TAPs are."""
        guest = Guest(
            "stream",
            tuple(command(node)),
            env={"TMPDIR": "{folder}"},
            deadline_ms=BOOT_DEADLINE_MS,
            setup=guests.setup(node),
            pin=tuple(node.spec.pin or ()),
        )
        return Agent(node_agent(node.name), node.network, cpus=node.cpus, guest=guest)

    def no_send_stamp(self, spec: NodeSpec) -> str | None:
        """Some cards' drivers take none."""
        nic = spec.nic or "virtio"
        return f"the driver of {nic} takes no stamp on sending" if nic in NO_SEND_STAMP else None

    def memory(self, spec: NodeSpec) -> int:
        """Its own, and what the emulator takes beside it."""
        return guests.memory(spec, MEMORY_MIB, OVERHEAD_MIB)


KIND = Qemu()


def command(node: Node) -> list[str]:
    """QEMU's command line for a node."""
    spec = node.spec
    microvm = spec.machine == "microvm"
    nic = spec.nic or "virtio"
    image = "cloud" if nic in IN_CLOUD_KERNEL else "full"
    # A microvm boots the compressed kernel; a PC under emulation is faster without decompression.
    kernel = spec.kernel or f"{{image:{image}/{'bzimage' if microvm else 'kernel'}}}"
    words = [PROGRAM, "-name", f"{node.lab}.{node.name},debug-threads=on"]
    words += ["-machine", "microvm,rtc=on" if microvm else "pc"]
    words += ["-accel", f"{{accel:{spec.accel or 'auto'}}}"]
    words += ["-m", str(guests.mebibytes(spec, MEMORY_MIB)), "-smp", str(spec.vcpus or 1)]
    words += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    words += ["-serial", "stdio", "-kernel", kernel]
    words += ["-initrd", guests.initrd(spec, image)]
    words += ["-append", f"console=ttyS0 {EARLY} quiet panic=-1 {CLOCK} -- {_init(nic, microvm)}"]
    words += ["-qmp", "unix:{folder}/qmp.sock,server=on,wait=off"]
    bus = "device" if microvm else "pci"
    words += ["-device", f"virtio-serial-{bus}"]
    words += ["-chardev", "socket,id=agent,fd={stream}"]
    words += ["-device", f"virtserialport,chardev=agent,name={PORT}"]
    for number, card in enumerate(node.cards):
        tap = f"tap,id=n{number},ifname={card.host.name},script=no,downscript=no"
        # The kernel's own half of a virtio card, where there is one; it wants KVM.
        tap += "{vhost}" if nic == "virtio" and not microvm else ""
        words += ["-netdev", tap, "-device", _card(nic, microvm, number, card.card.mac)]
    return words


def _card(nic: str, microvm: bool, number: int, mac: str) -> str:
    if microvm:
        return f"virtio-net-device,netdev=n{number},mac={mac}"
    # Without a ROM to boot from: nobody boots from the network here.
    return f"{DEVICES.get(nic, nic)},netdev=n{number},mac={mac},romfile="


def _init(nic: str, microvm: bool) -> str:
    buses = ["virtio_mmio"] if microvm else ["virtio_pci"]
    return guests.init(f"virtio:{PORT}", [*buses, "virtio_console", DRIVERS.get(nic, nic)])
