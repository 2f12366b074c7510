"""One trial at a time: every protocol and address family on every kind."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl
import pytest

from delaylab.lab.running import LiveLab
from delaylab.resolve.resolve import lab_from_data
from delaylab_study import loads
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.probe import ProbeSpec
from tests.doing.conftest import measured
from tests.stamped import columns, packets

pytestmark = pytest.mark.root


@pytest.mark.parametrize("kind", ["native", "shared", "netns"])
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("protocol", ["icmp", "udp", "tcp", "http"])
def test_every_packet_is_seen_at_every_point(kind: str, version: int, protocol: str) -> None:
    lab = lab_from_data(
        {
            "lab": "every",
            "ip": [4, 6],
            "sysctls": {"net.ipv4.tcp_congestion_control": "reno"},
            "hosts": {"sut": {"uplink": {"rate": "1Gbit"}}, "target": {}},
            "nodes": {
                "probe": {"kind": kind, "host": "sut"},
                "echo": {"kind": kind, "host": "target"},
            },
            "links": [{"join": ["probe", "echo"], "name": "lan"}],
        }
    )
    probe = ProbeSpec.model_validate(
        {
            "from": "probe",
            "to": "echo",
            "protocol": protocol,
            "ip": version,
            "count": 30,
            "interval": "2ms",
            "at_rest": 0,
            "late": "2s",
        }
    )
    recording = measured(Combination({}, lab, (), probe), probe_id=3)
    assert recording.record.tcp_congestion_control == "reno"
    path = recording.record.way
    table = packets(recording.stamps, recording.probes, path)
    assert table["outcome"].to_list() == ["replied"] * 30
    seen = {name: 30 - table[name].null_count() for name in columns(path)}
    assert set(seen.values()) == {30}, seen
    points = [table[name] for name in columns(path)]
    for earlier, later in itertools.pairwise(points):
        assert ((later - earlier) >= 0).all(), (earlier.name, later.name)


def over_uplinks(**probe: object) -> Combination:
    """A trial between two hosts whose uplinks have no queue."""
    lab = lab_from_data(
        {
            "lab": "uplinks",
            "hosts": {"sut": {}, "target": {}},
            "nodes": {"probe": {"host": "sut"}, "echo": {"host": "target"}},
            "links": [{"join": ["probe", "echo"], "name": "lan"}],
        }
    )
    given = {"from": "probe", "to": "echo", "count": 20, "interval": "2ms", "late": "2s"}
    return Combination({}, lab, (), ProbeSpec.model_validate(given | probe))


def test_at_rest_the_taps_are_off_and_on_by_turns() -> None:
    recording = measured(over_uplinks(at_rest=20), probe_id=4)
    blocks = recording.record.rest_blocks
    assert sum(block.packets for block in blocks if block.tapped) == 20
    assert len(blocks) == 12
    table = packets(recording.stamps, recording.probes, recording.record.way)
    assert table["outcome"].to_list() == ["replied"] * (3 * 20 + 20)
    for block in blocks:
        mine = table.filter(
            pl.col("seq").is_between(block.first_seq, block.first_seq + block.packets - 1)
        )
        assert mine["phase"].to_list() == ["before" if block.tapped else "untapped"] * block.packets
        for tapped in ("request sender.uplink", "request wire", "reply sender.vif"):
            assert mine[tapped].null_count() == (0 if block.tapped else block.packets), tapped
        assert mine["request sender.stack"].null_count() == 0
    after = table.filter(pl.col("phase").is_in(["load", "after"]))
    assert len(after) == 40
    assert after["reply wire"].null_count() == 0


def test_a_queue_that_appears_on_an_uplink_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    really = loads.running

    @contextmanager
    def with_a_queue(lab: LiveLab, *rest: Any) -> Iterator[loads.RunningLoads]:
        queue = "tc qdisc add dev uplink.lan root tbf rate 100mbit burst 16000 limit 100000"
        enter = ["nsenter", "--target", str(lab.pid("host.sut")), "--net"]
        subprocess.run([*enter, *queue.split()], check=True)
        with really(lab, *rest) as load:
            yield load

    monkeypatch.setattr(loads, "running", with_a_queue)
    record = measured(over_uplinks(at_rest=0), probe_id=5).record
    queues = {tap.point: (tap.queue, tap.queue_after, tap.queue_changed) for tap in record.taps}
    assert queues.pop("sender.uplink") == ("noqueue", "tbf", True)
    assert set(queues.values()) == {("noqueue", "noqueue", False)}
