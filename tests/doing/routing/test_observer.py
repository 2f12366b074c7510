"""The observer of forwarding tables: what it sees is what the kernels have, and when it came."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from delaylab.forwarding.fates import Fates, Interval
from delaylab.forwarding.tables import (
    DISCARD,
    Change,
    LinkChange,
    TableChange,
    differences,
)
from delaylab.lab.routing.observer import Observer, observing
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.plan.wiring import wiring
from tests.doing.conftest import (
    left_to_slow,
    skip_unless_runnable,
)
from tests.doing.routing.observed import (
    CHAIN,
    QUIET_S,
    address,
    everywhere,
    hops,
    lab_of,
    observers,
    said,
    shown,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.root

SCRIPT = Path(__file__).parent / "route_script.py"
MS = 1_000_000
WITHIN_NS = MS
"""The most by which the time of a change may be wrong."""
LENGTHS_S = (0.005, 0.02, 0.1)


def test_the_tables_are_those_of_the_kernels_and_stay_so() -> None:
    with temporary(lab_of(CHAIN)) as chain, observing(chain) as observer:
        assert observer.tables == everywhere(chain)
        assert observer.links["r1", "middle"].up
        via = address(chain, "r2", "middle")
        for words in (
            "nexthop add id 7 via {via} dev middle",
            "nexthop add id 8 dev near",
            "nexthop add id 9 group 7/8",
            "nexthop add id 10 blackhole",
            "route add 10.1.0.0/16 nhid 9",
            "route add 10.2.0.0/16 nexthop via {via} nexthop dev near",
            "route add 10.3.0.0/16 via {via} metric 30",
            "route add 10.3.0.0/16 dev near metric 20",
            "route add prohibit 10.4.0.0/16",
            "route add 10.5.0.0/16 nhid 10",
            "-6 route add fd01::/64 dev near",
            "-6 route append fd01::/64 via fe80::1 dev middle",
            "-6 route add fd02::/64 via fe80::1 dev middle",
            "-6 route append fd02::/64 via fe80::2 dev near",
        ):
            said(chain, "r1", "ip", *words.format(via=via).split())
        observer.settled(QUIET_S, 5)
        table = observer.tables["r1"]
        assert table["10.1.0.0/16"] == hops(("middle", via), ("near", None))
        assert table["10.3.0.0/16"] == hops(("near", None))
        assert table["10.4.0.0/16"] == table["10.5.0.0/16"] == DISCARD
        assert table["fd02::/64"] == hops(("middle", "fe80::1"), ("near", "fe80::2"))
        for words in ("replace id 8 via {via} dev middle", "del id 8", "del id 7"):
            said(chain, "r1", "ip", "nexthop", *words.format(via=via).split())
            observer.settled(QUIET_S, 5)
            assert table.get("10.1.0.0/16") == shown(chain, "r1").get("10.1.0.0/16"), words
        said(chain, "r1", "ip", "-6", "route", "del", "fd02::/64", "via", "fe80::2", "dev", "near")
        said(chain, "r1", "ip", "route", "del", "10.3.0.0/16", "metric", "20")
        observer.settled(QUIET_S, 5)
        assert table["10.3.0.0/16"] == hops(("middle", via))
        assert table["fd02::/64"] == hops(("middle", "fe80::1"))
        for prefix in ("10.2.0.0/16", "10.3.0.0/16", "10.4.0.0/16", "10.5.0.0/16"):
            said(chain, "r1", "ip", "route", "del", prefix)
        for prefix in ("fd01::/64", "fd02::/64"):
            said(chain, "r1", "ip", "-6", "route", "flush", prefix)
        observer.settled(QUIET_S, 5)
        assert observer.tables == everywhere(chain)
        assert observer.lost == []


def test_a_link_that_goes_down_takes_its_routes_along_in_time() -> None:
    """The kernel sends no message for them; what is left is read again and is what `ip` shows."""
    with temporary(lab_of(CHAIN)) as lab, observing(lab) as observer:
        before = {node: dict(table) for node, table in observer.tables.items()}
        by_r1 = {
            prefix
            for prefix, over in before["r1"].items()
            if any(hop.device == "middle" for hop in over)
        }
        began_ns = time.time_ns()
        said(lab, "r1", "ip", "link", "set", "middle", "down")
        ended_ns = time.time_ns()
        changes = observer.settled(QUIET_S, 5)
        links = {(it.node, it.device): it for it in changes if isinstance(it, LinkChange)}
        assert not links["r1", "middle"].admin_up
        assert not links["r2", "middle"].up
        assert links["r2", "middle"].admin_up
        gone = {it.prefix: it for it in changes if isinstance(it, TableChange) and it.node == "r1"}
        assert gone.keys() == by_r1
        assert all(it.hops is None and began_ns < it.at_ns < ended_ns for it in gone.values())
        # The peer's connected route is still in its kernel, with nobody there.
        assert differences(observer.tables, everywhere(lab), list(by_r1)) == [
            each
            for each in differences(observer.tables, everywhere(lab))
            if each.node == "r2" and each.actual == hops(("middle", None))
        ]
        said(lab, "r1", "ip", "link", "set", "middle", "up")
        observer.settled(QUIET_S, 5)
        assert observer.tables == everywhere(lab)


def test_a_carrier_that_is_lost_takes_a_member_of_a_group_along_for_good() -> None:
    """The kernel removes the next-hop object without a message, as FRR 8.4 does not notice."""
    with temporary(lab_of(CHAIN)) as lab, observing(lab) as observer:
        via = address(lab, "r2", "middle")
        for words in (f"add id 7 via {via} dev middle", "add id 8 dev near", "add id 9 group 7/8"):
            said(lab, "r1", "ip", "nexthop", *words.split())
        said(lab, "r1", "ip", "route", "add", "10.1.0.0/16", "nhid", "9")
        observer.settled(QUIET_S, 5)
        assert observer.tables["r1"]["10.1.0.0/16"] == hops(("middle", via), ("near", None))
        for state in ("down", "up"):
            said(lab, "r2", "ip", "link", "set", "middle", state)
            changes = observer.settled(QUIET_S, 5)
            assert observer.tables["r1"]["10.1.0.0/16"] == hops(("near", None))
            found = [each for each in changes if getattr(each, "prefix", "") == "10.1.0.0/16"]
            assert len(found) == (state == "down")
        assert observer.tables["r1"] == shown(lab, "r1")


@dataclass(frozen=True)
class Broken:
    """A scripted fault: the state to the destination, and the two times of each change."""

    kind: str
    nodes: frozenset[str]
    destination: str
    begun: tuple[int, int]
    ended: tuple[int, int]

    def is_found_in(self, intervals: list[Interval]) -> bool:
        return any(
            (each.kind, each.nodes, each.destination) == (self.kind, self.nodes, self.destination)
            and _near(each.begin_ns, self.begun)
            and _near(each.end_ns, self.ended)
            for each in intervals
        )


def _near(at_ns: int | None, call: tuple[int, int]) -> bool:
    return at_ns is not None and call[0] <= at_ns <= call[1] + WITHIN_NS


def broken_routes(
    lab: LiveLab, observer: Observer, count: int
) -> tuple[list[Broken], list[Interval]]:
    """Break routes in two nodes at once; return what was done, and the intervals that were found.

    `r1` drops what is for `r2`'s loopback. `r2` sends what is for `b` back to `r1`, or drops it.
    """
    drawn = random.Random(count)
    to_r2 = lab.plan.nodes["r2"].loopback(4)
    to_b = address(lab, "b", "far")
    assert to_r2 is not None
    gateway = {node: address(lab, node, "middle") for node in ("r1", "r2")}
    # A route of its own for each destination: nothing else changes by it.
    said(lab, "r1", "ip", "route", "add", f"{to_b}/32", "via", gateway["r2"])
    said(lab, "r2", "ip", "route", "add", f"{to_b}/32", "dev", "far")
    said(lab, "r1", "ip", "route", "replace", f"{to_r2}/32", "via", gateway["r2"])
    observer.settled(QUIET_S, 5)
    lengths = [LENGTHS_S[n % 3] for n in range(count // 2)]
    drawn.shuffle(lengths)
    kinds = [("loop", "r1") if n % 2 else ("black hole", "") for n in range(len(lengths))]
    plans = {
        "r1": [(to_r2, gateway["r2"], "", length, "black hole", {"r1"}) for length in lengths],
        "r2": [
            (to_b, "far", gateway.get(other, ""), length, kind, {"r1", "r2"} if other else {"r2"})
            for (kind, other), length in zip(kinds, lengths, strict=True)
        ],
    }
    roads = wiring(lab.plan, ["r1", "r2"])
    fates = Fates(observer.tables, roads, [to_r2, to_b])
    sessions = {}
    for node, plan in plans.items():
        steps = [(f"{to}/32", right, other, length) for to, right, other, length, *_ in plan]
        argv = [sys.executable, str(SCRIPT), "break", json.dumps(steps)]
        sessions[node] = subprocess.Popen(
            ["nsenter", f"--net=/proc/{lab.pid(lab.agent_name(node))}/ns/net", *argv],
            stdout=subprocess.PIPE,
            text=True,
        )
    changes: list[Change] = []
    while any(each.poll() is None for each in sessions.values()):
        changes += observer.changes(0.1)
    changes += observer.settled(QUIET_S, 5)
    done = []
    for node, plan in plans.items():
        process = sessions[node]
        assert process.stdout is not None
        times = json.load(process.stdout)
        assert process.wait() == 0
        for (to, _, _, _, kind, nodes), (a, b, c, d) in zip(plan, times, strict=True):
            done.append(Broken(kind, frozenset(nodes), to, (a, b), (c, d)))
    fates.take(changes)
    return done, fates.intervals()


def test_black_holes_and_loops_of_known_times_are_found() -> None:
    """200 of them: `test_nearly_all_…`. Here other work may hold up one change or the other."""
    with temporary(lab_of(CHAIN)) as lab, observing(lab) as observer:
        done, found = broken_routes(lab, observer, 12)
        assert len(done) == len([each for each in found if each.length_ns is not None]) == 12
        assert sum(each.is_found_in(found) for each in done) >= 10
        assert observer.lost == []


@pytest.mark.slow
def test_nearly_all_of_many_black_holes_and_loops_are_found_to_the_millisecond() -> None:
    with temporary(lab_of(CHAIN)) as lab, observing(lab) as observer:
        done, found = broken_routes(lab, observer, 200)
        right = sum(each.is_found_in(found) for each in done)
        print(f"{right} of {len(done)} black holes and loops found, begin and end within 1 ms")
        assert right >= 0.99 * len(done)
        assert {each.kind for each in done} == {"loop", "black hole"}


FLOOD = 8_000
LAST = "10.199.0.1/32"
"""The route that the script adds after a flood."""


def flooded(lab: LiveLab, node: str, count: int) -> None:
    said(lab, node, sys.executable, str(SCRIPT), "flood", "near", str(count))


def until_last(observer: Observer) -> list[Change]:
    """Return the changes up to the last one of a flood; other work may hold up the observer."""
    changes: list[Change] = []
    deadline = time.monotonic() + 60
    while LAST not in observer.tables["r1"]:
        assert time.monotonic() < deadline, f"{len(changes)} changes have come"
        changes += observer.changes(10)
    return changes


def of_flood(changes: list[Change]) -> int:
    """Count the changes of the flood's routes."""
    return sum(isinstance(each, TableChange) and each.prefix.endswith("/32") for each in changes)


