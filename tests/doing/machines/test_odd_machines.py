"""Machines whose shell, limits or answers are odd: each is used, or named with what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.doing.conftest import only_line
from tests.doing.machines.ssh_machines import LAB, NEEDED, Lan, machines, pings, two

__all__ = ["machines", "two"]
pytestmark = NEEDED
KEYS = "/root/.ssh/authorized_keys"
RUN = 'eval \\"$SSH_ORIGINAL_COMMAND\\"'
"""The command that ssh was called with, as a shell that a key names runs it."""
MARK = "delaylab-machine"
LOCALE = "echo 'bash: cannot set the terminal' >&2"
ONE = ("--kind", "netns")
BANNER = "echo No trespassing > /run/banner; echo Banner /run/banner >> /run/sshd_config"
MANY = """\
lab: pair
machines: {m1: {ssh: m1}, m2: {ssh: m2}}
hosts: {h1: {machine: m1}, h2: {machine: m2}}
nodes: {a: {host: h1}, b: {host: h2, count: 40, start: [sleep 1000]}}
links: [{join: [a, b], name: lan}]
"""


@contextmanager
def shell(two: Lan, command: str) -> Iterator[None]:
    """Have sshd on m2 start this command in place of a shell (sshd(8), `command` of a key)."""
    plain = two.on("m2", "cat", KEYS)
    two.on("m2", "rm", "-rf", "/root/.cache/delaylab")
    two.on("m2", "sh", "-c", f"cat > {KEYS} <<'END'\ncommand=\"{command}\" {plain}END")
    try:
        yield
    finally:
        two.on("m2", "sh", "-c", f"cat > {KEYS} <<'END'\n{plain}END")


def test_a_shell_that_sets_its_terminals_title_is_no_other_architecture(two: Lan) -> None:
    with shell(two, f"printf '\\\\033]0;title\\\\007'; {RUN}"):
        two.up(LAB)
        assert pings(two, "a", "b.wan") >= 20
        two.delaylab("down")
    two.wait_until_gone()


@pytest.mark.parametrize(
    ("command", "why", "fix"),
    [
        (f"ulimit -f 64; {RUN}", "cannot be put there", "64 KiB there (ulimit -f): raise it"),
        # Each says something and then nothing, but its connection lives.
        (
            f"echo {MARK} Linux x86_64; echo {MARK} failed; sleep 600",
            "cannot be put there",
            "make room",
        ),
        ("exec >&- 2>&-; sleep 600", "cannot be reached", ""),
        (f"echo {MARK} Linux x86_64; exec >&- 2>&-; sleep 600", "cannot be reached", ""),
        # What a login shell complains of is not the cause.
        ("echo 'bash: warning: setlocale: LC_ALL' >&2; exit 7", "ssh ended with code 7", ""),
        (f"{LOCALE}; ulimit -f 64; {RUN}", "cannot be put there", "64 KiB there"),
    ],
)
def test_a_machine_that_does_not_answer_as_it_should_is_one_line(
    two: Lan, command: str, why: str, fix: str
) -> None:
    with shell(two, command):
        said = only_line(two.up(LAB, code=3 if fix else 1))
    assert said.startswith("delaylab: machine m2: "), said
    assert why in said
    assert fix in said
    assert "setlocale" not in said
    assert "terminal" not in said
    two.wait_until_gone()


def test_programs_that_cannot_be_run_are_no_lack_of_room(two: Lan) -> None:
    two.on("m2", "rm", "-rf", "/root/.cache/delaylab")
    two.on("m2", "mkdir", "-p", "/root/.cache")
    two.on("m2", "mount", "-t", "tmpfs", "-o", "noexec", "none", "/root/.cache")
    try:
        said = only_line(two.up(LAB, code=3))
    finally:
        two.on("m2", "umount", "/root/.cache")
    assert "set XDG_CACHE_HOME there" in said
    assert "noexec" in said


@pytest.mark.parametrize("files", [12, 20, 32])
def test_a_machine_of_few_open_files_is_used_or_named(two: Lan, files: int) -> None:
    """Each agent there takes some; `up` needs a session with each node that starts programs."""
    with shell(two, f"ulimit -n {files}; {RUN}"):
        said = two.up(MANY, code=1)
        assert only_line(said).startswith("delaylab: "), said
        assert "files" in said
    two.wait_until_gone()


def test_banners_and_warnings_of_ssh_are_never_the_cause(two: Lan) -> None:
    """A banner comes before the login, and a new key is taken with a warning."""
    config = two.folder / "ssh_config"
    before = config.read_text()
    two.on("m2", "sh", "-c", f"{BANNER}; kill -HUP 1")
    config.write_text(
        before.replace("StrictHostKeyChecking yes", "StrictHostKeyChecking accept-new").replace(
            f"UserKnownHostsFile {two.folder}/known_hosts", "UserKnownHostsFile /dev/null"
        )
    )
    try:
        with shell(two, "exit 7"):
            said = only_line(two.up(LAB, code=1))
    finally:
        config.write_text(before)
    assert said == "delaylab: machine m2: cannot be reached: ssh ended with code 7"


def test_a_capability_that_a_container_lacks_is_named(two: Lan) -> None:
    limited = "exec setpriv --inh-caps=-net_admin --bounding-set=-net_admin sh -c"
    with shell(two, f'{limited} \\"$SSH_ORIGINAL_COMMAND\\"'):
        said = only_line(two.up(LAB, code=3))
        assert said.startswith("delaylab: machine m2: root lacks CAP_NET_ADMIN there, which every")
        assert "docker run --privileged" in said
        tried = json.loads(two.delaylab("doctor", "--machine", "m2", "--json").stdout)
    checks = {(each["group"], each["name"]): each for each in tried}
    for check in (("right", "labs"), ("kind", "netns")):
        assert "CAP_NET_ADMIN" in checks[check]["why_not"]
    two.wait_until_gone()


def test_programs_that_a_machine_lacks_are_named_before_anything_starts(two: Lan) -> None:
    """The distribution may say that a package is there when its program is not."""
    routed = LAB.replace("hosts:", "routing: {by: bird, ospf: {}}\nhosts:")
    routed = routed.replace("b: {host: h2}", "b: {host: h2, forwards: true}")
    bird = two.on("m2", "sh", "-c", "command -v bird").strip()
    if bird:
        two.on("m2", "mount", "--bind", "/dev/null", bird)
    try:
        said = only_line(two.up(routed, code=3))
        tried = json.loads(two.delaylab("doctor", "--machine", "m2", "--json", *ONE).stdout)
    finally:
        if bird:
            two.on("m2", "umount", bird)
    assert "node b: package bird2 is not installed on machine m2" in said
    checks = {each["name"]: each for each in tried if each["group"] == "package"}
    assert {"frr", "bird2", "iperf3"} <= checks.keys()
    assert not checks["bird2"]["usable"]
    assert checks["bird2"]["fix"] == "apt-get install bird2 there"
    two.wait_until_gone()
