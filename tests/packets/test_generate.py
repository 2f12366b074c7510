"""Frames of the generator, as they arrive at the other end of a cable."""

from __future__ import annotations

import subprocess
import sys

from tests.packets.agents import Pair, mac

PORT = 9
READER = """\
import socket
frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
frames.bind(("right", 0))
frames.settimeout(20)
print("ready", flush=True)
print(frames.recv(2048)[6:12].hex(":"))
"""


def test_frames_come_from_the_address_of_their_interface(joined: Pair) -> None:
    """A link on a LAN takes frames of its nodes alone, and knows them by this address."""
    within = ["ip", "netns", "exec", joined.right]
    reading = [*within, sys.executable, "-c", READER]
    with subprocess.Popen(reading, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
        flow = {"interface": "left", "to_mac": mac(2), "from": "10.9.0.1", "to": "10.9.0.2"}
        request = {"op": "generate", "flows": [flow], "probe": 1, "count": 1, "interval_ns": 0}
        with joined.agent(joined.left) as left:
            assert left.run(request | {"size": 60, "port": PORT}).done is not None
        assert reader.stdout.readline() == f"{mac(1)}\n"
