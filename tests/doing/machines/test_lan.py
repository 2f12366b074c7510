"""Links between machines as plain Ethernet on a LAN (`data_plane: ethernet`), as V-eM had them.

Namespaces with sshds stand for the machines. What is on their LAN is seen at the ports of its
switch, a bridge that snoops on IGMP and asks for members.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address, ip_interface
from pathlib import Path
from typing import Any

import pytest

from delaylab.plan.cabling.tunnels import group_mac
from tests.doing.machines.ssh_machines import NEEDED, Lan, lan, pings
from tests.doing.machines.test_ssh_machines import received
from tests.doing.own_machine import ip, within
from tests.waiting import wait_until

pytestmark = NEEDED

MTU = 1500
"""The LAN's: plain Ethernet needs no more than its links."""
HELLOS = 20
OSPF = "224.0.0.5"
OSPF_MAC = "01:00:5e:00:00:05"
ENOUGH = 5

LAB = """\
lab: plain
data_plane: ethernet
machines: {m1: {ssh: m1}, m2: {ssh: m2}, m3: {ssh: m3}}
hosts: {h1: {machine: m1}, h2: {machine: m2}, h3: {machine: m3}}
nodes: {a: {host: h1}, b: {host: h2}, c: {host: h3}, d: {host: h2}}
links:
  - {between: [a, b], name: one, delay: 10ms}
  - {between: [b, c], name: two}
  - {join: [a, c, d], name: three}
"""
ENDS = {"a": ("one", "three"), "b": ("one", "two"), "c": ("two", "three"), "d": ("three",)}

SNIFF = """\
import socket, sys
interface, sender = sys.argv[1], bytes.fromhex(sys.argv[2].replace(":", ""))
kind, count = int(sys.argv[3], 16), int(sys.argv[4])
seen = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
seen.bind((interface, 3))
seen.settimeout(20)
print("ready", flush=True)
while count:
    frame, address = seen.recvfrom(2048)
    if frame[12:14] != kind.to_bytes(2, "big") or frame[6:12] != sender:
        continue
    if kind != 0x800 or frame[30:34] == bytes((224, 0, 0, 5)):
        print(frame[:6].hex(":"), frame[6:12].hex(":"), flush=True)
        count -= 1
"""
IPV4, ARP = "800", "806"


@pytest.fixture(scope="module")
def machines() -> Iterator[Lan]:
    """Three machines on a LAN whose switch snoops on IGMP."""
    with (
        tempfile.TemporaryDirectory(prefix="dlm-") as folder,
        lan(Path(folder), ["m1", "m2", "m3"], mtu=MTU) as made,
    ):
        snooping = ("type", "bridge", "mcast_snooping", "1", "mcast_querier", "1")
        ip("-n", f"{made.user}-lan", "link", "set", "lan", *snooping)
        yield made


@pytest.fixture
def three(machines: Lan, run_directory: Path) -> Iterator[Lan]:
    """Three machines whose interfaces a test leaves as it found them."""
    before = {name: interface(machines, name) for name in machines.names}
    yield machines
    machines.delaylab("down", "--all")
    machines.wait_until_gone()
    wait_for_interfaces(machines, before)


def wait_for_interfaces(of: Lan, before: dict[str, tuple[int, str, str]]) -> None:
    """Wait until the machines' interfaces are as they were; fail with what is different."""

    def now() -> dict[str, tuple[int, str, str]]:
        return {name: interface(of, name) for name in of.names}

    wait_until(lambda: now() == before, why=lambda: (now(), before))


def interface(of: Lan, name: str) -> tuple[int, str, str]:
    """Return how promiscuous the interface of a machine is, its groups, and its addresses."""
    (found,) = json.loads(of.on(name, "ip", "-d", "-j", "link", "show", "dev", "eth0"))
    groups = of.on(name, "ip", "maddr", "show", "dev", "eth0")
    return found["promiscuity"], groups, of.on(name, "ip", "-br", "addr", "show", "dev", "eth0")


