"""Twelve routers with OSPF from one lab file: a link goes down, and packets take another way."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.doing.conftest import DELAYLAB, Run, skip_unless_runnable, wait_until

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "ospf.yaml"
ROUTERS, LINKS = 12, 15
PACKETS, INTERVAL_S = 400, 0.01
TO = "r-3.ring-3"
pytestmark = [pytest.mark.root, pytest.mark.slow]


def first_hop(delaylab: Run) -> str:
    """Return the interface by which r-1 reaches r-3 at present."""
    found = re.search(
        r"dev (\w+)", delaylab("exec", "r-1", "--", "ip", "route", "get", "198.18.0.4").stdout
    )
    assert found is not None
    return found[1]


def test_ospf_moves_within_a_second_of_a_link_that_goes_down(delaylab: Run) -> None:
    skip_unless_runnable("lxc")
    delaylab("up", str(EXAMPLE))

    def complete() -> bool:
        routes = delaylab("exec", "--all", "--", "ip", "route").stdout
        return routes.count("/31 ") == ROUTERS * LINKS

    wait_until(complete, 120)
    before = first_hop(delaylab)
    ping = ["ping", "-i", str(INTERVAL_S), "-c", str(PACKETS), TO]
    command = [str(DELAYLAB), "exec", "r-1", "--", *ping]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(3)]  # a title and two replies
        delaylab("link", "set", "ospf", "ring-2", "state=down")
        told += process.stdout.readlines()
    assert first_hop(delaylab) != before
    received = re.search(r"(\d+) received", told[-2])
    assert received is not None, told[-3:]
    assert PACKETS - int(received[1]) <= 1 / INTERVAL_S
    delaylab("down", "ospf")
