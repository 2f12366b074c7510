"""Routers with FRR's OSPF from lab files: they start, and packets take another way round a link."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from delaylab.lab.attach import attach
from delaylab.lab.start import temporary
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab.verbs.execute import captured
from tests.doing.conftest import DELAYLAB, Run, skip_unless_runnable
from tests.doing.links.test_link_states import received, said, set_state
from tests.waiting import wait_until

EXAMPLE = Path(__file__).parents[3] / "examples" / "ospf.yaml"
ROUTERS, LINKS = 12, 15
PACKETS, INTERVAL_S = 400, 0.01
FAR = "r-3.ring-3"
THREE = """
lab: ospf
hosts: {sut: {}}
routing: {ospf: {}, by: DAEMON}
nodes:
  r: {kind: KIND, count: 3, forwards: true}
links:
  - {between: [r-1, r-2], name: one, state: up}
  - {between: [r-2, r-3], name: two, state: up}
  - {between: [r-1, r-3], name: wan, state: up}
"""
DEAD_S = 40
"""The time without a hello after which OSPF gives a neighbour up (RFC 2328, RouterDeadInterval)."""
pytestmark = [pytest.mark.root, pytest.mark.slow]


@pytest.mark.parametrize("daemon", ["frr", "bird"])
@pytest.mark.parametrize("kind", ["netns", "lxc", "docker", "uml", "qemu"])
def test_routers_come_from_one_lab_file(kind: str, daemon: str) -> None:
    skip_unless_runnable(kind)
    text = THREE.replace("KIND", kind).replace("DAEMON", daemon)
    with temporary(lab_from(parse(text, "ospf.yaml"))) as lab:
        protocol = {"frr": "proto ospf", "bird": "proto bird"}[daemon]
        wait_until(lambda: protocol in said(lab, "r-1", "ip", "route"), 90)
        show = {
            "frr": ["vtysh", "-c", "show ip ospf neighbor"],
            "bird": ["birdc", "show", "ospf", "neighbors"],
        }[daemon]
        code, out, err = captured(lab, "r-2", show)
        assert (code, err) == (0, b"")
        assert out.count(b"Full/") == 2


def test_packets_take_another_way_when_a_link_goes_down_and_not_when_it_is_silent() -> None:
    """A router that sees no carrier need not wait for hellos that do not come."""
    skip_unless_runnable("lxc")

    def neighbours() -> int:
        return said(lab, "r-1", "vtysh", "-c", "show ip ospf neighbor").count("Full/")

    with temporary(
        lab_from(parse(THREE.replace("KIND", "lxc").replace("DAEMON", "frr"), "ospf.yaml"))
    ) as lab:
        wait_until(lambda: neighbours() == 2, 3 * DEAD_S)
        # An address of the link `two`, which both other routers are on.
        to_far = lab.plan.attachment("r-3", "two").address
        set_state(lab, "down")
        wait_until(lambda: neighbours() == 1, DEAD_S / 4)
        wait_until(lambda: "dev one" in said(lab, "r-1", "ip", "route", "get", to_far), DEAD_S / 4)
        assert received(lab, "r-1", to_far) == 3, "by the other router"
        set_state(lab, "up")
        wait_until(lambda: neighbours() == 2, 3 * DEAD_S)
        set_state(lab, "silent")
        # The packets are the clock: for a second the router goes on as if nothing were.
        received(lab, "r-1", lab.plan.attachment("r-3", "wan").address, 20)
        assert neighbours() == 2, "nothing tells the router"


def first_hop(delaylab: Run) -> str:
    """Return the interface by which r-1 reaches r-3 at present."""
    address = attach("ospf").plan.attachment(*FAR.split(".")).address
    route = delaylab("exec", "r-1", "--", "ip", "route", "get", address).stdout
    found = re.search(r"dev (\S+)", route)
    assert found is not None
    return found[1]


def test_at_most_a_second_of_packets_is_lost_among_twelve_routers(delaylab: Run) -> None:
    skip_unless_runnable("lxc")
    delaylab("up", str(EXAMPLE))

    def complete() -> bool:
        routes = delaylab("exec", "--all", "--", "ip", "route").stdout
        return routes.count("/31 ") == ROUTERS * LINKS

    wait_until(complete, 120)
    before = first_hop(delaylab)
    ping = ["ping", "-i", str(INTERVAL_S), "-c", str(PACKETS), FAR]
    command = [str(DELAYLAB), "exec", "r-1", "--", *ping]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(3)]  # a title and two replies
        delaylab("link", "set", "ospf", "ring-2", "state=down")
        told += process.stdout.readlines()
    assert first_hop(delaylab) != before
    replies = re.search(r"(\d+) received", told[-2])
    assert replies is not None, told[-3:]
    assert PACKETS - int(replies[1]) <= 1 / INTERVAL_S
    delaylab("down", "ospf")
