"""Devices of a Kathará lab as nodes: containers with the distribution's programs, files, scripts.

Kathará's images are those of Docker's registry, which nothing here asks. Where the distribution has
the programs of an image, a node is a container of kind lxc with these packages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from delaylab.errors import BadInput
from delaylab.io.files import read_bytes
from delaylab.io.values import Json
from delaylab.spec.programs import MOST_TEXT
from delaylab.topology.formats.containerlab import limits
from delaylab.topology.formats.folder import EMPTY, Files, Folder, is_beside
from delaylab.topology.formats.kathara.conf import Device
from delaylab.topology.formats.losses import Losses, short
from delaylab.topology.remarks import Remarks

FRR, QUAGGA = "kathara/frr", "kathara/quagga"
PACKAGES: Mapping[str, tuple[str, ...]] = {
    "kathara/base": (),
    FRR: ("frr",),
    QUAGGA: ("frr",),
    "kathara/bind": ("bind9",),
    "lscr.io/linuxserver/wireshark": ("tcpdump",),
}
"""The images whose programs the distribution has, without their tags."""
NAMED: Mapping[str, tuple[str, ...]] = {
    "frr": ("frr",),
    "quagga": ("frr",),
    "zebra": ("frr",),
    "vtysh": ("frr",),
    "ifconfig": ("net-tools",),
    "route": ("net-tools",),
    "arp": ("net-tools",),
    "brctl": ("bridge-utils",),
    "apache2": ("apache2",),
    "nginx": ("nginx",),
    "named": ("bind9",),
    "bind": ("bind9",),
    "bind9": ("bind9",),
    "dnsmasq": ("dnsmasq",),
    "iptables": ("iptables",),
    "tcpdump": ("tcpdump",),
    "ovs-vsctl": ("openvswitch-switch",),
    "python3": ("python3",),
}
"""Words of scripts, and the packages that have such programs."""
ALWAYS = ("bash", "coreutils")
HOME = "/hostlab"
"""The folder where Kathará has a lab's files in each device."""
RENAMED: Mapping[str, str] = {"/etc/quagga": "/etc/frr", "/etc/zebra": "/etc/frr"}
"""Folders of programs that the distribution no longer has -> those of their successors."""
FRR_OWNER = "frr:frr"
STARTER = "/usr/local/sbin/systemctl"
STARTS = """\
#!/bin/sh
# Starts a service without systemd: `systemctl start NAME`, and /etc/init.d/NAME start.
case "$0" in */init.d/*) set -- "$1" "${0##*/}" ;; esac
case "$2" in
frr|quagga|zebra) exec /usr/lib/frr/frrinit.sh "$1" ;;
apache2) exec apachectl "$1" ;;
named|bind|bind9) [ "$1" = start ] && exec named -u bind ;;
esac
[ -x "/etc/init.d/$2" ] && exec "/etc/init.d/$2" "$1"
echo "no service $2 here" >&2
exit 5
"""
SILENT = frozenset({"image", "ipv6", "num_terms", "shell", "exec", "mem", "cpus", "env"})
"""Options that are carried, or that say how terminals open."""
WHY: Mapping[str, str] = {
    "bridged": "a lab reaches nothing outside of it, unless a node has `nat: true`",
    "port": "nothing reaches a lab from outside; `delaylab exec` and `cp` reach nodes",
    "mac": "MAC addresses are made of names",
    "sysctl": "a lab has `sysctls:` for all its nodes",
    "privileged": "`capabilities:` can name those that its programs need",
}
OLD_BGP = re.compile(r"^(router bgp [0-9]+)[ \t]*$", re.M)
OF_QUAGGA = "files of Quagga are FRR's, in /etc/frr, with `no bgp ebgp-requires-policy`"


@dataclass(frozen=True)
class Scripts:
    """The texts of the scripts of a device, "" without one."""

    startup: str
    name: str


def scripts_of(folder: Path, name: str) -> Scripts:
    """Return the scripts of a device; that of `shared.startup` comes first."""
    texts = (_text(folder / "shared.startup"), _text(folder / f"{name}.startup"))
    return Scripts("\n".join(text.rstrip("\n") for text in texts if text.strip()), name)


def _text(path: Path) -> str:
    if not is_beside(path):
        return ""
    try:
        return read_bytes(path, MOST_TEXT).decode("utf-8-sig", "replace").replace("\r\n", "\n")
    except (OSError, BadInput):
        return ""


