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
    delaylab("exec", "c", "--", "ping", "-q", "-c", "1", "b")
    address = delaylab("exec", "b", "--", "hostname", "-I").stdout.split()[0]
    delaylab("exec", "c", "--", "python3", "-c", FORGE, address)
    delaylab("exec", "a", "--", "ping", "-q", "-c", "3", "-W", "60", "b")
    shown = delaylab("link", "show", "forged").stdout
    assert "lan from c: 5 frames came with the MAC address of another end of the link" in shown
    (engine,) = json.loads(delaylab("link", "show", "forged", "--json").stdout)["engines"]
    moved = {each["node"]: each["moved"] for each in engine["directions"]}
    assert moved == {"a": 0, "b": 0, "c": 5}
