"""The schedule of `watch`, by its own samples and a clock of this test."""

from __future__ import annotations

import time

import polars as pl

from tests.packets.agents import Pair

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