def test_a_flood_is_seen_whole_or_marked() -> None:
    with temporary(lab_of(CHAIN)) as lab, observing(lab) as observer:
        flooded(lab, "r1", FLOOD)
        changes = until_last(observer)
        assert of_flood(changes) == FLOOD + 1 or observer.lost
        assert observer.tables == everywhere(lab)


@pytest.mark.slow
def test_an_observation_may_begin_in_the_middle_of_changes() -> None:
    """Tables that are read and changes that are heard meanwhile make the kernel's tables."""
    with temporary(lab_of(CHAIN)) as lab, ThreadPoolExecutor(1) as thread:
        flood = thread.submit(flooded, lab, "r1", 10 * FLOOD)
        wait_until(lambda: "10.200." in said(lab, "r1", "ip", "route", "show", "10.200.0.0/32"))
        with observing(lab) as observer:
            if LAST in observer.tables["r1"]:
                pytest.skip("the changes were over before the observation began")
            until_last(observer)
            flood.result()
            assert observer.tables == everywhere(lab)


def of_monitor(lines: IO[str]) -> int:
    return sum("dev near" in line for line in lines)


@pytest.mark.slow
def test_what_ip_monitor_misses_of_a_flood_the_observer_sees() -> None:
    """`ip -ts monitor all-nsid` runs beside it, in the namespace where all happens."""
    count = 80_000
    with temporary(lab_of(CHAIN)) as lab, observing(lab) as observer:
        inside = f"--net=/proc/{lab.pid(lab.agent_name('r1'))}/ns/net"
        monitor = ["nsenter", inside, "ip", "-ts", "monitor", "all-nsid", "route"]
        with subprocess.Popen(monitor, stdout=subprocess.PIPE, text=True) as beside:
            assert beside.stdout is not None
            sockets = Path(f"/proc/{beside.pid}/net/netlink")
            wait_until(lambda: f" {beside.pid} " in sockets.read_text())
            with ThreadPoolExecutor(1) as thread:
                lines = thread.submit(of_monitor, beside.stdout)
                flooded(lab, "r1", count)
                changes = until_last(observer)
                beside.terminate()
                theirs = lines.result()
        ours = of_flood(changes)
        print(f"{count + 1} changes: {ours} seen, lost {len(observer.lost)} times;", end=" ")
        print(f"`ip -ts monitor all-nsid` showed {theirs}")
        assert observer.tables == everywhere(lab)
        assert ours == count + 1 or observer.lost
        assert ours >= theirs


