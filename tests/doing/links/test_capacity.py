"""Links that leave a host by one interface share its rate; with `across` all traffic leaves."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path

import polars as pl
import pytest

from delaylab.agent.wire.measuring import Counters
from delaylab.lab.links import interfaces
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data
from delaylab_study.loads import running as loaded
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.loads import LoadSpec
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.measure import measure
from delaylab_study.trial.recording import Recording
from tests.doing.conftest import Run, Up, as_json, our_processes
from tests.stamped import column, packets
from tests.waiting import wait_until

pytestmark = pytest.mark.root

RATE = 4e6
SIZE, CHECK_SEQUENCE = 1000, 4
CARRIED_PER_S = RATE / 8 / (SIZE - CHECK_SEQUENCE)
"""Frames of a load that an interface carries: 502 each second."""
SENT_PER_S = 900
PART = 0.1
"""The part by which a measured rate may differ from the interface's."""
QUEUE = 10
WAIT_NS = QUEUE * 1514 * 8 / RATE * 1e9
"""The time that a frame waits in a full queue: 30 ms."""
INTERFACE = {"rate": "4Mbit", "queue": QUEUE}
ENOUGH = 1000
"""Frames that are counted: two seconds of an interface."""
RECEIVERS = {"c": ("d", "one"), "e": ("f", "two")}
"""The node and the link to which each load sends."""


def lab(two: str, queue: int = QUEUE) -> Lab:
    """Return three links from h1 to h2; `probe` and `one` leave by eth1, the third by `two`."""
    interface = {"rate": "4Mbit", "queue": queue}
    return lab_from_data(
        {
            "lab": "capacity",
            "hosts": {"h1": {"interfaces": {"eth1": interface, "eth2": interface}}, "h2": {}},
            "nodes": {
                **{name: {"host": "h1"} for name in ("a", "c", "e")},
                **{name: {"host": "h2"} for name in ("b", "d", "f")},
            },
            "links": [
                {"between": ["a", "b"], "name": "probe", "interfaces": {"h1": "eth1"}},
                {"between": ["c", "d"], "name": "one", "interfaces": {"h1": "eth1"}},
                {"join": ["e", "f"], "name": "two", "interfaces": {"h1": two}, "delay": "1ms"},
            ],
        }
    )


def across() -> Lab:
    """Return two links on one host, whose traffic leaves it; `wan` has a delay."""
    return lab_from_data(
        {
            "lab": "across",
            "hosts": {
                "h1": {"interfaces": {"eth1": INTERFACE, "eth2": INTERFACE}, "across": "always"}
            },
            "nodes": {name: {} for name in ("a", "b", "c", "d")},
            "links": [
                {"between": ["a", "b"], "name": "wan", "delay": "5ms"},
                {"between": ["c", "d"], "name": "plain"},
            ],
        }
    )


def load(on: str, to: str) -> LoadSpec:
    return LoadSpec.model_validate({"frames": SENT_PER_S, "size": SIZE, "on": on, "to": to})


def trial(spec: Lab, *loads: LoadSpec, **probe: object) -> Recording:
    with temporary(spec, accounting=False) as running:
        return trial_on(running, *loads, **probe)


def trial_on(running: LiveLab, *loads: LoadSpec, **probe: object) -> Recording:
    asked = {"from": "a", "to": "b", "count": 100, "interval": "20ms", "at_rest": 20, **probe}
    probed = ProbeSpec.model_validate({"late": "1s", **asked})
    return measure(running, Combination({}, running.spec, loads, probed), probe_id=9)


def arrived_per_s(two: str, *senders: str) -> dict[str, float]:
    """Return the frames that arrived each second while all loads ran, by the node that sent them.

    The queue is long, and counting begins when it is full: a sender that a busy machine holds up
    for less than 2 s leaves no gap at the interface.
    """
    used = {"c": "eth1", "e": two}
    spec = lab(two, queue=1000)
    loads = tuple(load(each, RECEIVERS[each][0]) for each in senders)
    with temporary(spec, accounting=False) as running, loaded(running, loads):
        sessions = {each: running.session(f"node.{RECEIVERS[each][0]}") for each in senders}

        def received(sender: str) -> tuple[int, int]:
            """Return how many of a sender's packets have come, and when that was (ns)."""
            found = sessions[sender].call(Counters()).done
            return found.interfaces[RECEIVERS[sender][1]].rx_packets, found.time_ns

        def full() -> bool:
            states = of_interfaces(running)
            return all(states[used[each], "out"].dropped for each in senders)

        wait_until(full)
        first = {each: received(each) for each in senders}
        now = dict(first)

        def enough() -> bool:
            now.update({each: received(each) for each in senders})
            return sum(now[each][0] - first[each][0] for each in senders) >= ENOUGH

        wait_until(enough)
    return {
        each: (now[each][0] - first[each][0]) / (now[each][1] - first[each][1]) * 1e9
        for each in senders
    }


