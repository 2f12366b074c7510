"""Ways between machines that drop what a lab sends: `up` finds them, and `link show` later on.

Namespaces with sshds stand for machines; what is between them is a bridge in one more namespace.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import STDOUT
from textwrap import indent

import pytest

from delaylab_study.analysis.links.fidelity import trial_links
from delaylab_study.dataset.store import read_study
from tests.doing.machines.ssh_machines import MTU, NEEDED, Lan, machines, pings, two
from tests.doing.own_machine import ip, within
from tests.waiting import PATIENCE_S, wait_until

pytestmark = NEEDED
__all__ = ["machines", "two"]

LAB = """\
lab: tried
machines: {m1: {ssh: m1}, m2: {ssh: m2}}
hosts: {h1: {machine: m1}, h2: {machine: m2}, h3: {machine: m2}}
nodes: {a: {host: h1}, b: {host: h2}, c: {host: h3}}
links:
  - {between: [a, b], name: wan, delay: 200ms, mtu: 1500}
  - {join: [a, b, c], name: lan, mtu: 1400}
"""
ETHERNET = "data_plane: ethernet\n"
VXLAN = 4789


@contextmanager
def short_path(two: Lan, mtu: int) -> Iterator[None]:
    """Have the LAN carry shorter packets than the machines' cards do.

    The user's own card is short, too: ssh gets through.
    """
    switch = f"{two.user}-lan"
    places = ((switch, "port1"), (switch, "port2"), (two.user, "eth0"))
    for place, card in places:
        ip("-n", place, "link", "set", card, "mtu", str(mtu))
    try:
        yield
    finally:
        for place, card in places:
            ip("-n", place, "link", "set", card, "mtu", str(MTU))


@contextmanager
def blocked(two: Lan, machine: str, *packets: str) -> Iterator[None]:
    """Have a machine drop packets that arrive, as a firewall does: its local table comes later."""
    place = f"{two.user}-{machine}"
    ip("-n", place, "rule", "add", "pref", "10", *packets, "blackhole")
    ip("-n", place, "rule", "add", "pref", "100", "lookup", "local")
    ip("-n", place, "rule", "del", "pref", "0")
    try:
        yield
    finally:
        ip("-n", place, "rule", "add", "pref", "0", "lookup", "local")
        ip("-n", place, "rule", "del", "pref", "10")
        ip("-n", place, "rule", "del", "pref", "100")


@contextmanager
def only_own_addresses(two: Lan) -> Iterator[None]:
    """Have the LAN's switch drop frames whose source is not the card of a machine."""
    switch = f"{two.user}-lan"
    cards = {}
    for number, name in enumerate(two.names, 1):
        shown = json.loads(two.on(name, "ip", "-j", "link", "show", "eth0"))
        cards[f"port{number}"] = shown[0]["address"]
    for port, mac in cards.items():
        bridge(switch, "fdb", "replace", mac, "dev", port, "master", "static")
        bridge(switch, "link", "set", "dev", port, "learning", "off", "locked", "on")
    try:
        yield
    finally:
        for port, mac in cards.items():
            bridge(switch, "link", "set", "dev", port, "learning", "on", "locked", "off")
            bridge(switch, "fdb", "del", mac, "dev", port, "master")


def bridge(place: str, *argv: str) -> None:
    subprocess.run([*within(place), "bridge", *argv], check=True)


def refused(two: Lan, text: str) -> list[str]:
    """Return the error lines of an `up` that is refused and leaves nothing behind."""
    said = two.up(text, code=3)
    two.wait_until_gone()
    return [line.removeprefix("delaylab: ") for line in said.splitlines()]


def test_packets_that_the_path_is_too_short_for_are_found_by_up(two: Lan) -> None:
    with short_path(two, 1500):
        lines = refused(two, LAB)
        found = re.search(r"those of (\d+) do", lines[0])
        assert found, lines
        assert lines == [
            f"machine {one}: packets of 1500 bytes do not pass from {one} to {other}, those of "
            f"{found[1]} do (give link wan `mtu: {found[1]}`)"
            for one, other in (("m1", "m2"), ("m2", "m1"))
        ]
        # A virtual cable takes a VLAN's tag more than its MTU.
        assert 1450 <= int(found[1]) <= 1454
        two.up(LAB.replace(", mtu: 1500", "") + f"mtu: {found[1]}\n")
        size = int(found[1]) - 28
        pings(two, "a", "b.wan", "-s", str(size), "-M", "do")


def test_links_between_machines_have_what_their_cards_and_the_tunnel_leave(two: Lan) -> None:
    card = ("-n", f"{two.user}-m2", "link", "set", "eth0", "mtu")
    ip(*card, "1500")
    try:
        two.up(LAB.replace("mtu: 1500", "loss: 0%"))
        found = [mtu(two, node, link) for node, link in (("a", "wan"), ("b", "wan"), ("c", "lan"))]
    finally:
        ip(*card, str(MTU))
    assert found == [1450, 1450, 1400]


