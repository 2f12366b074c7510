"""A real interface of this machine as a node.

This machine is a network namespace in these tests: all commands run in it, and its `eth1` is a
cable to another namespace, the computer behind it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.doing.conftest import wait_until

pytestmark = pytest.mark.root
BAD = 1
HERE, BEHIND = "192.168.7.1", "192.168.7.20"
LAB = """\
lab: edge
nodes: {h: {}, r: {forwards: true}, lan: {interface: eth1}}
links:
  - {between: [h, r], name: in}
  - between: [r, lan]
    name: wan
    delay: 5ms
    from: {lan: {delay: 10ms}}
    addresses: {r: 192.168.7.10/24, lan: 192.168.7.20/24}
"""
PART = 0.2
"""The share of a round trip by which the fastest of its packets may be slower."""
BYTES = 2_000_000
TAKE = f"""
import socket
with socket.create_server(("0.0.0.0", 7000)) as server:
    print("ready", flush=True)
    taken, _ = server.accept()
    with taken, taken.makefile("rb") as stream:
        print(len(stream.read()), flush=True)
    taken, _ = server.accept()
    taken.sendall(bytes({BYTES}))
"""
GIVE = f"""
import socket
with socket.create_connection(("{BEHIND}", 7000)) as there:
    there.sendall(bytes({BYTES}))
with socket.create_connection(("{BEHIND}", 7000)) as there, there.makefile("rb") as stream:
    print(len(stream.read()))
"""


def ip(*argv: str) -> str:
    done = subprocess.run(["ip", *argv], capture_output=True, text=True, check=True)
    return done.stdout


@dataclass(frozen=True)
class Machine:
    """The namespace that stands for this machine, and that of the computer behind its `eth1`."""

    here: str
    behind: str
    folder: Path

    def run(self, *argv: str, code: int = 0) -> str:
        """Run the command line on this machine; return what it prints."""
        call = [sys.executable, "-c", "from delaylab.__main__ import main; main()"]
        done = subprocess.run(
            [*within(self.here), *call, *argv],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            timeout=60,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def up(self, text: str = LAB, code: int = 0) -> str:
        file = self.folder / "lab.yaml"
        file.write_text(text)
        return self.run("up", str(file), code=code)

    def state(self) -> dict[str, Any]:
        """Return what `ps` says of the only lab."""
        (found,) = json.loads(self.run("ps", "--json"))["labs"]
        return dict(found)

    def pings(self, *argv: str) -> float:
        """Return the fastest round trip from the computer behind the interface, in ms."""
        ping = [*within(self.behind), "ping", "-q", "-c", "10", "-i", "0.02", *argv]
        return fastest_ms(subprocess.run(ping, capture_output=True, text=True, check=True).stdout)

    def eth1(self) -> dict[str, Any]:
        """Return what the kernel says of the interface, but for its counters."""
        (found,) = json.loads(ip("-n", self.here, "-4", "-d", "-j", "addr", "show", "eth1"))
        return dict(found)


def within(namespace: str) -> list[str]:
    return ["nsenter", f"--net=/run/netns/{namespace}"]


def children(parent: int) -> list[int]:
    of = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(pid) for pid in of.read_text().split()]


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def fastest_ms(shown: str) -> float:
    found = re.search(r"= ([\d.]+)/", shown)
    assert found, shown
    return float(found[1])


@pytest.fixture
def machine(tmp_path: Path, run_directory: Path) -> Iterator[Machine]:
    here, behind = (f"dltest-{name}-{os.getpid()}" for name in ("here", "behind"))
    made = Machine(here, behind, tmp_path)
    try:
        for each in (here, behind):
            ip("netns", "add", each)
            ip("-n", each, "link", "set", "lo", "up")
        ip("link", "add", "eth1", "netns", here, "type", "veth", "peer", "eth0", "netns", behind)
        for each, name, address in ((here, "eth1", HERE), (behind, "eth0", BEHIND)):
            ip("-n", each, "addr", "add", f"{address}/24", "dev", name)
            ip("-n", each, "link", "set", name, "up")
        ip("-n", behind, "route", "add", "default", "via", "192.168.7.10")
        yield made
        made.run("down", "--all")
    finally:
        for each in (here, behind):
            subprocess.run(["ip", "netns", "del", each], check=False)


def test_a_computer_behind_an_interface_is_part_of_a_lab(machine: Machine) -> None:
    before = machine.eth1()
    machine.up()
    shown = machine.run(
        "exec", "--lab", "edge", "h", "--", "ping", "-q", "-c", "10", "-i", "0.02", "lan"
    )
    for found in (fastest_ms(shown), machine.pings("192.168.7.10")):
        assert 15 <= found < 15 * (1 + PART), "5 ms there and 10 ms back"
    # This machine goes on using its interface, without the lab's delay.
    assert machine.pings(HERE) < 5
    # Only as for a program that captures: frames for any address are received.
    assert machine.eth1() == {**before, "promiscuity": 1}
    links = json.loads(machine.run("link", "show", "edge", "--json"))["engines"][0]["directions"]
    assert all(each["out"]["frames"] > 10 for each in links)
    assert not any(each["dropped"]["oversize"] for each in links)
    machine.run("down", "edge")
    assert machine.eth1() == before


def test_a_stream_passes_whole_whatever_a_card_has_put_together(machine: Machine) -> None:
    """TCP's large segments, which cards cut and put together, are as long as a cable carries."""
    machine.up(LAB.replace("delay: 5ms", "delay: 1ms").replace("delay: 10ms", "delay: 1ms"))
    server = subprocess.Popen(
        [*within(machine.behind), sys.executable, "-c", TAKE], stdout=subprocess.PIPE, text=True
    )
    with server:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        got = machine.run("exec", "--lab", "edge", "h", "--", sys.executable, "-c", GIVE)
        assert int(got) == BYTES
        assert int(server.stdout.readline()) == BYTES
    (engine,) = json.loads(machine.run("link", "show", "edge", "--json"))["engines"]
    for direction in engine["directions"]:
        assert direction["dropped"]["oversize"] == 0, "cut before the link"
        assert direction["in"]["bytes"] > BYTES


