"""Virtual machines by QEMU, on KVM where it boots, else by software emulation (TCG)."""

from __future__ import annotations

from collections.abc import Mapping

from delaylab.kinds import guest
from delaylab.plan.kind import Node
from delaylab.spec.lab import NodeSpec
from delaylab.units import Size

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
LEAST_MIB = {"cloud": 160, "full": 176}
"""The least memory in which each kernel unpacks its initramfs, tried in steps of 8 MiB."""
EARLY = "earlyprintk=ttyS0,115200"
"""Kernel parameter without which a panic before the console exists leaves no message."""
NO_SEND_STAMP = frozenset({"vmxnet3", "rtl8139"})
"""Cards whose drivers take no software stamp on sending (no skb_tx_timestamp())."""
DISK, DISK_DRIVERS = "/dev/vda", ["virtio_blk", "crc32c_generic", "ext4"]
"""The disk and its drivers; ext4 requests its checksum by a name that only modprobe resolves."""
ON_DISK = {"TMPDIR": "/var/tmp"}
"""The folder where QEMU keeps what a guest writes to its disks; the run directory may be memory.
QEMU removes the file's name as soon as it has opened it."""
IN_CLOUD_KERNEL = frozenset({"virtio", "vmxnet3"})


class Qemu(guest.Machine):
    """A PC or a microvm with the distribution's kernel, or the user's."""

    name = "qemu"
    boot_s = 3.0
    program = PROGRAM
    overhead_mib = 140
    deadline_ms = 120_000
    env: Mapping[str, str] = {"TMPDIR": "{folder}"}

    def command(self, node: Node) -> list[str]:
        """Return QEMU's command line for a node."""
        spec = node.spec
        microvm = spec.machine == "microvm"
        nic = spec.nic or "virtio"
        image = "cloud" if nic in IN_CLOUD_KERNEL else "full"
        # A microvm boots the compressed kernel; an emulated PC is faster without decompression.
        kernel = spec.kernel or f"{{image:{image}/{'bzimage' if microvm else 'kernel'}}}"
        words = [PROGRAM, "-name", f"{node.lab}.{node.name},debug-threads=on"]
        words += ["-machine", "microvm,rtc=on" if microvm else "pc"]
        words += ["-accel", f"{{accel:{spec.accel or 'auto'}}}"]
        memory_mib = guest.mebibytes(spec, self.memory_mib)
        guest.check_memory(node, memory_mib, LEAST_MIB[image])
        words += ["-m", str(memory_mib), "-smp", str(spec.vcpus or 1)]
        words += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
        words += guest.QEMU_SANDBOX
        words += ["-serial", "stdio", "-kernel", kernel]
        words += ["-initrd", guest.initrd(spec, image)]
        words += [
            "-append",
            f"console=ttyS0 {EARLY} quiet panic=-1 {guest.ROOT} {CLOCK} -- "
            + _init(nic, microvm, root=spec.image is not None, disk=spec.disk is not None),
        ]
        words += ["-qmp", "unix:{folder}/qmp.sock,server=on,wait=off"]
        bus = "device" if microvm else "pci"
        words += ["-device", f"virtio-serial-{bus}"]
        words += ["-chardev", "socket,id=agent,fd={stream}"]
        words += ["-device", f"virtserialport,chardev=agent,name={PORT}"]
        words += _disk(spec.image, bus) if spec.image else []
        words += _empty_disk(spec.disk, bus) if spec.disk else []
        for number, card in enumerate(node.cards):
            tap = f"tap,id=n{number},ifname={card.host.name},script=no,downscript=no"
            # vhost is the kernel's own half of a virtio card; it needs KVM.
            tap += "{vhost}" if nic == "virtio" and not microvm else ""
            words += ["-netdev", tap, "-device", _card(nic, microvm, number, card.card.mac)]
        return words

    def environment(self, node: Node) -> Mapping[str, str]:
        """Return the environment variables of QEMU."""
        return ON_DISK if node.spec.disk else self.env

    def no_send_stamp(self, spec: NodeSpec) -> str | None:
        """Return a reason for cards whose drivers take no stamp on sending."""
        nic = spec.nic or "virtio"
        return f"the driver of {nic} takes no stamp on sending" if nic in NO_SEND_STAMP else None


KIND = Qemu()


def _card(nic: str, microvm: bool, number: int, mac: str) -> str:
    if microvm:
        return f"virtio-net-device,netdev=n{number},mac={mac}"
    # An empty ROM file: no guest boots from the network.
    return f"{DEVICES.get(nic, nic)},netdev=n{number},mac={mac},romfile="


def _disk(image: str, bus: str) -> list[str]:
    """Return the options of a disk; writes go to the lab's folder and are removed with it."""
    drive = f"file={image.replace(',', ',,')},if=none,id=root,snapshot=on"
    return ["-drive", drive, "-device", f"virtio-blk-{bus},drive=root"]


def _empty_disk(size: Size, bus: str) -> list[str]:
    """Return the options of a disk of zeros; writes go to a file."""
    zeros = f"file.driver=null-co,file.size={size.bytes},file.read-zeroes=on,format=raw"
    drive = f"{zeros},if=none,id=empty,snapshot=on"
    return ["-drive", drive, "-device", f"virtio-blk-{bus},drive=empty"]


def _init(nic: str, microvm: bool, *, root: bool, disk: bool) -> str:
    modules = ["virtio_mmio" if microvm else "virtio_pci", "virtio_console", DRIVERS.get(nic, nic)]
    words = guest.init(f"virtio:{PORT}", modules + (DISK_DRIVERS if root or disk else []))
    return f"{words} --root {DISK}" if root else words
