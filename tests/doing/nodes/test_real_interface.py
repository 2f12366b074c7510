"""A real interface of this machine as a node.

This machine is a network namespace in these tests: all commands run in it, and its `eth1` is a
cable to another namespace, the computer behind it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from tests.doing.own_machine import BEHIND, HERE, Machine, fastest_ms, ip, machine, within
from tests.waiting import wait_until

__all__ = ["machine"]

pytestmark = pytest.mark.root
BAD = 1
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


def children(parent: int) -> list[int]:
    of = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(pid) for pid in of.read_text().split()]


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def test_a_computer_behind_an_interface_is_part_of_a_lab(machine: Machine) -> None:
    before = machine.eth1()
    machine.up(LAB)
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
    machine.up(LAB)
    mac = mac_of_router(machine)
    os.kill(machine.state()["keeper"], signal.SIGKILL)
    wait_until(lambda: machine.eth1() == before)
    assert "no lab is up" in machine.run("ps")
    machine.up(LAB)
    # The same lab on another machine of that LAN has others; computers there may remember this one.
    assert mac_of_router(machine) == mac
    plan = build(lab_from(parse(LAB, "lab.yaml")), KINDS, Rights(root=True))
    assert mac != plan.attachment("r", "wan").mac
    machine.run("down", "edge")
    assert machine.eth1() == before


def mac_of_router(machine: Machine) -> str:
    """Return the lab's MAC address, as the computer behind the interface knows it."""
    show = ("exec", "--lab", "edge", "r", "--", "ip", "-j", "link", "show", "wan")
    return str(json.loads(machine.run(*show))[0]["address"])


def test_a_node_ends_with_the_process_of_its_interface(machine: Machine) -> None:
    machine.up(LAB)
    (agent,) = (each["pid"] for each in machine.state()["nodes"] if each["name"] == "lan")
    (passing,) = (pid for pid in children(agent) if "interface eth1" in command(pid))
    os.kill(passing, signal.SIGKILL)
    wait_until(lambda: "node.lan is dead" in machine.run("ps"))
    assert machine.eth1()["promiscuity"] == 0


def test_an_interface_that_goes_away_takes_its_node_with_it(machine: Machine) -> None:
    machine.up(LAB)
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
    machine.up(LAB)
    said = machine.up(LAB.replace("lab: edge", "lab: second"), code=BAD)
    assert "use interface eth1 of this machine: another lab has it" in said
    assert machine.pings("192.168.7.10") >= 15, "the first lab has it"
