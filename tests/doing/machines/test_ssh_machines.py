"""Labs over machines that are reached by ssh: real sshds in namespaces that stand for machines."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from delaylab.agent.binary import agent_path
from tests.doing.conftest import only_line
from tests.doing.machines.ssh_machines import (
    LAB,
    NEEDED,
    Lan,
    machines,
    pings,
    two,
)

__all__ = ["machines", "two"]
pytestmark = NEEDED


def test_a_lab_over_two_machines_is_used_like_one_on_this_machine(two: Lan) -> None:
    said = two.up(LAB)
    assert "h1 on m1" in said
    assert re.search(
        r"round trip between m1 and m2: [\d.]+ to [\d.]+ ms", " ".join(said.split())
    ), said
    (found,) = two.labs()
    assert found["unreachable"] == {}
    assert {host["name"]: host["enter"].split()[:3] for host in found["hosts"]} == {
        "h1": ["ssh", "-t", "m1"],
        "h2": ["ssh", "-t", "m2"],
        "h3": ["ssh", "-t", "m2"],
    }
    assert {node["name"]: node["machine"] for node in found["nodes"]} == {
        "a": "m1",
        "b": "m2",
        "c": "m2",
    }
    assert pings(two, "a", "b.lan") < 10
    assert pings(two, "a", "b.wan") >= 20
    two.delaylab("down")
    two.wait_until_gone()
    assert not two.labs()


@pytest.mark.slow
def test_links_are_changed_and_carry_whole_packets(two: Lan) -> None:
    two.up(LAB)
    assert pings(two, "c", "a", "-s", "1472", "-M", "do") < 10
    two.delaylab("link", "set", "pair", "wan", "delay=30ms")
    assert pings(two, "b", "a.wan") >= 60
    assert "nothing was changed" in two.up(LAB)


def test_each_machine_has_one_connection_and_the_agent_once(two: Lan) -> None:
    logins = {name: two.folder.joinpath(f"{name}.log").read_text() for name in two.names}
    two.up(LAB)
    for name, before in logins.items():
        after = two.folder.joinpath(f"{name}.log").read_text()[len(before) :]
        assert after.count("Accepted publickey") == 1, after
        assert len(two.on(name, "ls", "/root/.cache/delaylab").split()) == 1


@pytest.mark.slow
def test_no_frame_of_a_link_reaches_another(two: Lan) -> None:
    """No node of another link between the same machines sees a broadcast."""
    two.up(LAB)
    before = received(two, "b", "wan")
    two.delaylab("exec", "a", "--", "ping", "-q", "-c", "20", "-i", "0.01", "c.lan")
    assert received(two, "b", "wan") - before <= 2  # ARP of its own


def received(two: Lan, node: str, interface: str) -> int:
    """Return how many packets an interface of a node has received (proc_net_dev)."""
    counted = two.delaylab("exec", node, "--", "cat", "/proc/net/dev").stdout
    found = re.search(rf"^ *{interface}: *\d+ +(\d+)", counted, re.MULTILINE)
    assert found, counted
    return int(found[1])


@pytest.mark.slow
def test_another_machine_finds_the_lab(
    two: Lan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.up(LAB)
    own = tmp_path / "other"
    own.mkdir(mode=0o700)
    with monkeypatch.context() as patched:
        patched.setenv("DELAYLAB_RUN", str(own))
        assert not two.labs()
        assert "h1 on m1" in two.delaylab("ps", "--machine", "m1").stdout
        assert pings(two, "a", "b.wan") >= 20
        two.delaylab("down", "pair")
    two.wait_until_gone()
    assert "the lab has ended there" in two.delaylab("ps").stdout
    two.delaylab("down", "pair")


@pytest.mark.slow
def test_a_lab_of_another_version_is_taken_down_from_any_machine(
    two: Lan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.up(LAB)
    for name in two.names:
        content = json.loads(two.on(name, "cat", "/run/delaylab/pair/lab.json"))
        content["record"] |= {"spec_json": '{"later": 1}', "plan_json": "[]"}
        enter = ["nsenter", f"--target={two.inside(name)}", "--mount"]
        write = [*enter, "sh", "-c", "cat > /run/delaylab/pair/lab.json"]
        subprocess.run(write, input=json.dumps(content), text=True, check=True)
    own = tmp_path / "other"
    own.mkdir(mode=0o700)
    with monkeypatch.context() as patched:
        patched.setenv("DELAYLAB_RUN", str(own))
        said = two.delaylab("ps", "--machine", "m1", code=1).stderr
        assert "was started by another version of delaylab (delaylab down pair)" in said
        two.delaylab("down", "pair")
        two.wait_until_gone()
    two.delaylab("down", "pair")


@pytest.mark.slow
def test_a_machine_that_fails_is_named_and_the_others_end(two: Lan) -> None:
    two.on("m2", "mkdir", "-m", "700", "-p", "/run/delaylab/pair/of-another")
    try:
        said = two.up(LAB, code=1)
    finally:
        two.on("m2", "rm", "-r", "/run/delaylab/pair")
    assert "machine m2: " in said
    assert "files that are not a lab's" in said


@pytest.mark.parametrize(
    ("change", "said", "code"),
    [
        (("ssh: m2", "ssh: 'ssh://10.77.0.2:1'"), "machine m2: cannot be reached: ", 1),
        (("ssh: m2", "ssh: nobody@m2"), "machine m2: cannot be reached: ", 1),
        (("ssh: m2", "ssh: m1"), "machines 'm1' and 'm2' are one", 2),
        (("ssh: m2", "ssh: 10.77.0.1"), "machine m2: is the same as machine m1", 3),
        (("ssh: m2", "ssh: -oProxyCommand=x"), "a machine's name as ssh takes it", 2),
        (("machine: m2}, h3", "machine: m3}, h3"), "no machine 'm3'", 2),
        (("ssh: m2", "ssh: m2, address: 10.77.0.1"), "10.77.0.1 is not its own address", 3),
        (("name: lan}", "name: lan, mtu: 1551}"), "and 1550 are left for them", 3),
        (("{host: h2}", "{host: h2, cpus: [4000]}"), "no CPU 4000", 3),
    ],
)
def test_what_cannot_be_is_one_line(
    two: Lan, change: tuple[str, str], said: str, code: int
) -> None:
    text = LAB.replace(*change)
    assert text != LAB
    printed = two.up(text, code=code)
    assert said in printed, printed
    assert len(printed.strip().splitlines()) == 1, printed
    two.wait_until_gone()


NOBODY = """\
install -d -o 65534 -g 65534 /tmp/nobody
exec setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp/nobody \
sh -c \\"$SSH_ORIGINAL_COMMAND\\"
""".replace("\n", ";")
"""The command that ssh runs for a user without rights, as the option `command` of a key."""
ALONE = """\
lab: alone
machines: {m2: {ssh: m2}}
hosts: {h2: {machine: m2}}
nodes: {a: {host: h2}, b: {host: h2}}
links: [{between: [a, b], name: wan, delay: 5ms}]
"""


def test_a_user_without_rights_has_labs_but_no_links_between_machines(two: Lan) -> None:
    keys = "/root/.ssh/authorized_keys"
    plain = two.on("m2", "cat", keys)
    two.on("m2", "sh", "-c", f"cat > {keys} <<'END'\ncommand=\"{NOBODY}\" {plain}END")
    try:
        said = only_line(two.up(LAB, code=3))
        assert said.startswith("delaylab: machine m2: a link to another machine needs root"), said
        two.wait_until_gone()
        two.up(ALONE)
        assert pings(two, "a", "b") >= 10
        two.delaylab("down")
    finally:
        two.on("m2", "sh", "-c", f"cat > {keys} <<'END'\n{plain}END")
    two.wait_until_gone()


def test_a_machine_without_room_for_the_lab_is_named(two: Lan) -> None:
    two.on("m2", "mkdir", "-p", "/run/delaylab")
    two.on("m2", "mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "none", "/run/delaylab")
    try:
        said = only_line(two.up(LAB, code=1))
    finally:
        two.on("m2", "umount", "/run/delaylab")
    assert said.startswith("delaylab: machine m2: "), said
    assert "No space left on device" in said, said
    assert "(make room in /run/delaylab there)" in said, said
    two.wait_until_gone()


def test_a_changed_host_key_is_said_by_ssh(two: Lan) -> None:
    known = two.folder / "known_hosts"
    before = known.read_text()
    first, second = before.splitlines()
    known.write_text(f"{first}\n{second.split()[0]} {' '.join(first.split()[1:])}\n")
    try:
        said = two.up(LAB, code=1)
    finally:
        known.write_text(before)
    assert "machine m2: cannot be reached: " in said
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in said
    two.wait_until_gone()


@pytest.mark.slow
def test_another_architecture_is_refused_before_anything_is_put_there(two: Lan) -> None:
    uname = two.folder / "uname"
    uname.write_text('#!/bin/sh\n[ "$1" = -m ] && echo riscv64 || echo Linux\n')
    uname.chmod(0o755)
    real = shutil.which("uname")
    assert real is not None
    two.on("m2", "mount", "--bind", str(_seen_there(two, uname)), real)
    try:
        said = two.up(LAB, code=3)
    finally:
        two.on("m2", "umount", real)
    assert "machine m2: it is Linux riscv64; the agent here is for Linux" in said


def _seen_there(two: Lan, file: Path) -> Path:
    """Put a program where machine m2 sees it; return its path there."""
    there = Path("/run") / file.name
    two.on("m2", "sh", "-c", f"cat > {there} <<'END'\n{file.read_text()}END\nchmod 755 {there}")
    return there


@pytest.mark.slow
def test_a_damaged_agent_is_put_there_again(two: Lan) -> None:
    two.up(LAB)
    two.delaylab("down")
    two.on("m1", "sh", "-c", "for f in /root/.cache/delaylab/*; do echo x >> $f; done")
    two.up(LAB)
    size = two.on("m1", "sh", "-c", "stat -c %s /root/.cache/delaylab/*")
    assert int(size) == agent_path().stat().st_size


@pytest.mark.slow
def test_doctor_tries_a_machine(two: Lan) -> None:
    (two.folder / "lab.yaml").write_text(LAB)
    found = json.loads(
        two.delaylab("doctor", "--machine", "m2", "--lab", "lab.yaml", "--json").stdout
    )
    assert {check["name"]: check["usable"] for check in found}["netns"]
    said = two.delaylab("doctor", "--machine", "m2")
    assert re.search("links to other machines +yes", said.stdout), said.stdout
    two.wait_until_gone()
    unknown = two.delaylab("doctor", "--machine", "m3", "--lab", "lab.yaml", code=2).stderr
    assert "no machine 'm3'" in unknown


CARDS = """\
lab: cards
machines: {m1: {ssh: m1}, m2: {ssh: m2}}
hosts:
  h1: {machine: m1, interfaces: {eth1: 4Mbit, eth2: 4Mbit}, across: always}
  h2: {machine: m2, interfaces: {eth1: 4Mbit}}
nodes: {a: {host: h1}, b: {host: h1}, c: {host: h2}}
links: [{join: [a, b, c], name: lan}, {between: [a, c], name: wan, delay: 20ms}]
"""


@pytest.mark.slow
def test_hosts_on_other_machines_have_interfaces_that_links_share(two: Lan) -> None:
    """The rate holds in both directions; the machine's own card has none, and is left alone."""
    two.up(CARDS)
    assert pings(two, "a", "c.wan") >= 40
    assert pings(two, "a", "b.lan") < 10
    for agent, name in (("host.h1", "eth1"), ("wire.m1", "h1_eth2"), ("wire.m2", "h2_eth1")):
        shown = two.delaylab("exec", agent, "--", "tc", "-s", "qdisc", "show", "dev", name).stdout
        assert "rate 4Mbit" in shown
        sent = re.search(r"Sent \d+ bytes (\d+) pkt", shown)
        assert sent is not None
        assert int(sent[1]) > 0, shown
    for name in two.names:
        assert "tbf" not in two.on(name, "tc", "qdisc", "show")
