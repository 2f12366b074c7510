"""Attacks by a node's frames on what carries it: its host, or the driver domain of Xen."""

from __future__ import annotations

import pytest

from tests.doing.conftest import Run, Up, skip_unless_runnable

pytestmark = pytest.mark.root
TWO_LINKS = """\
lab: hostile
hosts: {one: {}}
nodes: {box: {host: one}, peer: {host: one}, own: {kind: native, host: one}, near: {host: one}}
links:
- {name: outer, join: [box, peer], addresses: {box: 10.9.1.1/24, peer: 10.9.1.2/24}}
- {name: inner, join: [own, near], addresses: {own: 10.9.2.1/24, near: 10.9.2.2/24}}
"""
TO_ALL = """
import socket, struct
udp = struct.pack("!4H", 9, 9, 8, 0)
head = struct.pack("!BBHHHBBH4s4s", 69, 0, 28, 0, 0, 64, 17, %d, %s, bytes([10, 9, 2, 1]))
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
    wire.bind(("LINK", 0))
    wire.send(bytes([255] * 6 + [2] + [0] * 5 + [8, 0]) + head + udp)
"""
"""Send a packet for 10.9.2.1 to every stack on the link, whoever has the address."""
XEN = """\
lab: hostile
hosts: {one: {}}
nodes: {box: {kind: xen, host: one}, far: {host: one}}
links: [{join: [box, far]}]
"""


def checksum(source: bytes) -> int:
    """The checksum of TO_ALL's header (RFC 1071)."""
    total = (
        0x4500
        + 28
        + 0x4011
        + sum(
            int.from_bytes(each[i : i + 2])
            for each in (source, bytes([10, 9, 2, 1]))
            for i in (0, 2)
        )
    )
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@pytest.mark.parametrize("source", [bytes([10, 9, 1, 1]), bytes([10, 9, 2, 2])])
def test_a_host_takes_no_packet_by_a_link_that_its_stack_is_not_on(
    delaylab: Run, up: Up, source: bytes
) -> None:
    """A stack accepts packets for all of its addresses by all of its interfaces (RFC 1122)."""
    up(TWO_LINKS)

    def came() -> int:
        said = delaylab("exec", "own", "--", "grep", "Udp:", "/proc/net/snmp").stdout
        names, values = (line.split() for line in said.splitlines()[:2])
        return int(values[names.index("NoPorts")])

    attack = TO_ALL % (checksum(source), source)
    delaylab("exec", "near", "--", "python3", "-c", attack.replace("LINK", "inner"))
    before = came()
    assert before > 0, "else the test shows nothing"
    delaylab("exec", "box", "--", "python3", "-c", attack.replace("LINK", "outer"))
    delaylab("exec", "box", "--", "ip", "route", "add", "10.9.2.0/24", "dev", "outer")
    delaylab("exec", "box", "--", "ping", "-c", "1", "-W", "1", "10.9.2.1", code=1)
    neighbours = delaylab("exec", "box", "--", "ip", "neigh", "show", "10.9.2.1").stdout
    assert "lladdr" not in neighbours
    assert came() == before


@pytest.mark.slow
def test_a_domain_reaches_nothing_of_its_driver_domain_and_no_close_is_echoed(
    delaylab: Run, up: Up
) -> None:
    skip_unless_runnable("xen")
    up(XEN)
    seen = delaylab(
        *("exec", "box", "--", "sh", "-c"),
        "for each in all lan-box; do echo 0 >/proc/sys/net/ipv6/conf/$each/disable_ipv6; done;"
        "sleep 2; ping6 -c 2 -I lan-box ff02::1",
    ).stdout
    assert "2 packets received, 0% packet loss" in seen, "only the domain itself answers"
    closes = r"for each in $(seq 2000); do printf '\0\0\0\0\143\0\005'; done >/dev/hvc0"
    delaylab("exec", "box", "--", "sh", "-c", closes)
    relayed = "cat /proc/$(pidof -s delaylab-agent relay)/io"
    script = f"sleep 1; {relayed}; sleep 1; {relayed}"
    said = delaylab("exec", "xen.one", "--", "sh", "-c", script).stdout
    before, after = (line for line in said.splitlines() if line.startswith("rchar"))
    assert before == after
    assert delaylab("exec", "box", "--", "hostname").stdout == "box\n"
