"""Frames to the addresses that bridges keep to themselves: LLDP, LACP, 802.1X and their like."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.doing.conftest import DELAYLAB, Run, Up

pytestmark = pytest.mark.root
PAUSE = 0x01
"""IEEE 802.3, annex 31B: a pause frame ends at the other end of its cable; bridges drop it."""
LABS = {
    "one-host": """\
lab: reserved
nodes: {a: {}, b: {}, c: {}}
links:
  - {between: [a, b], name: cable}
  - {join: [a, b, c], name: lan}
  - {between: [a, b], name: wan, delay: 1ms}
  - {join: [a, b, c], name: area, delay: 1ms}
""",
    "two-hosts": """\
lab: reserved
hosts: {h: {}, k: {}}
nodes: {a: {host: h}, b: {host: k}}
links:
  - {between: [a, b], name: cable}
  - {between: [a, b], name: wan, delay: 1ms}
""",
    "kernel": """\
lab: reserved
engine: kernel
nodes: {a: {}, b: {}, c: {}}
links:
  - {between: [a, b], name: cable, rate: 1Gbit}
  - {join: [a, b, c], name: lan, rate: 1Gbit}
""",
}
TALK = """
import socket, struct, sys
TYPE = 0x88b5  # for local experiments
links = sys.argv[2:]
sockets = []
for link in links:
    one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(TYPE))
    one.bind((link, TYPE))
    one.settimeout(120)
    sockets.append(one)
if sys.argv[1] == "send":
    for one in sockets:
        for last in (*range(16), 255):  # 255: no reserved address, so it says that all came before
            to = bytes.fromhex("0180c20000") + bytes([last]) if last < 255 else b"\\xff" * 6
            one.send(to + one.getsockname()[4] + struct.pack("!HB", TYPE, last) + bytes(60))
else:
    print("ready", flush=True)
    for link, one in zip(links, sockets):
        seen = []
        while 255 not in seen:
            seen.append(one.recv(2000)[14])
        print(link, *seen[:-1])
"""


@pytest.mark.parametrize("name", LABS)
def test_a_link_carries_frames_to_reserved_addresses(name: str, delaylab: Run, up: Up) -> None:
    up(LABS[name])
    devices = re.findall(r"name: (\w+)", LABS[name])
    listen = [str(DELAYLAB), "exec", "b", "--", sys.executable, "-c", TALK, "listen", *devices]
    with subprocess.Popen(listen, stdout=subprocess.PIPE, text=True) as listener:
        try:
            assert listener.stdout
            assert listener.stdout.readline() == "ready\n"
            delaylab("exec", "a", "--", sys.executable, "-c", TALK, "send", *devices)
            lines = [line.split() for line in listener.stdout]
        finally:
            listener.terminate()
    seen = {device: {int(last) for last in numbers} - {PAUSE} for device, *numbers in lines}
    assert seen == {device: set(range(16)) - {PAUSE} for device in devices}
