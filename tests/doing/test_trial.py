"""One trial at a time: every protocol and address family on every kind."""

from __future__ import annotations

import itertools

import pytest

from delaylab.analysis.packets.segments import columns, packets
from delaylab.spec.combine import Combination
from delaylab.spec.lab import LabSpec
from delaylab.spec.study import ProbeSpec
from delaylab.trial.measure import run

pytestmark = pytest.mark.root


@pytest.mark.parametrize("kind", ["native", "shared", "netns"])
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("protocol", ["icmp", "udp", "tcp", "http"])
def test_every_packet_is_seen_at_every_point(kind: str, version: int, protocol: str) -> None:
    lab = LabSpec.model_validate(
        {
            "lab": "every",
            "ip": [4, 6],
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
            "late": "200ms",
        }
    )
    recording = run(Combination({}, lab, (), probe), probe_id=3)
    path = recording.record.path
    table = packets(recording.stamps, recording.probes, path)
    assert table["outcome"].to_list() == ["replied"] * 30
    seen = {name: 30 - table[name].null_count() for name in columns(path)}
    assert set(seen.values()) == {30}, seen
    points = [table[name] for name in columns(path)]
    for earlier, later in itertools.pairwise(points):
        assert ((later - earlier) >= 0).all(), (earlier.name, later.name)
