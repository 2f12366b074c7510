"""LXC containers: own processes, mounts, cgroups and network, by the distribution's LXC."""

from __future__ import annotations

from delaylab.kinds import guest
from delaylab.plan.agent_names import NEW, node_agent
from delaylab.plan.kind import Kind, Node, Rights
from delaylab.plan.model import Agent, Guest
from delaylab.spec.lab import NodeSpec

PROGRAM = "lxc-start"
START_DEADLINE_MS = 30_000
FOLDER = "run/delaylab"
AGENT = "sbin/delaylab-agent"
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
MEASURING = "bpf"
"""The agent's own capability besides those of the node's programs: for taps at interfaces."""
NEEDS_ROOT = "lxc needs root: root makes the containers; run as root, or take kind netns"


class Lxc(Kind):
    """A container in the network namespace that its monitor holds."""

    name = "lxc"
    own_stack = True
    own_kernel = False
    has_image = True

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Return a reason unless LXC is installed and this user is root."""
        return rights.why_not(PROGRAM) if rights.root else NEEDS_ROOT

    def agent(self, node: Node) -> Agent:
        """Return a monitor with the network namespace that the container joins."""
        guest = Guest("folder", tuple(command(node)), deadline_ms=START_DEADLINE_MS)
        return Agent(node_agent(node.name), NEW, cpus=node.cpus, cgroup=True, guest=guest)

    def memory(self, spec: NodeSpec) -> int:
        """Return 0: all containers share the image's pages, and processes take little else."""
        return 0


KIND = Lxc()


def command(node: Node) -> list[str]:
    """Return `lxc-start` with all settings; no configuration file of LXC's is read or written."""
    words = [*guest.WITHOUT_CPU_GROUPS, PROGRAM]
    words += ["-F", "-n", f"{node.lab}.{node.name}", "-P", "{folder}", "-f", "/dev/null"]
    words += ["-q", "-l", "ERROR", "-o", "/dev/stderr"]
    for key, value in _settings(node):
        words += ["-s", f"lxc.{key}={value}"]
    return words


def _settings(node: Node) -> list[tuple[str, str]]:
    programs = ",".join(node.capabilities)
    root = node.spec.image or guest.image_file("container", node.spec, "rootfs")
    return [
        ("uts.name", node.name),
        # What the container writes goes to the lab's folder, never into the image.
        ("rootfs.path", f"overlay:{root}:{{folder}}/upper"),
        ("init.cmd", f"/{AGENT} init --folder /{FOLDER} --capabilities {programs}"),
        ("cap.keep", f"{programs} {MEASURING}".replace(",", " ")),
        ("namespace.share.net", "/proc/{pid}/ns/net"),
        ("mount.auto", "proc:mixed sys:mixed"),
        ("mount.entry", f"{{folder}}/leash {FOLDER} none bind,ro,create=dir 0 0"),
        ("mount.entry", f"{{image:agent/program}} {AGENT} none bind,ro,create=file 0 0"),
        ("mount.entry", "{lab}/hosts etc/hosts none bind,ro,create=file 0 0"),
        *_devices(),
        ("console.path", "none"),
        ("apparmor.profile", "unconfined"),
        *_groups(),
        *_limits(node),
    ]


def _devices() -> list[tuple[str, str]]:
    # LXC's own /dev has another boot id, but stamps of one clock are recognised by that id.
    entries = ["tmpfs dev tmpfs mode=755 0 0", "tmpfs dev/shm tmpfs create=dir 0 0"]
    entries += [f"/dev/{name} dev/{name} none bind,create=file 0 0" for name in DEVICES]
    return [("autodev", "0"), ("pty.max", "64"), ("tty.max", "0")] + [
        ("mount.entry", entry) for entry in entries
    ]


def _groups() -> list[tuple[str, str]]:
    """Return the settings that put it below the cgroup that delaylab removes with the lab."""
    return [
        ("cgroup.relative", "1"),
        ("cgroup.dir.monitor", "{cgroup}/lxc"),
        ("cgroup.dir.container", "{cgroup}/inside"),
    ]


def _limits(node: Node) -> list[tuple[str, str]]:
    """Return limits for both versions of cgroups; LXC applies those of the mounted one."""
    limits = []
    if node.spec.memory:
        size = str(node.spec.memory.bytes)
        limits += [("cgroup.memory.limit_in_bytes", size), ("cgroup2.memory.max", size)]
    return limits
