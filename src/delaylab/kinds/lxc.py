"""LXC containers: own processes, mounts, cgroups and network, by the distribution's LXC."""

from __future__ import annotations

from pathlib import Path

from delaylab.kinds import guest
from delaylab.plan.kind import Kind, Node, Rights
from delaylab.plan.model import Agent, Guest
from delaylab.plan.references import to_file, to_place, to_root
from delaylab.resolve.agent_names import NEW, node_agent
from delaylab.spec.kinds import LxcNode

PROGRAM = "lxc-start"
START_DEADLINE_MS = 30_000
FOLDER = "run/delaylab"
AGENT = "sbin/delaylab-agent"
FILTER, FILTER_OF_USERS = (
    Path(__file__).with_name(f"{name}.seccomp") for name in ("lxc", "lxc-no-users")
)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
MEASURING = "bpf"
"""The agent's own capability besides those of the node's programs: for taps at interfaces."""
NEEDS_ROOT = "lxc needs root: root makes the containers; run as root, or take kind netns"
# Where the kernel grants real-time scheduling per cgroup, a container in a cgroup of its own has
# none, and its probes would be late. In a mount namespace without that hierarchy LXC does not see
# it, and makes no CPU groups of its own: the node's own has its weight.
_HIDE = 'cpu=/sys/fs/cgroup/cpu; [ ! -e $cpu/cpu.rt_runtime_us ] || umount $cpu; exec "$@"'
# lxc-start obeys any root that reaches its abstract socket, and gives out descriptors of the
# machine's control groups, from which `..` leads to all files. Such sockets belong to a network
# namespace (unix(7)), so lxc-start must be in no node's.
OUTSIDE = ("unshare", "--mount", "--net", "sh", "-c", _HIDE, "sh")
"""A prefix that starts LXC in mount and network namespaces of its own."""
READ_ONLY = ("acpi", "bus", "fs", "irq", "scsi")
"""The entries of a container's /proc that are the machine's, but which LXC leaves writable."""


class Lxc(Kind[LxcNode]):
    """A container in the network namespace that its monitor holds."""

    name = "lxc"

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Return a reason unless LXC is installed and this user is root."""
        return rights.why_not(PROGRAM) if rights.root else NEEDS_ROOT

    def agent(self, node: Node[LxcNode]) -> Agent:
        """Return a monitor with the network namespace that the container joins."""
        guest = Guest("folder", tuple(command(node)), deadline_ms=START_DEADLINE_MS)
        return Agent(node_agent(node.name), NEW, cpus=node.cpus, cgroup=True, guest=guest)

    def memory(self, spec: LxcNode) -> int:
        """Return 0: all containers share the image's pages, and processes take little else."""
        return 0


KIND = Lxc()


def command(node: Node[LxcNode]) -> list[str]:
    """Return `lxc-start` with all settings; no configuration file of LXC's is read or written."""
    words = [*OUTSIDE, PROGRAM]
    words += ["-F", "-n", f"{node.lab}.{node.name}", "-P", "{folder}", "-f", "/dev/null"]
    words += ["-q", "-l", "ERROR", "-o", "/dev/stderr"]
    for key, value in _settings(node):
        words += ["-s", f"lxc.{key}={value}"]
    return words


def _settings(node: Node[LxcNode]) -> list[tuple[str, str]]:
    programs = ",".join(node.capabilities)
    own = node.spec.image
    root = to_root(own) if own else guest.image_file("container", node.spec, "rootfs")
    return [
        ("uts.name", node.name),
        # What the container writes goes to the lab's folder, never into the image.
        ("rootfs.path", f"overlay:{root}:{{folder}}/upper"),
        ("init.cmd", f"/{AGENT} init --folder /{FOLDER} --capabilities {programs}"),
        ("cap.keep", f"{programs} {MEASURING}".replace(",", " ")),
        ("namespace.share.net", "/proc/{pid}/ns/net"),
        ("mount.auto", "proc:mixed sys:mixed"),
        *_read_only(),
        *_mounted(own, "{folder}/leash", FOLDER, is_folder=True),
        *_mounted(own, "{image:agent/program}", AGENT),
        *_mounted(own, "{lab}/hosts", "etc/hosts"),
        *_devices(),
        ("console.path", "none"),
        ("apparmor.profile", "unconfined"),
        ("seccomp.profile", to_file(str(_filter(node)))),
        *_groups(),
        *_limits(node),
    ]


def _place(own: str | None, path: str, *, is_folder: bool) -> str:
    """Return where a place is in the image; delaylab's own has no links on the way to any."""
    return to_place(own, path, is_folder=is_folder) if own else path


def _mounted(
    own: str | None, source: str, path: str, *, is_folder: bool = False
) -> list[tuple[str, str]]:
    """Return the setting that mounts a folder or file of the machine at a place in the image."""
    place, made = _place(own, path, is_folder=is_folder), "dir" if is_folder else "file"
    return [("mount.entry", f"{source} {place} none bind,ro,create={made} 0 0")]


def _filter(node: Node[LxcNode]) -> Path:
    """Return the system calls that fail (`lxc.container.conf`, seccomp).

    They are those of Docker's filter that no capability guards, such as keyctl: root's kernel
    keyring is the machine's. With sys_admin a node may make user namespaces, as in Docker.
    """
    return FILTER if "sys_admin" in node.capabilities else FILTER_OF_USERS


def _read_only() -> list[tuple[str, str]]:
    # From the container's own /proc (`relative`), over itself.
    places = [f"proc/{name} proc/{name}" for name in READ_ONLY]
    return [("mount.entry", f"{both} none bind,ro,relative,optional 0 0") for both in places]


def _devices() -> list[tuple[str, str]]:
    # LXC's own /dev has another boot id, but stamps of one clock are recognised by that id.
    entries = ["tmpfs dev tmpfs mode=755,create=dir 0 0", "tmpfs dev/shm tmpfs create=dir 0 0"]
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
        # A failed start leaves it; else it would be outside of the lab.
        ("cgroup.dir.monitor.pivot", "{cgroup}/pivot"),
    ]


def _limits(node: Node[LxcNode]) -> list[tuple[str, str]]:
    """Return limits for both versions of cgroups; LXC applies those of the mounted one."""
    limits = []
    if node.spec.memory:
        size = str(node.spec.memory.bytes)
        limits += [("cgroup.memory.limit_in_bytes", size), ("cgroup2.memory.max", size)]
    return limits
