"""A node's way outside by address translation in user space, on a network of the test's own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doing.conftest import Run, only_line
from tests.doing.labs.test_bad_input import NOT_HERE
from tests.doing.own_machine import BEHIND, HERE, Machine, ip, machine, within
from tests.waiting import wait_until

__all__ = ["machine"]
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(shutil.which("slirp4netns") is None, reason="slirp4netns is missing"),
]
LAB = """\
lab: way
nodes:
  gw: {forwards: true, nat: true}
  h: {routes: [{to: default, via: gw}]}
  alone: {}
links:
  - {join: [h, gw, alone], name: in, delay: 5ms}
"""
SERVE = """
import socket
with socket.create_server(("0.0.0.0", 7000)) as server:
    print("ready", flush=True)
    while True:
        taken, (address, _) = server.accept()
        with taken:
            taken.sendall(address.encode())
"""
ASK = """
import socket, sys, time
began = time.monotonic()
with socket.create_connection((sys.argv[1], 7000), timeout=60) as there:
    print(there.recv(99).decode())
print(time.monotonic() - began)
"""


def asked(machine: Machine, node: str, host: str = BEHIND, code: int = 0) -> tuple[str, float]:
    """Return from which address a node's connection came to a host, and how long it took."""
    call = (sys.executable, "-c", ASK, host)
    said = machine.run("exec", "--lab", "way", node, "--", *call, code=code)
    if code:
        return said, 0.0
    address, taken = said.split()
    return address, float(taken)


def settings(machine: Machine) -> str:
    """Return what a machine's address translation would have changed: its rules and settings."""
    names = ("net.ipv4.ip_forward", "net.ipv4.conf.all.proxy_arp", "net.ipv4.conf.eth1.forwarding")
    shown = subprocess.run(
        [*within(machine.here), "sysctl", *names], capture_output=True, text=True, check=True
    )
    return shown.stdout + ip("-n", machine.here, "-4", "addr") + ip("-n", machine.here, "route")


def test_a_node_that_says_so_reaches_outside_and_so_do_those_behind_it(machine: Machine) -> None:
    before = settings(machine)
    machine.up(LAB)
    server = subprocess.Popen(
        [*within(machine.behind), sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True
    )
    with server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            assert asked(machine, "gw")[0] == HERE, "as a program of this machine"
            address, taken = asked(machine, "h")
            assert (address, taken >= 0.01) == (HERE, True), "over the link of 5 ms each way"
            # Nobody else: off unless a node says so.
            assert "unreachable" in asked(machine, "alone", code=1)[0]
        finally:
            server.kill()
    assert settings(machine) == before
    machine.run("down", "way")
    assert settings(machine) == before


def test_what_this_machine_offers_itself_alone_stays_its_own(machine: Machine) -> None:
    machine.up(LAB)
    server = subprocess.Popen(
        [*within(machine.here), sys.executable, "-c", SERVE.replace("0.0.0.0", "127.0.0.1")],
        stdout=subprocess.PIPE,
        text=True,
    )
    with server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            # The address by which the program leads to this machine's loopback, unless told not to.
            said, _ = asked(machine, "gw", "10.0.2.2", code=1)
            assert "Error" in said
        finally:
            server.kill()


def test_it_needs_no_root(with_tun: Run, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(LAB)
    with_tun("up", "lab.yaml")
    shown = with_tun("exec", "--lab", "way", "gw", "--", "ip", "route").stdout
    assert "default via 10.0.2.2 dev to_outside" in shown
    with_tun("down", "way")


def test_a_user_without_the_device_is_told_how_to_open_it(without_tun: Run, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(LAB)
    said = only_line(without_tun("up", "lab.yaml", code=NOT_HERE).stderr)
    assert "chmod 666 /dev/net/tun" in said


def test_nothing_of_the_way_stays(machine: Machine) -> None:
    machine.up(LAB)
    assert ways(machine)
    os.kill(machine.state()["keeper"], signal.SIGKILL)
    wait_until(lambda: not ways(machine))
    machine.run("ps")


def test_a_way_that_has_ended_is_told(machine: Machine) -> None:
    machine.up(LAB)
    (way,) = ways(machine)
    os.kill(way, signal.SIGKILL)
    wait_until(lambda: "agent nat.gw is dead" in machine.run("ps"))


def ways(machine: Machine) -> list[int]:
    """Return the processes of ways outside in the network of a test's machine."""
    own = Path(f"/run/netns/{machine.here}").stat().st_ino
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if not folder.name.isdigit() or (folder / "ns/net").stat().st_ino != own:
                continue
            if b"slirp4netns" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found
