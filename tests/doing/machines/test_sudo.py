"""A machine that takes no login of root: the agent is started by sudo, with one rule for it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.doing.conftest import only_line
from tests.doing.machines.ssh_machines import NEEDED, Lan, machines, pings, two
from tests.waiting import wait_until_gone

__all__ = ["machines", "two"]
pytestmark = [
    NEEDED,
    pytest.mark.skipif(shutil.which("sudo") is None, reason="needs sudo"),
]

LAB = """\
lab: pair
machines: {m1: {ssh: m1}, m2: {ssh: eng@m2, sudo: true}}
hosts: {h1: {machine: m1}, h2: {machine: m2}}
nodes: {a: {host: h1}, b: {host: h2}}
links: [{between: [a, b], name: wan, delay: 10ms}]
"""
RULE = "eng ALL=(root) NOPASSWD: /run/eng/.cache/delaylab-sudo/agent-*"
USER = """\
set -e
for name in passwd shadow sudoers; do
    cp /etc/$name /run/$name
    mount --bind /run/$name /etc/$name
done
echo 'eng:x:4242:4242::/run/eng:/bin/sh' >> /etc/passwd
echo 'eng:*:19000:0:99999:7:::' >> /etc/shadow
mkdir -p /run/eng/.ssh
cp /root/.ssh/authorized_keys /run/eng/.ssh
chown -R 4242:4242 /run/eng
mount --bind /run/eng /run/eng
"""
"""A user with a home on a file system of its own, who is in no group of sudo's."""
GONE = """\
set -e
for path in /run/eng /etc/passwd /etc/shadow /etc/sudoers; do
    if mountpoint -q $path; then umount $path; fi
done
rm -rf /run/eng
"""


@contextmanager
def user(two: Lan, rule: str) -> Iterator[None]:
    """Have a user `eng` on m2, with this rule in sudoers, for the length of a block."""
    assert not two.on("m2", "sh", "-c", USER)
    two.on("m2", "sh", "-c", f"chmod u+w /etc/sudoers; echo '{rule}' > /etc/sudoers")
    try:
        yield
    finally:
        # The agent, whose program is in that home, and sudo end after their connection does.
        wait_until_gone(lambda: two.on("m2", "sh", "-c", GONE))


def test_a_machine_without_a_login_of_root_is_used_by_sudo(
    two: Lan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with user(two, RULE):
        two.up(LAB)
        assert pings(two, "a", "b") >= 20
        (lab,) = two.labs()
        (enter,) = (node["enter"] for node in lab["nodes"] if node["name"] == "b")
        assert enter.startswith("ssh -t eng@m2 sudo nsenter ")
        assert two.on("m2", "stat", "-c", "%U", "/run/delaylab/pair").strip() == "root"
        # Somebody else finds it in the same way.
        own = tmp_path / "other"
        own.mkdir(mode=0o700)
        with monkeypatch.context() as patched:
            patched.setenv("DELAYLAB_RUN", str(own))
            done = two.delaylab("down", "pair", "--machine", "eng@m2", "--sudo").stdout
            assert "pair: machine m2: taken down" in done
        two.wait_until_gone()
        two.delaylab("down", "pair")


def test_a_rule_that_sudoers_lacks_is_named(two: Lan) -> None:
    with user(two, ""):
        said = only_line(two.up(LAB, code=3))
        assert "machine m2: sudo does not start the agent there: sudo: a password is" in said
        assert said.endswith(f"(allow it in its sudoers: {RULE})")
        tried = two.delaylab("doctor", "--machine", "eng@m2", "--sudo", code=3).stderr
        assert RULE in tried
    two.wait_until_gone()


def test_a_home_without_programs_is_left_out_by_another_folder(two: Lan) -> None:
    elsewhere = LAB.replace("sudo: true", "sudo: true, cache: /run/agents")
    with user(two, RULE.replace("/run/eng/.cache/delaylab-sudo", "/run/agents")):
        two.on("m2", "mount", "-o", "remount,bind,noexec", "/run/eng")
        two.on("m2", "install", "-d", "-o", "4242", "/run/agents")
        said = only_line(two.up(LAB, code=3))
        assert "`cache: /var/tmp/delaylab`" in said
        two.up(elsewhere)
        assert pings(two, "a", "b") >= 20
        two.delaylab("down", "pair")
        two.on("m2", "rm", "-r", "/run/agents")
    two.wait_until_gone()