@contextmanager
def sniffed(
    three: Lan, command: list[str], count: int, kind: str = IPV4
) -> Iterator[list[tuple[str, ...]]]:
    """Note destination and source of `count` frames of a sender to OSPF's group, or of ARP."""
    found: list[tuple[str, ...]] = []
    call = [*command, kind, str(count)]
    with subprocess.Popen(
        call, stdout=subprocess.PIPE, text=True, env=three.environment
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield found
            found += [tuple(line.split()) for line in process.stdout]
        finally:
            process.kill()


def at_port(three: Lan, port: str, sender: str) -> list[str]:
    """Return the command that looks at a port of the LAN's switch."""
    return [*within(f"{three.user}-lan"), sys.executable, "-c", SNIFF, port, sender]


def at_node(three: Lan, node: str, device: str, sender: str) -> list[str]:
    return three.command("exec", node, "--", "python3", "-c", SNIFF, device, sender)


def hellos(three: Lan, node: str, device: str) -> None:
    """Send multicast to all OSPF routers from a node."""
    send = ["ping", "-q", "-c", str(HELLOS), "-i", "0.01", "-W", "0.1", "-t", "1"]
    three.delaylab("exec", node, "--", *send, "-I", device, OSPF, code=1)  # nobody answers


def mac(three: Lan, node: str, device: str) -> str:
    return str(shown(three, node, device)["address"])


def shown(three: Lan, node: str, device: str) -> dict[str, Any]:
    """Return what `ip` says of a device of a node."""
    done = three.delaylab("exec", node, "--", "ip", "-j", "addr", "show", "dev", device)
    return dict(json.loads(done.stdout)[0])


def all_received(three: Lan) -> dict[tuple[str, str], int]:
    return {
        (node, device): received(three, node, device)
        for node, devices in ENDS.items()
        for device in devices
    }


def test_links_carry_whole_packets_on_a_lan_of_their_mtu(three: Lan) -> None:
    three.up(LAB)
    assert pings(three, "a", "b.one", "-s", "1472", "-M", "do") >= 20
    assert pings(three, "b", "c.two", "-s", "1472", "-M", "do") < 10
    assert pings(three, "c", "d.three", "-s", "1472", "-M", "do") < 10
    three.delaylab("link", "set", "plain", "one", "delay=30ms")
    assert pings(three, "b", "a.one") >= 60
    assert "nothing was changed" in three.up(LAB)


def test_a_hello_reaches_the_other_end_only(three: Lan) -> None:
    """On the LAN it goes to the other end's address, and there it has its own again."""
    three.up(LAB)
    ends = {node: mac(three, node, "one") for node in ("a", "b")}
    pings(three, "b", "a.one")  # the switch now knows both
    before = all_received(three)
    with (
        sniffed(three, at_port(three, "port2", ends["a"]), ENOUGH) as on_lan,
        sniffed(three, at_node(three, "b", "one", ends["a"]), ENOUGH) as at_end,
    ):
        hellos(three, "a", "one")
    after = all_received(three)
    assert set(on_lan) == {(ends["b"], ends["a"])}
    assert set(at_end) == {(OSPF_MAC, ends["a"])}
    grown = {end: after[end] - before[end] for end in after if after[end] != before[end]}
    assert grown.pop(("b", "one")) >= HELLOS
    assert not grown.keys() - {("a", "one")}  # ARP of the two


def test_a_broadcast_link_is_a_group_of_its_own(three: Lan) -> None:
    three.up(LAB)
    sender = mac(three, "a", "three")
    before = all_received(three)
    with (
        sniffed(three, at_port(three, "port3", sender), ENOUGH) as on_lan,
        sniffed(three, at_node(three, "c", "three", sender), ENOUGH) as at_end,
    ):
        hellos(three, "a", "three")
    after = all_received(three)
    (group,) = {to for to, _ in on_lan}
    assert group.startswith("01:00:5e:")
    assert group != OSPF_MAC
    assert set(at_end) == {(OSPF_MAC, sender)}
    grown = {end: after[end] - before[end] for end in after if after[end] != before[end]}
    assert min(grown.pop(("c", "three")), grown.pop(("d", "three"))) >= HELLOS
    assert not grown.keys() - {("a", "three")}  # ARP of the three
    ports = joined(three, group)
    assert ports == {"port1", "port2", "port3"}


def joined(three: Lan, group: str) -> set[str]:
    """Return the ports of the switch that have members of a group with this MAC address."""
    shown = subprocess.run(
        [*within(f"{three.user}-lan"), "bridge", "-j", "mdb", "show"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = set()
    for entry in json.loads(shown)[0]["mdb"]:
        if "." in entry["grp"] and group_mac(IPv4Address(entry["grp"])) == group:
            found.add(entry["port"])
    return found


@pytest.mark.slow
def test_arp_stays_as_it_is_and_reaches_its_link_only(three: Lan) -> None:
    three.up(LAB)
    (address,) = shown(three, "a", "three")["addr_info"]
    network = ip_interface(f"{address['local']}/{address['prefixlen']}").network
    nobody = network.broadcast_address - 1
    sender = mac(three, "a", "three")
    before = all_received(three)
    with sniffed(three, at_port(three, "port3", sender), 1, ARP) as on_lan:
        three.delaylab("exec", "a", "--", "ping", "-c", "1", "-W", "1", str(nobody), code=1)
    after = all_received(three)
    assert on_lan[0][0] == "ff:ff:ff:ff:ff:ff"
    grown = {end for end in after if after[end] != before[end]}
    assert {("c", "three"), ("d", "three")} <= grown
    assert not grown - {("c", "three"), ("d", "three"), ("a", "three")}


def test_a_lab_that_is_killed_leaves_the_interface_as_it_was(three: Lan) -> None:
    before = interface(three, "m2")
    three.up(LAB)
    assert interface(three, "m2")[0] > 0
    for line in three.on("m2", "ps", "-eo", "pid,args").splitlines():
        pid, _, args = line.strip().partition(" ")
        if "delaylab" in args:
            three.on("m2", "kill", "-9", pid)
    wait_until(lambda: interface(three, "m2") == before, why=lambda: interface(three, "m2"))
    three.delaylab("down", "plain")


@pytest.mark.parametrize(
    ("change", "said", "code"),
    [
        (("name: two}", "name: two, mtu: 1501}"), "eth0 of m2 has MTU 1500", 3),
        (("{ssh: m3}", "{ssh: m3, interfaces: [eth7]}"), "there is no such interface", 1),
        (("{ssh: m3}", "{ssh: m3, interfaces: [lo]}"), "no Ethernet frames of a LAN", 1),
    ],
)
def test_what_cannot_be_is_one_line(
    three: Lan, change: tuple[str, str], said: str, code: int
) -> None:
    text = LAB.replace(*change)
    assert text != LAB
    printed = three.up(text, code=code)
    assert said in printed, printed
    assert len(printed.strip().splitlines()) == 1, printed


TWO_CARDS = """\
lab: cards
data_plane: ethernet
machines:
  m1: {ssh: m1, interfaces: [eth0, eth1]}
  m2: {ssh: m2, interfaces: [eth0, eth1]}
hosts: {h1: {machine: m1}, h2: {machine: m2}}
nodes: {a: {host: h1}, b: {host: h2}, c: {host: h1}, d: {host: h2}}
links: [{between: [a, b], name: one}, {between: [c, d], name: two}]
"""
SENT, SIZE = 200, 1400
"""Pings of a link and their size: far more bytes than a session over ssh, by the first card."""


def test_links_are_divided_among_the_cards_that_a_machine_names(three: Lan) -> None:
    with second_cards(three, "m1", "m2"):
        three.up(TWO_CARDS)
        used = {
            link: cards_used(three, node, to)
            for link, node, to in (("one", "a", "b"), ("two", "c", "d"))
        }
        three.delaylab("down")
    for machine in ("m1", "m2"):
        assert {used[link][machine] for link in used} == {("eth0",), ("eth1",)}, used


@contextmanager
def second_cards(of: Lan, *names: str) -> Iterator[None]:
    """Give machines a second card on the LAN for the length of a block."""
    switch = f"{of.user}-lan"
    for name in names:
        card = ("type", "veth", "peer", f"second-{name}", "mtu", str(MTU), "netns", switch)
        ip("-n", f"{of.user}-{name}", "link", "add", "eth1", "mtu", str(MTU), *card)
        ip("-n", switch, "link", "set", f"second-{name}", "master", "lan", "up")
        ip("-n", f"{of.user}-{name}", "link", "set", "eth1", "up")
    try:
        yield
    finally:
        for name in names:
            ip("-n", switch, "link", "del", f"second-{name}")


def cards_used(three: Lan, node: str, to: str) -> dict[str, tuple[str, ...]]:
    """Return the cards of each machine by which the pings from a node to another one went."""
    before = {name: sent_bytes(three, name) for name in ("m1", "m2")}
    sent = ("-c", str(SENT), "-s", str(SIZE), "-i", "0.005", "-q")
    three.delaylab("exec", node, "--", "ping", *sent, to)
    after = {name: sent_bytes(three, name) for name in ("m1", "m2")}
    return {
        name: tuple(card for card in cards if cards[card] - before[name][card] > SENT * SIZE / 2)
        for name, cards in after.items()
    }


def sent_bytes(of: Lan, name: str) -> dict[str, int]:
    """Return the bytes that each card of a machine has sent, by the kernel's counters."""
    shown = json.loads(of.on(name, "ip", "-s", "-j", "link", "show", "type", "veth"))
    return {each["ifname"]: int(each["stats64"]["tx"]["bytes"]) for each in shown}