def medians_ns(done: Recording, leg: str) -> dict[tuple[str, str], float]:
    """Return the median time under load between each two neighbouring points of a leg."""
    way = done.record.way
    table = packets(done.stamps, done.probes, way).filter(pl.col("phase") == "load")
    points = way.request if leg == "request" else way.reply
    found = {}
    for start, end in itertools.pairwise(points):
        passed = (table[column(leg, end)] - table[column(leg, start)]).drop_nulls()
        assert len(passed) > 10, (start, end)
        found[start, end] = float(passed.median())  # type: ignore[arg-type]  # there are some
    return found


def test_links_by_one_interface_share_its_rate_and_others_do_not() -> None:
    alone = arrived_per_s("eth2", "c")["c"]
    assert abs(alone / CARRIED_PER_S - 1) < PART
    one = arrived_per_s("eth1", "c", "e")
    assert abs(sum(one.values()) / alone - 1) < PART, one
    assert min(one.values()) > PART * alone, one
    two = arrived_per_s("eth2", "c", "e")
    assert abs(two["c"] / alone - 1) < PART
    assert abs(two["e"] / alone - 1) < PART


def test_frames_that_an_interface_drops_are_counted_where_they_were_dropped() -> None:
    """Every frame of the load that leaves `h1` and does not arrive was dropped at its interface."""
    with temporary(lab("eth2"), accounting=False) as running:
        before = of_interfaces(running)
        assert before.keys() == {("eth1", "out"), ("eth1", "in"), ("eth2", "out"), ("eth2", "in")}
        done = trial_on(running, load("c", "d"), at_rest=0)
        after = of_interfaces(running)
        one_link = [(each.interface, each.way) for each in interfaces.reports(running, "one")]
    (flow,) = done.record.loads[0].flows
    lost = flow.sent - flow.received
    dropped = {each: after[each].dropped - before[each].dropped for each in after}
    assert lost > flow.sent / 4
    # Packets of the probe, and what their stacks ask for, share the queue.
    assert lost <= dropped["eth1", "out"] <= lost + 2 * len(done.probes)
    assert {way: count for way, count in dropped.items() if count} == {
        ("eth1", "out"): dropped["eth1", "out"]
    }
    passed = after["eth1", "out"].frames - before["eth1", "out"].frames
    assert passed >= flow.received
    assert after["eth1", "out"].rate_bps == RATE
    assert after["eth1", "in"].links == ("probe", "one")
    assert one_link == [("eth1", "out"), ("eth1", "in")]


def of_interfaces(running: LiveLab) -> dict[tuple[str, str], interfaces.InterfaceReport]:
    return {(each.interface, each.way): each for each in interfaces.reports(running)}


def test_what_leaves_a_host_waits_before_its_uplink() -> None:
    waited = medians_ns(trial(lab("eth2"), load("c", "d")), "request")
    queued = waited.pop(("sender.vif", "sender.uplink"))
    assert WAIT_NS / 2 < queued < WAIT_NS * (1 + PART)
    assert max(waited.values()) < queued / 4, waited


def test_what_comes_to_a_host_waits_behind_the_other_hosts_uplink() -> None:
    """Each direction has a queue of its own: only replies wait for what is sent to `h1`."""
    done = trial(lab("eth2"), load("d", "c"))
    waited = medians_ns(done, "reply")
    queued = waited.pop(("wire", "sender.uplink"))
    assert WAIT_NS / 2 < queued < WAIT_NS * (1 + PART)
    assert max(waited.values()) < queued / 4, waited
    assert max(medians_ns(done, "request").values()) < queued / 4


def test_a_probe_is_not_held_up_by_another_interface() -> None:
    waited = medians_ns(trial(lab("eth2"), load("e", "f")), "request")
    assert max(waited.values()) < WAIT_NS / 4, waited


