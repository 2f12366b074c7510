"""Namespaces that stand for machines, each with an sshd, a home, a `/run` and pids of its own.

They share a LAN, to which a further namespace belongs: that of the machine on which a user calls
the command line.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import command as command_line
from tests import waiting
from tests.doing.own_machine import ip, network_of, within
from tests.waiting import PATIENCE_S

SSHD = "/usr/sbin/sshd"
MTU = 1600
"""The LAN's: room for packets of 1500 bytes, and VXLAN's 50."""

CLOCK = "DELAYLAB_TEST_CLOCK"
"""The variable with the error that an agent adds to its clock (`timing/test_clock.rs`)."""

NUMBERS = itertools.count(1)
"""The numbers of the LANs of this process."""

JOIN = """\
set -e
for each in $(awk '$3 ~ /^cgroup2?$/ && $4 !~ /,memory/ {print $2}' /proc/mounts); do
    mkdir "$each/$GROUP"
    for file in cpuset.cpus cpuset.mems; do
        [ ! -e "$each/$file" ] || cat "$each/$file" > "$each/$GROUP/$file"
    done
    echo $$ > "$each/$GROUP/cgroup.procs"
done
exec "$@"
"""
"""Start a command in a group of its own in each hierarchy of control groups.

Its memory counts as that of the tests, which may have a limit. Where version 2 has the controllers,
the group's processes keep labs from using them; then guests there have no limits.
"""

INIT = """\
set -e
hierarchies=$(awk '$3 ~ /^cgroup2?$/ {print $3, $2, $4}' /proc/mounts)
# What is only covered is still in the list of mounts, in which container engines look for groups.
umount -l /sys
mount -t sysfs sysfs /sys
if [ -n "$GROUP" ]; then
    # With a namespace for control groups, a new mount shows the machine's own groups alone.
    [ "$(echo "$hierarchies" | wc -l)" = 1 ] || mount -t tmpfs -o mode=755 none /sys/fs/cgroup
    echo "$hierarchies" | while read -r kind place options; do
        mkdir -p "$place"
        usual='rw|nosuid|nodev|noexec|relatime|xattr'
        own=$(echo "$options" | tr , '\\n' | grep -vxE "$usual" | paste -sd,)
        case $kind,$own in
            cgroup2,*) mount -t cgroup2 none "$place" ;;
            *,name=*) mount -t cgroup -o "none,$own" none "$place" ;;
            *) mount -t cgroup -o "$own" none "$place" ;;
        esac
    done
fi
for place in /root /run /tmp; do mount -t tmpfs -o mode=755 tmpfs $place; done
chmod 1777 /tmp
# Which machine this is, also after a restart; what this machine has is the user's. A container
# may lack the first file.
if [ -e /etc/machine-id ]; then
    echo "$NAME" | md5sum | cut -c-32 > /run/machine-id
    mount --bind /run/machine-id /etc/machine-id