def test_lost_messages_are_marked_and_the_tables_are_right_afterwards() -> None:
    """The kernel has room for a message or two, and the observer stands still for a while."""
    with temporary(lab_of(CHAIN)) as lab:
        before = set(observers())
        with observing(lab, room_bytes=1) as observer:
            (pid,) = set(observers()) - before
            os.kill(pid, signal.SIGSTOP)
            flooded(lab, "r1", FLOOD)
            os.kill(pid, signal.SIGCONT)
            changes = until_last(observer)
            tables = everywhere(lab)
        assert of_flood(changes) < FLOOD
        assert {each.node for each in observer.lost} == {"r1"}
        assert set(observer.lost) <= set(changes)
        assert observer.tables == tables


@pytest.mark.parametrize("kind", ["lxc", *left_to_slow("docker", "uml", "qemu")])
def test_a_node_of_any_kind_is_observed(kind: str) -> None:
    skip_unless_runnable(kind)
    # Not all kinds have IPv6.
    text = CHAIN.replace("ip: [4, 6]", "")
    text = text.replace("r1: {forwards: true}", f"r1: {{forwards: true, kind: {kind}}}")
    with temporary(lab_of(text)) as lab, observing(lab) as observer:
        assert observer.tables == everywhere(lab)
        began_ns = time.time_ns()
        said(lab, "r1", "ip", "route", "add", "10.9.0.0/16", "dev", "near")
        ended_ns = time.time_ns()
        (change,) = observer.settled(QUIET_S, 10)
        apart = observer.bounds.get("r1", 0)
        assert (change.node, apart > 0) == ("r1", kind in {"uml", "qemu"})
        assert began_ns - apart - WITHIN_NS <= change.at_ns <= ended_ns + apart + WITHIN_NS
        assert observer.tables == everywhere(lab)