def test_with_across_traffic_of_one_host_leaves_by_one_interface_and_comes_back_by_another() -> (
    None
):
    with temporary(across(), accounting=False) as running:
        before = counted(running)
        done = trial_on(running, count=60)
        after = counted(running)
        way = done.record.way
        assert way.request[3:-1] == [
            *("sender.vif", "sender.uplink", "wire", "responder.uplink", "responder.vif")
        ]
        assert way.reply[1:-2] == way.request[-2:2:-1]
        places = done.record.places
        assert {places[point].at for point in ("sender.uplink", "responder.uplink")} == {"host.h1"}
        assert places["wire"].at == "wire"
        # The engine delays at the source, before the packet leaves.
        ns = medians_ns(done, "request")
        assert 5e6 <= ns.pop(("sender.vif", "sender.uplink")) < 5e6 * (1 + 2 * PART)
        assert max(ns.values()) < 5e6 / 2
    sent = {name: after[name] - before[name] for name in after}
    # Requests leave by the one and replies by the other; the queue of what comes in is in the wire.
    for name in ("host.h1 eth1", "host.h1 eth2", "wire h1_eth1", "wire h1_eth2"):
        assert sent[name] >= 60, sent
    # No frame reached a node of the other link.
    assert sent["node.c plain"] == sent["node.d plain"] == 0


def counted(running: LiveLab) -> dict[str, int]:
    """Return the packets that passed interfaces' queues, and those that nodes received."""
    found: dict[str, int] = {}
    for agent in ("host.h1", "wire"):
        of = running.session(agent).call(Counters()).done.interfaces
        found |= {f"{agent} {name}": each.tx_packets for name, each in of.items() if "eth" in name}
    for node in ("c", "d"):
        of = running.session(f"node.{node}").call(Counters()).done.interfaces
        found[f"node.{node} plain"] = of["plain"].rx_packets
    return found


FILE = """\
lab: capacity
hosts:
  h1: {interfaces: {eth1: 4Mbit, eth2: 4Mbit}, across: always}
  h2: {interfaces: {eth1: 4Mbit}}
nodes: {a: {host: h1}, b: {host: h1}, c: {host: h2}}
links: [{join: [a, b, c], name: lan, delay: 1ms}, {between: [a, b], name: two}]
"""


def test_the_lab_has_the_queues_of_its_plan(delaylab: Run, up: Up) -> None:
    up(FILE)
    for pair in (("a", "b"), ("b", "c"), ("c", "a")):
        delaylab("exec", pair[0], "--", "ping", "-c", "1", "-W", "5", pair[1])
    for agent, name, of in (
        ("host.h1", "eth1", "uplink.two.a"),
        ("wire", "h2_eth1", "h2.lan"),
    ):
        said = delaylab("exec", agent, "--", "tc", "qdisc", "show", "dev", name).stdout
        assert said.startswith("qdisc tbf")
        assert "rate 4Mbit" in said
        shown = delaylab("exec", agent, "--", "tc", "filter", "show", "dev", of).stdout
        assert f"Egress Redirect to device {name}" in shown


def test_link_show_prints_the_interfaces_of_hosts(delaylab: Run, up: Up) -> None:
    up(FILE)
    delaylab("exec", "a", "--", "ping", "-c", "3", "-W", "5", "c")
    found = as_json(delaylab("link", "show", "--json"))["interfaces"]
    ways = {(each["host"], each["interface"], each["way"]): each for each in found}
    assert ways.keys() == {
        (host, name, way)
        for host, name in (("h1", "eth1"), ("h1", "eth2"), ("h2", "eth1"))
        for way in ("out", "in")
    }
    assert ways["h2", "eth1", "in"]["frames"] >= 3
    assert ways["h2", "eth1", "in"]["rate_bps"] == 4_000_000
    assert {each["dropped"] for each in found} == {0}
    text = delaylab("link", "show").stdout
    assert "eth2       h1    out  4 Mbit/s" in text


@pytest.mark.parametrize("victim", ["keeper", "host"])
def test_a_killed_lab_leaves_nothing(
    delaylab: Run, tmp_path: Path, run_directory: Path, victim: str
) -> None:
    (tmp_path / "lab.yaml").write_text(FILE)
    made = as_json(delaylab("up", str(tmp_path / "lab.yaml"), "--json"))
    os.kill(made["keeper"] if victim == "keeper" else made["hosts"][0]["pid"], signal.SIGKILL)
    delaylab("down", "--all")
    wait_until(lambda: not our_processes(str(run_directory)))
    assert list(run_directory.iterdir()) == []


def test_an_ordinary_user_has_interfaces_too(nobody: Run, tmp_path: Path) -> None:
    path = tmp_path / "lab.yaml"
    path.write_text(FILE)
    nobody("up", str(path))
    nobody("exec", "a", "--", "ping", "-c", "1", "-W", "5", "c")
    shown = nobody("exec", "wire", "--", "tc", "-s", "qdisc", "show", "dev", "h2_eth1").stdout
    assert "rate 4Mbit" in shown
    nobody("down", "--all")