fi
cp -r /etc/ssh /run/etc-ssh
echo "ssh-ed25519 key-of-$NAME" > /run/etc-ssh/ssh_host_ed25519_key.pub
mount --bind /run/etc-ssh /etc/ssh
mkdir -p /run/sshd /root/.ssh
printf '%s\\n' "$KEY" > /root/.ssh/authorized_keys
printf '%s\\n' "$HOST_KEY" > /run/host_key
chmod 600 /run/host_key
cat > /run/sshd_config <<END
ListenAddress $ADDRESS
HostKey /run/host_key
PidFile none
# Takes less CPU time than the default.
Ciphers aes128-gcm@openssh.com
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
Subsystem sftp /bin/false
$MORE
END
exec /usr/sbin/sshd -D -e -f /run/sshd_config
"""


@dataclass
class Lan:
    """The machines, and the place of the user's machine."""

    folder: Path
    names: list[str]
    user: str
    """The namespace of the user's machine."""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    clocks: Mapping[str, str] = field(default_factory=dict)
    """The errors that agents on a machine add to its clock, by the machine's name."""
    cgroups: bool = False
    """True if each has control groups of its own, for guests."""
    slower: float = 1.0
    """The factor by which a machine may be slower than a namespace."""

    def delaylab(
        self, *argv: str, code: int = 0, timeout_s: float = PATIENCE_S
    ) -> subprocess.CompletedProcess[str]:
        """Call the command line on the user's machine."""
        done = command_line.delaylab(
            *argv,
            folder=self.folder,
            environment=self.environment,
            timeout_s=timeout_s,
            network=self.network,
        )
        assert done.code == code, done.out + done.err
        return subprocess.CompletedProcess(argv, done.code, done.out, done.err)

    def command(self, *argv: str) -> list[str]:
        """Return the command for a process of its own on the user's machine."""
        call = [sys.executable, "-c", "from delaylab.__main__ import main; main()"]
        return ["nsenter", f"--net={self.network}", *call, *argv]

    @property
    def network(self) -> Path:
        """The file of the network namespace of the user's machine."""
        return network_of(self.user)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def up(self, text: str, *argv: str, code: int = 0) -> str:
        file = self.folder / "lab.yaml"
        file.write_text(text)
        done = self.delaylab("up", str(file), *argv, code=code)
        return done.stdout + done.stderr

    def labs(self) -> list[dict[str, Any]]:
        """Return what `ps` says of all labs."""
        return list(json.loads(self.delaylab("ps", "--json").stdout)["labs"])

    def on(self, name: str, *argv: str) -> str:
        """Run a program on a machine, past ssh; return its output."""
        pid = self.inside(name)
        enter = ["nsenter", f"--target={pid}", "--net", "--pid", "--mount"]
        done = subprocess.run([*enter, *argv], capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def inside(self, name: str) -> int:
        """Return the pid of a machine's first process, its sshd, as seen from here."""
        pid = self.processes[name].pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0])

    def address(self, name: str) -> str:
        return f"10.77.0.{self.names.index(name) + 1}"

    def traces(self, name: str) -> list[str]:
        """Return what is left of labs on a machine: processes, interfaces, files."""
        processes = [
            line for line in self.on(name, "ps", "-eo", "args").splitlines() if "delaylab" in line
        ]
        links = self.on(name, "ip", "-o", "link").splitlines()
        interfaces = [line for line in links if "lo:" not in line and "eth0" not in line]
        files = self.on(name, "find", "/run/delaylab", "-mindepth", "1").splitlines()
        return [*processes, *interfaces, *(line for line in files if "No such" not in line)]

    def wait_until_gone(self, *names: str) -> None:
        """Wait until no machine has a trace of a lab; fail with the traces."""

        def left() -> dict[str, list[str]]:
            return {name: found for name in names or self.names if (found := self.traces(name))}

        waiting.wait_until_gone(left)

    @contextmanager
    def hidden(self, name: str) -> Iterator[None]:
        """Have ssh find no sshd on a machine for the length of a block."""
        config = self.folder / "ssh_config"
        before = config.read_text()
        config.write_text(before.replace(f"Host {name}\n", f"Host {name}\n  Port 1\n"))
        try:
            yield
        finally:
            config.write_text(before)

    def cut(self, name: str, *, off: bool = True) -> None:
        """Take a machine off the LAN, or put it back."""
        ip("-n", self._namespace(name), "link", "set", "eth0", "down" if off else "up")

    def _namespace(self, name: str) -> str:
        return f"{self.user}-{name}"

    def start(self, name: str) -> None:
        """Start a machine."""
        key = (self.folder / "key.pub").read_text().strip()
        host_key = (self.folder / f"host-{name}").read_text().rstrip("\n")
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if self.cgroups:
            apart = ["sh", "-c", JOIN, "sh", *apart, "--cgroup"]
        self.processes[name] = subprocess.Popen(
            [*within(self._namespace(name)), *apart, "sh", "-c", INIT],
            env={
                "PATH": os.environ["PATH"],
                "KEY": key,
                "HOST_KEY": host_key,
                "ADDRESS": self.address(name),
                "NAME": self._namespace(name),
                "GROUP": self._namespace(name) if self.cgroups else "",
                "MORE": f"SetEnv {CLOCK}={self.clocks[name]}" if name in self.clocks else "",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / f"{name}.log").open("ab"),
        )
        self._wait_for_sshd(name)

    def stop(self, name: str) -> None:
        """Switch a machine off: all of its processes are killed."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

        def left() -> list[Path]:
            """Remove the groups that the kernel has emptied, and return the others."""
            for group in self.groups(name):
                with suppress(OSError):
                    group.rmdir()
            return self.groups(name)

        waiting.wait_until_gone(left)

    def switch_off(self, name: str, *, power: bool) -> None:
        """Switch a machine off; with `power` nobody closes its connections."""
        if power:
            self.cut(name)
        self.stop(name)
        self.folder.joinpath(f"{name}.log").unlink()

    def switch_on(self, name: str) -> None:
        """Start a machine that was switched off."""
        self.start(name)
        self.cut(name, off=False)

    def groups(self, name: str) -> list[Path]:
        """Return a machine's control groups, those inside of others first."""
        own = sorted(Path("/sys/fs/cgroup").glob(f"*/{self._namespace(name)}/**/"))
        return own[::-1]

    def _wait_for_sshd(self, name: str) -> None:
        log = self.folder / f"{name}.log"

        def listens() -> bool:
            """Return True once sshd does; it tells nobody but its log."""
            assert self.processes[name].poll() is None, log.read_text()
            return "Server listening" in log.read_text()

        waiting.wait_until(listens, why=log.read_text)