def test_nothing_stays_of_a_lab_whose_keeper_was_killed(machine: Machine) -> None:
    before = machine.eth1()
    machine.up()
    os.kill(machine.state()["keeper"], signal.SIGKILL)
    wait_until(lambda: machine.eth1() == before)
    assert "no lab is up" in machine.run("ps")
    machine.up()
    machine.run("down", "edge")
    assert machine.eth1() == before


def test_a_node_ends_with_the_process_of_its_interface(machine: Machine) -> None:
    machine.up()
    (agent,) = (each["pid"] for each in machine.state()["nodes"] if each["name"] == "lan")
    (passing,) = (pid for pid in children(agent) if "interface eth1" in command(pid))
    os.kill(passing, signal.SIGKILL)
    wait_until(lambda: "node.lan is dead" in machine.run("ps"))
    assert machine.eth1()["promiscuity"] == 0


def test_an_interface_that_goes_away_takes_its_node_with_it(machine: Machine) -> None:
    machine.up()
    ip("-n", machine.here, "link", "set", "eth1", "down")
    ip("-n", machine.here, "link", "set", "eth1", "up")
    assert machine.pings("192.168.7.10") >= 15, "down and up again"
    ip("-n", machine.here, "link", "del", "eth1")
    wait_until(lambda: "node.lan is dead" in machine.run("ps"))


def test_an_interface_that_cannot_be_had_is_refused_in_one_line(machine: Machine) -> None:
    ip("-n", machine.here, "link", "add", "low", "type", "veth", "peer", "ours")
    ip("-n", machine.here, "link", "set", "ours", "up", "alias", "delaylab:other")
    for name, why in (
        ("lo", "it is the loopback"),
        ("nope", "there is no such interface (one of: eth1, ours, low)"),
        ("low", "it is down (as root: ip link set low up)"),
        ("ours", "it is delaylab's own, of lab other"),
    ):
        said = machine.up(LAB.replace("eth1", name), code=BAD)
        assert f"use interface {name} of this machine: {why}" in said
        assert len(said.splitlines()) == 1
    said = machine.up(LAB.replace("delay: 5ms", "mtu: 9000"), code=BAD)
    assert "its MTU is 1500, and that of the link 9000 (give the link `mtu: 1500`)" in said
    machine.up()
    said = machine.up(LAB.replace("lab: edge", "lab: second"), code=BAD)
    assert "use interface eth1 of this machine: another lab has it" in said
    assert machine.pings("192.168.7.10") >= 15, "the first lab has it"
