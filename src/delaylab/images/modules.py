"""The few kernel modules that a lab's guest can need, as an archive for its initramfs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from delaylab.images import elf
from delaylab.images.bzimage import decompress
from delaylab.images.cpio import Writer

FOLDER = "lib/delaylab"
# Drivers of every emulated network card, the agent's channel, packet sockets, and queueing
# disciplines that shape packets.
WANTED = (
    "virtio_pci",
    "virtio_mmio",
    "virtio_net",
    "virtio_console",
    "vmxnet3",
    "e1000",
    "e1000e",
    "8139cp",
    "mii",
    "af_packet",
    "sch_netem",
    "sch_tbf",
    "sch_codel",
    # For a lab inside the guest whose links the kernel carries.
    "sch_ingress",
    "cls_u32",
    "act_mirred",
    "ifb",
    "bridge",
    "veth",
    # For a guest that is one of several machines of a lab.
    "vxlan",
    "macvlan",
    "sch_htb",
    "tun",
    "cls_bpf",
    "xen_netfront",
    "virtio_blk",
    "crc32c_generic",
    "ext4",
)
# Modules that a Xen driver domain needs in addition.
DRIVER_DOMAIN = (
    "xen_privcmd",
    "xenfs",
    "xen_evtchn",
    "xen_gntdev",
    "xen_gntalloc",
    "xen_netback",
)


def write(path: Path, tree: Path, wanted: Iterable[str] = WANTED) -> dict[str, object]:
    """Archive the wanted modules of a kernel's tree (the folder of its version) and their needs.

    Members are `lib/delaylab/modules/NAME.ko`, uncompressed, and `lib/delaylab/modules.json`:
    `{NAME: {"file": "NAME.ko", or null if built into the kernel, "needs": [all others that must be
    loaded before it, in that order]}}`; names have `_` for `-`. Returns that index.
    """
    files = {_name(file): file for file in sorted(tree.rglob("*.ko*"))}
    builtin = {_name(Path(line)) for line in _builtin(tree)}
    modules: dict[str, bytes] = {}
    index: dict[str, object] = {}
    for name in wanted:
        if name in files:
            order = _load_order(name, files, modules)
            index[name] = {"file": f"{name}.ko", "needs": order[:-1]}
        elif name in builtin:
            index[name] = {"file": None, "needs": []}
    for name in modules:
        index.setdefault(
            name, {"file": f"{name}.ko", "needs": _load_order(name, files, modules)[:-1]}
        )
    with path.open("wb") as out:
        archive = Writer(out)
        for folder in ("lib", FOLDER, f"{FOLDER}/modules"):
            archive.folder(folder)
        archive.file(f"{FOLDER}/modules.json", json.dumps(index, indent=1).encode())
        for name, content in modules.items():
            archive.file(f"{FOLDER}/modules/{name}.ko", content)
        archive.close()
    return index


def _load_order(name: str, files: dict[str, Path], read: dict[str, bytes]) -> list[str]:
    """Return a module's dependencies, then itself; contents already read are in `read`."""
    if name not in read:
        content = files[name].read_bytes()
        read[name] = content if files[name].suffix == ".ko" else decompress(content)
    order: list[str] = []
    for need in elf.module_needs(read[name]):
        order += [one for one in _load_order(need, files, read) if one not in order]
    return [*order, name]


def _builtin(tree: Path) -> list[str]:
    found = next(tree.rglob("modules.builtin"), None)
    return found.read_text().splitlines() if found else []


def _name(file: Path) -> str:
    return file.name.split(".ko")[0].replace("-", "_")
