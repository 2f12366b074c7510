"""Attacks by programs in a node on the machine and on the user who runs the lab."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.resolve.agent_names import node_agent
from tests.doing.conftest import Run, Up, only_line, skip_unless_runnable
from tests.waiting import wait_until

pytestmark = pytest.mark.root
GUESTS = ("lxc", "docker", "uml", "qemu")
LAB = """\
lab: hostile
hosts: {{one: {{}}}}
nodes:
  box: {{kind: {kind}, host: one{more}}}
  far: {{host: one}}
links: [{{between: [box, far], addresses: {{box: 10.9.1.1/24, far: 10.9.1.2/24}}}}]
"""
REDIRECT = """
cd /run/delaylab || exit 0
mount -o remount,rw /run/delaylab 2>/dev/null
for name in agent.sock leash.sock; do
  mv $name kept; ln -s ../../host.one.sock $name; ln -s ../host.one.sock $name
done
ln -s /etc/shadow console; mkdir upper; ls -la
"""
"""Commands in a container that once made the operator's next session run on the host."""


def needs(kind: str) -> None:
    skip_unless_runnable(kind)


def brought_up(up: Up, kind: str) -> str:
    """Bring the lab up with a box of a kind, emulated if it is a machine; return its name."""
    needs(kind)
    return up(LAB.format(kind=kind, more=", accel: tcg" if kind == "qemu" else ""))


@pytest.mark.parametrize("kind", ["lxc", "docker"])
@pytest.mark.parametrize("more", ["", ", capabilities: [sys_admin, mknod]"])
def test_a_container_does_not_redirect_the_next_session(
    delaylab: Run, up: Up, kind: str, more: str
) -> None:
    needs(kind)
    up(LAB.format(kind=kind, more=more))
    before = delaylab("exec", "box", "--", "readlink", "/proc/self/ns/mnt").stdout
    delaylab("exec", "box", "--", "sh", "-c", REDIRECT + "true")
    assert delaylab("exec", "box", "--", "hostname").stdout == "box\n"
    assert delaylab("exec", "box", "--", "readlink", "/proc/self/ns/mnt").stdout == before
    outside = delaylab("exec", "one", "--", "readlink", "/proc/self/ns/mnt").stdout
    assert outside != before


@pytest.mark.parametrize("kind", ["lxc", "docker"])
def test_a_container_sees_nothing_of_the_run_directory_but_its_leash(
    delaylab: Run, up: Up, kind: str
) -> None:
    needs(kind)
    up(LAB.format(kind=kind, more=""))
    assert delaylab("exec", "box", "--", "ls", "-A", "/run/delaylab").stdout == "leash.sock\n"
    delaylab("exec", "box", "--", "touch", "/run/delaylab/mine", code=1)


@pytest.mark.parametrize("kind", ["lxc", "docker"])
def test_a_container_reaches_no_program_and_no_setting_of_the_machine(
    delaylab: Run, up: Up, kind: str
) -> None:
    """Abstract sockets belong to a network namespace; by LXC's, root once got out of its node."""
    needs(kind)
    up(LAB.format(kind=kind, more=""))
    sockets = delaylab("exec", "box", "--", "cat", "/proc/net/unix").stdout
    assert "leash" in sockets, "else the test shows nothing"
    assert "@" not in sockets
    # Opened for writing, but nothing is written.
    for setting in ("irq/default_smp_affinity", "sys/kernel/core_pattern"):
        delaylab("exec", "box", "--", "test", "-e", f"/proc/{setting}")
        tried = delaylab("exec", "box", "--", "sh", "-c", f": >>/proc/{setting}", code=2)
        assert "Read-only file system" in tried.stderr


@pytest.mark.parametrize("kind", ["netns", "lxc", "docker"])
def test_programs_have_what_a_router_needs_and_no_more(delaylab: Run, up: Up, kind: str) -> None:
    needs(kind)
    up(LAB.format(kind=kind, more=""))

    def tried(command: str) -> bool:
        said = delaylab("exec", "box", "--", "sh", "-c", f"{command} && echo done || true")
        return said.stdout.endswith("done\n")

    assert tried("ping -c 1 10.9.1.2")
    assert tried("ip link set box-far mtu 1400")
    assert tried("chown 7 $(mktemp)")
    for attack in (
        "mknod /tmp/dl-disk-$$ b 8 0 && rm /tmp/dl-disk-$$",
        "mount -t tmpfs none /mnt",
        "mount -t proc none /proc",
        "chroot / mount -t tmpfs none /mnt",
        'date -s "$(date)"',
        "unshare --mount true",
    ):
        assert not tried(attack), attack