def fields_of(
    device: Device, scripts: Scripts, folder: Folder, losses: Losses, remarks: Remarks
) -> dict[str, Json]:
    """Return the fields of a node for a device."""
    files = _files(device, folder, losses)
    packages = _packages(device, scripts, files)
    image = _image(device)
    fields: dict[str, Json]
    if packages is None:
        fields = {"kind": "docker", "image": device.said["image"][-1]}
    else:
        fields = {"kind": "lxc", "packages": packages}
        if image not in ("", "kathara/base"):
            at, why = (device.lines["image"],), f"packages {' '.join(packages)} take its place"
            losses.lose(at, f"image {short(image)}", why, device.name)
        if "frr" in packages:
            fields["capabilities"] = ["sys_admin"]
            files = _for_frr(files, remarks)
    _options(device, fields, losses)
    start = [_program(command, index) for index, command in enumerate(device.said["exec"], 1)]
    if scripts.startup:
        path = f"{HOME}/{device.name}.startup"
        files[path] = {"content": scripts.startup + "\n"}
        files |= {at: {"content": STARTS, "mode": "755"} for at in _starters(scripts.startup)}
        first = "rm -f /etc/frr/frr.conf; " if _has_a_file_for_each_daemon(files) else ""
        run = f'{first}PATH="$PATH:/usr/local/sbin"; export PATH; bash {path}; true'
        start.insert(0, {"run": run, "name": "startup", "ready": {"ends": True}})
    if files:
        fields["files"] = files
    if start:
        fields["start"] = start
    return fields


def _image(device: Device) -> str:
    return device.said["image"][-1].split(":")[0] if device.said["image"] else ""


def _packages(device: Device, scripts: Scripts, files: Files) -> list[str] | None:
    """Return the packages of a node; None if only the image itself has its programs."""
    image = _image(device)
    if image and image not in PACKAGES:
        return None
    found = {*ALWAYS, *PACKAGES.get(image, ())}
    for word in re.findall(r"[a-z0-9_-]+", scripts.startup + "\n".join(device.said["exec"])):
        found |= set(NAMED.get(word, ()))
    if any(path.startswith(tuple(RENAMED)) or path.startswith("/etc/frr/") for path in files):
        found.add("frr")
    return sorted(found)


def _files(device: Device, folder: Folder, losses: Losses) -> Files:
    """Return the files of a device's folder and of `shared`."""
    found: Files = {}
    for source, target in ((device.name, "/"), ("shared", "/shared")):
        if folder.has(source):
            files, why = folder.bound(source, target)
            found |= files
            if why and why != EMPTY:
                losses.lose((device.line,), f"a file below {source}/", why, device.name)
    return {path: file for path, file in found.items() if not path.endswith("/.gitkeep")}


def _for_frr(files: Files, remarks: Remarks) -> Files:
    """Return files with Quagga's where FRR looks for them; the files of FRR belong to it."""
    found: Files = {}
    for path, file in files.items():
        at = PurePosixPath(path)
        new = RENAMED.get(str(at.parent))
        if new is None and str(at.parent) != "/etc/frr":
            found[path] = file
            continue
        text = file["content"]
        if new is not None:
            remarks.say(OF_QUAGGA)
            text = OLD_BGP.sub(r"\1\n no bgp ebgp-requires-policy", text)
        found[f"/etc/frr/{at.name}"] = {"content": text, "owner": FRR_OWNER}
    return found


def _has_a_file_for_each_daemon(files: Files) -> bool:
    """Return True if FRR's daemons have files of their own, which they read without `frr.conf`."""
    given = {path.removeprefix("/etc/frr/") for path in files if path.startswith("/etc/frr/")}
    return "frr.conf" not in given and any(
        name == "zebra.conf" or name.endswith("d.conf") for name in given
    )


def _starters(script: str) -> list[str]:
    """Return the paths of the programs by which a script starts services."""
    found = [STARTER] if re.search(r"\bsystemctl\b", script) else []
    named = re.findall(r"/etc/init\.d/(quagga|zebra|named|bind9?)\b", script)
    return found + [f"/etc/init.d/{name}" for name in dict.fromkeys(named)]


def _program(command: str, number: int) -> dict[str, Json]:
    return {"run": f"{command}; true", "name": f"exec-{number}", "ready": {"ends": True}}


def _options(device: Device, fields: dict[str, Json], losses: Losses) -> None:
    """Add the options that a node can have; name the others."""
    env = dict(each.split("=", 1) for each in device.said["env"] if "=" in each)
    if env:
        fields["env"] = env
    readers: Mapping[str, tuple[str, Callable[[str], str | None]]] = {
        "mem": ("memory", limits.memory),
        "cpus": ("cpu_quota", limits.quota),
    }
    for name, (called, reader) in readers.items():
        for value in device.said[name][-1:]:
            read = reader(value)
            if read is None:
                losses.lose((device.lines[name],), f"`{name}`", "no node can have it", device.name)
            else:
                fields[called] = read
    for name, values in device.said.items():
        off = name in ("bridged", "privileged") and values[-1].lower() == "false"
        if values and name not in SILENT and not off:
            losses.lose((device.lines[name],), f"`{name}`", WHY.get(name, ""), device.name)
