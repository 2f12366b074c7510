"""Virtual machines by QEMU, on KVM where it boots, else by software emulation (TCG)."""

from __future__ import annotations

from collections.abc import Mapping

from delaylab.kinds import guest
from delaylab.plan.kind import Node
from delaylab.plan.references import to_drive, to_file
from delaylab.spec.kinds import QemuNode

PROGRAM = "qemu-system-x86_64"
PORT = "delaylab"
DEVICES = {"virtio": "virtio-net-pci", "rtl8139": "rtl8139"}
"""QEMU's names of the cards where they differ from delaylab's."""
DRIVERS = {"virtio": "virtio_net", "rtl8139": "8139cp"}
"""The Linux drivers of the cards where their names differ from delaylab's."""
CLOCK = "tsc=reliable tsc_early_khz={tsc_khz}"
"""Kernel parameters with the frequency of the time stamp counter that the guest reads.

Calibrated by the guest on an emulated timer, the figure can be wrong by 1000 ppm, or fail: a
microvm then does not boot. Guests on KVM have a clock of their own and ignore it.
"""
LEAST_MIB = {"cloud": 168, "full": 192}
"""The least memory in which each kernel unpacks its initramfs, tried in steps of 8 MiB."""
LEAST_WITH_DISK_MIB = {"cloud": 96, "full": 112}
"""The same of a guest that has its programs on a disk, so that its initramfs is small."""
EARLY = "earlyprintk=ttyS0,115200"
"""Kernel parameter without which a panic before the console exists leaves no message."""
NO_SEND_STAMP = frozenset({"vmxnet3", "rtl8139"})
"""Cards whose drivers take no software stamp on sending (no skb_tx_timestamp())."""
DISKS = ("/dev/vda", "/dev/vdb")
"""The disks of a guest, in the order of their options."""
DISK_DRIVERS = ["virtio_blk", "crc32c_generic", "ext4"]
"""The drivers of disks; ext4 requests its checksum by a name that only modprobe resolves."""
ON_STORAGE = "/var/tmp"
"""The folder for what a guest writes to its scratch disk; the lab's own may be in memory."""
SCRATCH_IMAGE = "{image:scratch/disk}"
IN_CLOUD_KERNEL = frozenset({"virtio", "vmxnet3"})


class Qemu(guest.VirtualMachine[QemuNode]):
    """A PC or a microvm with the distribution's kernel, or the user's."""

    name = "qemu"
    boot_s = 3.0
    program = PROGRAM
    overhead_mib = 140
    deadline_ms = 120_000
    env: Mapping[str, str] = {"TMPDIR": "{folder}"}

    def command(self, node: Node[QemuNode]) -> list[str]:
        """Return QEMU's command line for a node."""
        spec = node.spec
        microvm = spec.machine == "microvm"
        nic = spec.nic
        image = "cloud" if nic in IN_CLOUD_KERNEL else "full"
        # A microvm boots the compressed kernel; an emulated PC is faster without decompression.
        own = f"{{image:{image}/{'bzimage' if microvm else 'kernel'}}}"
        kernel = to_file(spec.kernel) if spec.kernel else own
        words = [PROGRAM, "-name", f"{node.lab}.{node.name},debug-threads=on"]
        words += ["-machine", "microvm,rtc=on" if microvm else "pc"]
        words += ["-accel", f"{{accel:{spec.accel}}}"]
        memory_mib = guest.mebibytes(spec, self.memory_mib)
        root = guest.root_disk(spec, to_drive)
        least_mib = LEAST_WITH_DISK_MIB if root else LEAST_MIB
        guest.check_memory(node, memory_mib, least_mib[image])
        words += ["-m", str(memory_mib), "-smp", str(spec.vcpus)]
        words += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
        words += guest.QEMU_SANDBOX
        words += ["-serial", "stdio", "-kernel", kernel]
        words += ["-initrd", guest.initrd(spec, image)]
        words += [
            "-append",
            f"console=ttyS0 {EARLY} quiet panic=-1 {guest.ROOT} {CLOCK} -- "
            + _init(nic, microvm, spec),
        ]
        words += ["-chardev", "socket,id=qmp,fd={qmp}", "-mon", "chardev=qmp,mode=control"]
        bus = "device" if microvm else "pci"
        words += ["-device", f"virtio-serial-{bus}"]
        words += ["-chardev", "socket,id=agent,fd={stream}"]
        words += ["-device", f"virtserialport,chardev=agent,name={PORT}"]
        if root:
            words += _disk("root", root if spec.image else _raw(root), bus)
        words += _disk("scratch", _raw(SCRATCH_IMAGE), bus) if spec.scratch else []
        for card in node.cards:
            netdev = f"n-{card.card.name}"
            tap = f"tap,id={netdev},ifname={card.host.name},script=no,downscript=no"
            # vhost is the kernel's own half of a virtio card; it needs KVM.
            tap += "{vhost}" if nic == "virtio" and not microvm else ""
            words += ["-netdev", tap, "-device", _card(nic, microvm, netdev, card.card.mac)]
        return words

    def environment(self, spec: QemuNode) -> dict[str, str]:
        """Return the environment of QEMU, which keeps what guests write to disks in TMPDIR."""
        return {"TMPDIR": ON_STORAGE} if spec.scratch else super().environment(spec)

    def no_send_stamp(self, spec: QemuNode) -> str | None:
        """Return a reason for cards whose drivers take no stamp on sending."""
        lacking = spec.nic in NO_SEND_STAMP
        return f"the driver of {spec.nic} takes no stamp on sending" if lacking else None


KIND = Qemu()


def _card(nic: str, microvm: bool, netdev: str, mac: str) -> str:
    if microvm:
        return f"virtio-net-device,netdev={netdev},mac={mac}"
    # An empty ROM file: no guest boots from the network.
    return f"{DEVICES.get(nic, nic)},netdev={netdev},mac={mac},romfile="


def _raw(image: str) -> str:
    """Return the file of a drive with one of delaylab's images; a user's own is `to_drive`."""
    return f"file={image},format=raw"


def _disk(name: str, file: str, bus: str) -> list[str]:
    """Return the options of a disk; writes go to a file in TMPDIR that has no name (snapshot)."""
    drive = f"{file},if=none,id={name},snapshot=on"
    return ["-drive", drive, "-device", f"virtio-blk-{bus},drive={name}"]


def _init(nic: str, microvm: bool, spec: QemuNode) -> str:
    modules = ["virtio_mmio" if microvm else "virtio_pci", "virtio_console", DRIVERS.get(nic, nic)]
    disks = [
        option
        for option, there in (("--root", guest.root_disk(spec)), ("--scratch", spec.scratch))
        if there
    ]
    words = [guest.init(f"virtio:{PORT}", modules + (DISK_DRIVERS if disks else []))]
    return " ".join(
        words + [f"{option} {disk}" for option, disk in zip(disks, DISKS, strict=False)]
    )
