"""The verb `watch`: what changes while a lab is broken, and what becomes of packets."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import datetime

import pytest

from delaylab.forwarding.fates import Fates, Interval
from delaylab.forwarding.tables import LinkChange, Lost, TableChange
from delaylab.lab.attach import attach
from delaylab.lab.routing.observer import observing
from delaylab.units import Duration
from delaylab.verbs.watch import Watching, as_json, lines
from delaylab.verdicts.bursts import BurstOfChanges, followed
from tests.analysis.test_convergence import CHAIN as TABLES
from tests.analysis.test_convergence import MESH, TO, WIDE, via
from tests.doing.conftest import Run, Up
from tests.doing.routing.observed import CHAIN, said

BEGAN_NS = 1_795_000_000_000_000_000


def hole(node: str, begin_ns: int | None, end_ns: int | None) -> Interval:
    return Interval(TO, "black hole", frozenset({node}), begin_ns, end_ns)


def test_a_burst_has_what_began_ended_or_lasted_in_it() -> None:
    fates = Fates({**TABLES, "a": {}}, MESH, [TO])
    down = LinkChange(10, "c", "d", up=False, admin_up=True)
    first = followed([down, TableChange(12, "c", WIDE, via("a"))], fates)
    assert first == BurstOfChanges(
        first_ns=10,
        last_ns=12,
        changes=1,
        routers=("c",),
        links=(down,),
        holes=(hole("c", 10, 12),),
        loops=(),
        lost=(),
    )
    second = followed([Lost(30, "b"), TableChange(30, "b", WIDE, None)], fates)
    lasting = Interval(TO, "black hole", frozenset({"b"}), 30, None, is_exact=False)
    assert (second.holes, second.lost) == ((lasting,), ("b",))
    third = followed([TableChange(50, "d", WIDE, None)], fates)
    assert third.holes == (lasting,), "it is still there"


def test_a_burst_is_told_in_a_few_lines() -> None:
    names = {TO: "d"}
    loop = Interval(TO, "loop", frozenset({"b", "c"}), BEGAN_NS, BEGAN_NS + 14_600_000)
    burst = BurstOfChanges(
        first_ns=BEGAN_NS,
        last_ns=BEGAN_NS + 620_000_000,
        changes=84,
        routers=tuple(f"r{number}" for number in range(8)),
        links=(
            LinkChange(BEGAN_NS, "a", "wan", up=False, admin_up=False),
            LinkChange(BEGAN_NS, "b", "wan", up=False, admin_up=True),
        ),
        holes=(hole("c", BEGAN_NS, None),),
        loops=(loop,),
        lost=("a",),
    )
    clock = datetime.fromtimestamp(BEGAN_NS / 1e9).strftime("%H:%M:%S")
    assert lines(burst, names) == [
        f"{clock}.000000: 84 table changes of r0, r1, r2, r3, r4, r5 and 2 more, within 620.0 ms",
        "  devices: a.wan down, b.wan without a carrier",
        "  black holes at c for packets to d; still there for 1 address",
        "  loops at b and c for packets to d; the longest 14.6 ms",
        "  messages lost, tables read again: a",
    ]


@pytest.mark.root
def test_what_happens_to_a_link_is_printed(up: Up) -> None:
    name = up(CHAIN)
    argv = ["-c", "from delaylab.__main__ import main; main()", "watch", name, "--for", "3s"]
    with subprocess.Popen(
        [sys.executable, *argv, "--quiet", "300ms"], stdout=subprocess.PIPE, text=True
    ) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith("observing 4 nodes with ")
        said(attach(name), "r1", "ip", "link", "set", "middle", "down")
        printed = watching.stdout.read()
        assert watching.wait() == 0
    assert "table changes of r1, r2, within" in printed
    assert "devices: r1.middle down, r2.middle without a carrier" in printed
    assert "black holes at r1, r2 for packets to a, b, r1, r2; still there for " in printed
    assert "loops" not in printed


@pytest.mark.root
def test_bursts_are_given_as_json(up: Up) -> None:
    lab = attach(up(CHAIN))
    with observing(lab) as observer:
        watching = Watching(lab, observer)
        began_ns = time.time_ns()
        said(lab, "r2", "ip", "route", "add", "blackhole", "10.9.0.0/16")
        bursts = list(watching.bursts(Duration.parse("1s"), Duration.parse("200ms")))
        found = as_json(bursts, observer, watching.names)
    assert found["nodes"] == ["a", "b", "r1", "r2"]
    assert found["bounds_ns"] == {}
    (burst,) = bursts
    assert began_ns < burst.first_ns == burst.last_ns < time.time_ns()
    assert found["bursts"] == [
        {
            "first_ns": burst.first_ns,
            "last_ns": burst.first_ns,
            "changes": 1,
            "routers": ["r2"],
            "devices": [],
            "black_holes": [],
            "loops": [],
            "lost": [],
        }
    ]


@pytest.mark.root
def test_a_time_that_is_none_is_refused(delaylab: Run, up: Up) -> None:
    up(CHAIN)
    assert "--for" in delaylab("watch", "--for", "soon", code=2).stderr
    assert "at most 24h" in delaylab("watch", "--quiet", "25h", code=2).stderr
    assert "no table changed within 100ms" in delaylab("watch", "--for", "100ms").stdout