@pytest.mark.parametrize("kind", ["netns", "lxc", "docker"])
def test_capabilities_are_added_by_name(delaylab: Run, up: Up, kind: str) -> None:
    needs(kind)
    up(LAB.format(kind=kind, more=", capabilities: [mknod]"))
    made = "f=$(mktemp -u); mknod $f c 1 3 && rm $f && echo made"
    assert delaylab("exec", "box", "--", "sh", "-c", made).stdout == "made\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("netns, capabilities: [fly]", "capabilities"),
        ("qemu, capabilities: [sys_admin]", "means nothing to kind 'qemu'"),
    ],
)
def test_capabilities_that_cannot_be(delaylab: Run, tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "lab.yaml"
    path.write_text(LAB.format(kind=text, more=""))
    said = only_line(delaylab("plan", str(path), code=2).stderr)
    assert f"{path}:4: " in said
    assert says in said


def test_a_user_mode_linux_sees_no_files_of_this_machine(
    delaylab: Run, up: Up, tmp_path: Path, run_directory: Path
) -> None:
    """Neither by its own kernel, which is a process of this machine, nor by its monitor."""
    needs("uml")
    secret = tmp_path / "secret"
    secret.write_text("a secret of mine")
    name = up(LAB.format(kind="uml", more=""))

    def mounted(host: str, command: str) -> str:
        script = f"mkdir -p /mnt; mount -t hostfs none /mnt -o {host} && {command}; umount /mnt"
        return delaylab("exec", "box", "--", "sh", "-c", script + "; true").stdout

    assert mounted("/usr", "echo seen") == "seen\n", "else the test shows nothing"
    for place in ("/", "../../../..", str(tmp_path)):
        assert mounted(place, f"cat /mnt/etc/shadow /mnt{secret} /mnt/secret") == ""
        assert mounted(place, "ls /mnt/proc /mnt/sys /mnt/root/.ssh /mnt/home") == ""
    assert mounted("/usr", "touch /mnt/dl-test && echo wrote") == ""

    own = run_directory / name / "node.box.guest"
    for trap in (f"ln -sf {secret} /mnt/console", f"ln -sf {secret} /mnt/qmp.sock"):
        assert mounted(str(own), f"{trap} && echo made") == "made\n"
    assert (own / "console").read_text() == "a secret of mine", "else the test shows nothing"
    delaylab("exec", "box", "--", "sh", "-c", "echo o >/proc/sysrq-trigger", code=1)
    wait_until(lambda: "it has ended" in delaylab("exec", "box", "--", "true", code=1).stderr)
    said = delaylab("exec", "box", "--", "true", code=1).stderr + delaylab("ps").stdout
    assert "the end of its console: " in said, "else the test shows nothing"
    assert "a secret of mine" not in said


@pytest.mark.parametrize("kind", GUESTS)
def test_a_flooded_console_takes_no_room(
    delaylab: Run, up: Up, kind: str, run_directory: Path
) -> None:
    """Root in the guest writes 40 MB to its console, and to the output of its first process."""
    name = brought_up(up, kind)

    def size() -> int:
        return sum(path.stat().st_size for path in (run_directory / name).rglob("*log*")) + sum(
            path.stat().st_size for path in (run_directory / name).rglob("console")
        )

    before = size()
    flood = "yes flooooooooooooooooooooooooooooooooood | head -c 40000000"
    delaylab(
        "exec", "box", "--", "sh", "-c",
        f"for f in /dev/console /proc/1/fd/1 /proc/1/fd/2; do"
        f" [ -w $f ] && timeout 10 sh -c '{flood} >'$f && echo wrote; done 2>/dev/null; true",
    )  # fmt: skip
    assert delaylab("exec", "box", "--", "hostname").stdout == "box\n"
    assert size() - before < 4_000_000


@pytest.mark.parametrize("kind", GUESTS)
def test_what_comes_from_a_guest_ends_no_more_than_its_session(
    delaylab: Run, up: Up, kind: str, run_directory: Path
) -> None:
    """A guest kills its own agent's sessions, then all it can; its monitor answers for it."""
    name = brought_up(up, kind)
    delaylab("exec", "box", "--", "sh", "-c", "kill -9 $PPID", code=1)
    assert delaylab("exec", "box", "--", "hostname").stdout == "box\n"
    halt = "kill -9 1; kill -9 -1; echo o >/proc/sysrq-trigger; true"
    delaylab("exec", "far", "--", "true")
    if kind in ("uml", "qemu"):
        delaylab("exec", "box", "--", "sh", "-c", f"({halt}) 2>/dev/null", code=1)
        wait_until(lambda: "it has ended" in delaylab("exec", "box", "--", "true", code=1).stderr)
        listed = delaylab("ps").stdout
        assert f"agent {node_agent('box')} is dead" in listed.replace("\n", " ")
    delaylab("exec", "far", "--", "true")
    delaylab("down", name)
    assert list(run_directory.iterdir()) == []
