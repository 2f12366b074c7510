"""The schedule of `watch`, by its own samples and a clock of this test."""

from __future__ import annotations

import os
import time

import polars as pl

from delaylab.agent.table_schemas import SCHEMAS
from delaylab_study.trial.frames import decode
from tests.hogging import hogging
from tests.packets.agents import TABLE, Pair

INTERVAL_NS = 20_000_000
LONG_S = 0.3
METRICS = {"cpu0.NET_RX", "lo.rx_bytes", "Icmp.OutErrors"}


def test_it_keeps_its_schedule_and_names_its_metrics(joined: Pair) -> None:
    """Every time of the schedule is a sample or counted as missed, however busy the machine is."""
    with joined.agent(joined.left) as agent:
        places = [{"name": "here", "pid": agent.process.pid}]
        before_ns = time.monotonic_ns()
        began = agent.start({"op": "watch", "interval_ns": INTERVAL_NS, "places": places})
        time.sleep(LONG_S)  # the time itself is under test
        answer = agent.stop()
        long_ns = time.monotonic_ns() - before_ns
    assert began == {"ready": True}
    assert answer.done is not None
    hosts = answer.tables["hosts"]
    times = hosts["time_ns"].unique().sort()
    assert answer.done["samples"] == len(times) > 0
    due = answer.done["samples"] + answer.done["missed"]
    assert (times[-1] - times[0]) // INTERVAL_NS < due <= long_ns // INTERVAL_NS
    assert set(hosts["metric"]) > METRICS
    assert set(hosts.filter(pl.col("metric") == "lo.rx_bytes")["place"]) == {"here"}
    assert set(hosts.filter(pl.col("metric") == "cpu0.NET_RX")["place"]) == {"machine"}


def test_a_brief_watch_covers_all_of_its_time_and_leaves_out_who_asks(joined: Pair) -> None:
    """All CPUs are one, the programs of a process that is left out are not named."""
    name, found = f"hog-{os.getpid()}", {}
    with joined.agent(joined.left) as agent, hogging(name, max(os.sched_getaffinity(0))):
        for without in (None, os.getpid()):
            asked = {
                "op": "watch",
                "interval_ns": 10**11,
                "brief": True,
                "without_process": without,
            }
            before_ns = time.time_ns()
            agent.start(asked)
            time.sleep(LONG_S)  # the time itself is under test
            hosts = agent.stop().tables["hosts"]
            times = hosts["time_ns"].unique().sort()
            assert len(times) == 2
            assert before_ns < times[0] < times[1] < time.time_ns()
            assert times[1] - times[0] > LONG_S * 1e9 * 0.9
            found[without] = {each.split(".", 2)[-1] for each in hosts["metric"]}
    assert {"cpu.idle", "processes"} < set(hosts["metric"])
    assert not [each for each in hosts["metric"] if each.startswith(("cpu0", "group."))]
    assert name in found[None] - found[os.getpid()]


def test_a_watch_with_parts_sends_each_sample_at_once(joined: Pair) -> None:
    """The samples come while it runs, in their order, and none of them twice."""
    with joined.agent(joined.left) as agent:
        asked = {"op": "watch", "interval_ns": INTERVAL_NS, "brief": True, "parts_ns": 1}
        agent.start(asked)
        parts = [agent.frame() for _ in range(3)]
        rest = agent.stop()
    assert [kind for kind, _ in parts] == [TABLE] * 3
    tables = [decode(SCHEMAS["hosts"], part[1 + part[0] :]) for _, part in parts]
    times = [set(each["time_ns"]) for each in (*tables, rest.tables["hosts"])]
    known = [time for part in times for time in sorted(part)]
    assert known == sorted(set(known))
    # The first part has the sample at the beginning, too.
    assert [len(each) for each in times[:3]] == [2, 1, 1]
    assert rest.done is not None
    assert rest.done["samples"] == len(known)