def mtu(two: Lan, node: str, link: str) -> int:
    shown = two.delaylab("exec", node, "--", "ip", "-j", "link", "show", link).stdout
    return int(json.loads(shown)[0]["mtu"])


def test_a_udp_port_that_a_firewall_drops_is_found_by_up_and_another_one_works(two: Lan) -> None:
    with blocked(two, "m2", "ipproto", "udp", "dport", str(VXLAN)):
        assert refused(two, LAB) == [
            f"machine {one}: no frame passes from {one} to {other}: packets to UDP port 4789 do "
            f"not arrive (let firewalls pass UDP port 4789 from {one} to {other}, or choose "
            "another one by `vxlan_port:`)"
            for one, other in (("m1", "m2"), ("m2", "m1"))
        ]
        two.up(f"{LAB}vxlan_port: 5789\n")
        pings(two, "a", "b.wan")


def test_a_fabric_that_drops_the_nodes_addresses_is_found_by_up(two: Lan) -> None:
    with only_own_addresses(two):
        assert refused(two, LAB + ETHERNET) == [
            f"machine {one}: no frame of a node passes from {one} to {other} (the LAN drops frames "
            "of MAC addresses that are not its machines' own, as clouds and port security do: "
            "allow them, or take `data_plane: vxlan`)"
            for one, other in (("m1", "m2"), ("m2", "m1"))
        ]
        two.up(LAB)


@pytest.mark.parametrize("plane", ["", pytest.param(ETHERNET, marks=pytest.mark.slow)])
def test_frames_that_try_the_way_reach_no_node_and_show_a_way_that_closes(
    two: Lan, plane: str
) -> None:
    two.up(LAB + plane)
    counts = [entered(two)]
    two.delaylab("link", "show")
    counts.append(entered(two))
    assert counts[0] == counts[1]
    assert set(counts[0].values()) == {0}
    if plane:
        return
    with blocked(two, "m2", "ipproto", "udp", "dport", str(VXLAN)):
        said = two.delaylab("link", "show").stdout
        shown = json.loads(two.delaylab("link", "show", "tried", "wan", "--json").stdout)
    for node, one, other in (("a", "m1", "m2"), ("b", "m2", "m1")):
        why = f"no frame passed from machine {one} to {other} just now"
        assert f"wan from {node}: not held, because {why}" in said, said
        assert f"{why} (links: lan)" in said, said
    assert [each["small"] for each in shown["closed"]] == [False, False]
    sent = [each for one in shown["engines"] for each in one["directions"] if each["node"]]
    assert [each["held"] for each in sent] == [False, False]


STUDY = f"""\
study: meanwhile
lab:
{indent(LAB, "  ")}
repeat: 1
work: [{{name: rest, on: a, command: [sleep, "4.25"]}}]
"""


@pytest.mark.slow
def test_a_way_that_closes_during_a_trial_is_in_its_verdict(two: Lan) -> None:
    (two.folder / "study.yaml").write_text(STUDY)
    command = two.command("run", "study.yaml", "--out", "out")
    with subprocess.Popen(
        command, cwd=two.folder, env=two.environment, stdout=subprocess.PIPE, stderr=STDOUT
    ) as run:

        def works() -> bool:
            """Return True once the trial's work is at work: the lab is up."""
            assert run.poll() is None, run.communicate()
            return "sleep 4.25" in two.on("m1", "ps", "-eo", "args")

        wait_until(works)
        with blocked(two, "m2", "ipproto", "udp", "dport", str(VXLAN)):
            said, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, said
    (trial,) = read_study(two.folder / "out").trials
    assert {(each.machine, each.other, each.small) for each in trial.closed} == {
        ("m1", "m2", False),
        ("m2", "m1", False),
    }
    why = {each.verdict.direction.node: each.verdict.closed for each in trial_links(trial)}
    assert why["a"] == ("no frame passed from machine m1 to m2 when the trial ended",)
    assert why["b"] == ("no frame passed from machine m2 to m1 when the trial ended",)


def entered(two: Lan) -> dict[str, int]:
    """Return how many frames each node's interface to a link has received."""
    found = {}
    for node, link in (("a", "wan"), ("b", "wan"), ("a", "lan"), ("b", "lan"), ("c", "lan")):
        shown = two.delaylab("exec", node, "--", "ip", "-s", "-j", "link", "show", link).stdout
        found[f"{node}.{link}"] = json.loads(shown)[0]["stats64"]["rx"]["packets"]
    return found