@contextmanager
def lan(
    folder: Path,
    names: Sequence[str],
    mtu: int = MTU,
    clocks: Mapping[str, str] | None = None,
    *,
    cgroups: bool = False,
) -> Iterator[Lan]:
    """Make a LAN of machines and remove it at the end, with all that is on them."""
    tag = f"dlm{os.getpid()}-{next(NUMBERS)}"
    made = Lan(folder, list(names), tag, clocks=clocks or {}, cgroups=cgroups)
    places = [tag, *(f"{tag}-{name}" for name in names)]
    try:
        for place in (*places, f"{tag}-lan"):
            ip("netns", "add", place)
            ip("-n", place, "link", "set", "lo", "up")
        switch = f"{tag}-lan"
        ip("-n", switch, "link", "add", "lan", "mtu", str(mtu), "type", "bridge")
        ip("-n", switch, "link", "set", "lan", "up")
        for number, place in enumerate(places):
            port = f"port{number}"
            veth = ("type", "veth", "peer", port, "mtu", str(mtu), "netns", switch)
            ip("-n", place, "link", "add", "eth0", "mtu", str(mtu), *veth)
            ip("-n", switch, "link", "set", port, "master", "lan", "up")
            last = number or 200
            ip("-n", place, "addr", "add", f"10.77.0.{last}/24", "dev", "eth0")
            ip("-n", place, "link", "set", "eth0", "up")
        write_keys(made)
        for name in names:
            made.start(name)
        yield made
    finally:
        for name in list(made.processes):
            made.stop(name)
        for place in (*places, f"{tag}-lan"):
            subprocess.run(["ip", "netns", "del", place], check=False, capture_output=True)


def write_keys(made: Lan) -> None:
    """Make the keys of the user and of each machine, and an ssh that uses them."""
    folder = made.folder
    known = []
    for file in ("key", *(f"host-{name}" for name in made.names)):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(folder / file)]
        subprocess.run(keygen, check=True)
    lines = [
        "Host *",
        "  User root",
        f"  IdentityFile {folder}/key",
        "  IdentitiesOnly yes",
        f"  UserKnownHostsFile {folder}/known_hosts",
        "  GlobalKnownHostsFile /dev/null",
        "  StrictHostKeyChecking yes",
    ]
    for name in made.names:
        key = (folder / f"host-{name}.pub").read_text().split()
        known.append(f"{made.address(name)} {key[0]} {key[1]}")
        lines += [f"Host {name}", f"  HostName {made.address(name)}"]
    (folder / "known_hosts").write_text("\n".join(known) + "\n")
    (folder / "ssh_config").write_text("\n".join(lines) + "\n")
    (folder / "bin").mkdir()
    ssh = folder / "bin" / "ssh"
    ssh.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {folder}/ssh_config "$@"\n')
    ssh.chmod(0o755)


LAB = """\
lab: pair
machines: {m1: {ssh: m1}, m2: {ssh: m2}}
hosts: {h1: {machine: m1}, h2: {machine: m2}, h3: {machine: m2}}
nodes: {a: {host: h1}, b: {host: h2}, c: {host: h3}}
links:
  - {join: [a, b, c], name: lan}
  - {between: [a, b], name: wan, delay: 10ms}
"""

NEEDED = pytest.mark.skipif(
    os.geteuid() != 0 or not Path(SSHD).exists(), reason="needs root and openssh-server"
)


@pytest.fixture(scope="module")
def machines() -> Iterator[Lan]:
    """Two machines for all tests of this file."""
    with (
        tempfile.TemporaryDirectory(prefix="dlm-") as folder,
        lan(Path(folder), ["m1", "m2"]) as made,
    ):
        yield made


@pytest.fixture
def two(machines: Lan, run_directory: Path) -> Iterator[Lan]:
    """Two machines that a test leaves as it found them: without a trace of a lab."""
    yield machines
    machines.delaylab("down", "--all")
    machines.wait_until_gone()


def pings(two: Lan, node: str, to: str, *more: str) -> float:
    """Return the fastest round trip between two nodes, in ms."""
    done = two.delaylab("exec", node, "--", "ping", "-q", "-c", "5", "-i", "0.05", *more, to)
    found = re.search(r"= ([\d.]+)/", done.stdout)
    assert found, done.stdout
    return float(found[1])
