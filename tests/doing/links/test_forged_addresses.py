"""Frames with the MAC address of another node do not take that node's frames."""

from __future__ import annotations

import json

import pytest

from tests.doing.conftest import Run, Up

pytestmark = pytest.mark.root
LAB = """
lab: forged
nodes: {a: {}, b: {}, c: {}}
links: [{join: [a, b, c], name: lan, delay: 1ms}]
"""
BRIDGED = LAB.replace(", delay: 1ms", "")
OVER_HOSTS = """
lab: forged
hosts: {one: {}, two: {}}
nodes: {a: {host: one}, b: {host: two}, c: {host: one}}
links: [{join: [a, b, c], name: lan}]
"""
QUEUED = LAB.replace("1ms}]", "1ms}]\nengine: kernel").replace("delay: 1ms", "rate: 1Gbit")
FORGE = """
import json, socket, subprocess, sys
(b,) = json.loads(subprocess.check_output(["ip", "-j", "neigh", "show", sys.argv[1]]))
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
    raw.bind(("lan", 0))
    mac = bytes.fromhex(b["lladdr"].replace(":", ""))
    for _ in range(5):
        raw.send(b"\\x02" + bytes(5) + mac + b"\\x88\\xb5" + bytes(46))
"""


def test_an_address_of_the_lab_stays_behind_its_port(delaylab: Run, up: Up) -> None:
    up(LAB)
    forge_the_address_of_b(delaylab)
    shown = delaylab("link", "show", "forged").stdout
    assert "lan from c: 5 frames came with the MAC address of another end of the link" in shown
    (engine,) = json.loads(delaylab("link", "show", "forged", "--json").stdout)["engines"]
    moved = {each["node"]: each["moved"] for each in engine["directions"]}
    assert moved == {"a": 0, "b": 0, "c": 5}


@pytest.mark.parametrize("lab", [BRIDGED, OVER_HOSTS, QUEUED], ids=["bridge", "hosts", "queues"])
def test_a_bridge_of_the_kernel_believes_no_forged_frame(delaylab: Run, up: Up, lab: str) -> None:
    up(lab)
    forge_the_address_of_b(delaylab)


def forge_the_address_of_b(delaylab: Run) -> None:
    """Let c send frames that seem to be from b, and a then reach b all the same."""
    for node in ("a", "c"):  # both know the address of b then, and ask nobody for it
        delaylab("exec", node, "--", "ping", "-q", "-c", "1", "b")
    address = delaylab("exec", "b", "--", "hostname", "-I").stdout.split()[0]
    delaylab("exec", "c", "--", "python3", "-c", FORGE, address)
    # A single request: a second one might find b after b itself has sent something.
    delaylab("exec", "a", "--", "ping", "-q", "-c", "1", "-W", "20", "b")
