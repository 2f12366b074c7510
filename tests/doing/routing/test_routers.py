"""Probes and frames over nodes that forward, on real packets."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from delaylab.lab.start import temporary
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.resolve.resolve import lab_from_data
from delaylab.spec.source import parse
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.loads import LoadSpec
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.measure import measure
from delaylab_study.trial.recording import Recording
from tests.stamped import column, packets

pytestmark = pytest.mark.root
COUNT = 100
"""Packets of each probe under load."""
DELAY_NS, STAMP_NS = 5_000_000, 1_000
PART = 0.1
"""The share of the delay by which its segment may differ; no other segment is as long."""


FAN = """
lab: fan
hosts: {one: {}}
nodes: {a: {}, b: {}, router: {forwards: true, count: 3}}
links:
  - {between: [a, router], name: in}
  - {between: [router, b], name: out}
"""


def chain(hosts: dict[str, str], kinds: dict[str, str] | None = None) -> Lab:
    """a - r1 - r2 - b: 5 ms from r1 to r2."""
    kind = kinds or {}
    forwards = {"r1": {"forwards": True}, "r2": {"forwards": True}}
    nodes = {
        name: {"kind": kind.get(name, "netns"), "host": hosts[name], **forwards.get(name, {})}
        for name in ("a", "r1", "r2", "b")
    }
    return lab_from_data(
        {
            "lab": "chain",
            "hosts": {name: {} for name in dict.fromkeys(hosts.values())},
            "ip": [4, 6],
            "nodes": nodes,
            "links": [
                {"between": ["a", "r1"], "name": "near"},
                {"between": ["r1", "r2"], "name": "wan", "from": {"r1": {"delay": "5ms"}}},
                {"join": ["r2", "b"], "name": "far"},
            ],
        }
    )


def trial(spec: Lab, *loads: LoadSpec, **probe: object) -> Recording:
    asked = {"from": "a", "to": "b", "count": COUNT, "interval": "2ms", "at_rest": 2, **probe}
    with temporary(spec, accounting=False) as running:
        probed = ProbeSpec.model_validate(asked)
        return measure(running, Combination({}, spec, loads, probed), probe_id=9)


def one_way_ns(recording: Recording, leg: str, start: str, end: str) -> NDArray[np.int64]:
    """Delays of the packets under load from one point to the next."""
    path = recording.record.way
    table = packets(recording.stamps, recording.probes, path).filter(pl.col("phase") == "load")
    return (table[column(leg, end)] - table[column(leg, start)]).drop_nulls().to_numpy()


@pytest.mark.parametrize(
    ("hosts", "kinds", "probe"),
    [
        (dict.fromkeys(("a", "r1", "r2", "b"), "one"), {}, {}),
        (dict.fromkeys(("a", "r1", "r2", "b"), "one"), {}, {"ip": 6, "protocol": "udp"}),
        ({"a": "one", "r1": "one", "r2": "two", "b": "two"}, {}, {"protocol": "udp"}),
        ({"a": "one", "r1": "one", "r2": "two", "b": "two"}, {"r2": "native"}, {}),
        (dict.fromkeys(("a", "r1", "r2", "b"), "one"), {"r1": "shared"}, {}),
    ],
)
def test_packets_over_routers_are_seen_on_both_sides_of_each(
    hosts: dict[str, str], kinds: dict[str, str], probe: dict[str, object]
) -> None:
    done = trial(chain(hosts, kinds), **probe)
    path = done.record.way
    seen = done.stamps.group_by("leg", "point").len()
    assert set(done.probes["outcome"]) == {"replied"}
    for leg, points in (("request", path.request), ("reply", path.reply)):
        for point in points:
            (count,) = seen.filter(leg=leg, point=point)["len"]
            # At rest, before the taps were on, a packet may have no stamp of theirs.
            assert count >= COUNT, (leg, point)
    assert set(done.record.places) == {*path.request, *path.reply}
    for point, at in done.record.places.items():
        assert at.at.partition(".")[0] in ("node", "host", "wire"), point
        is_tap = any(tap.point == point for tap in done.record.taps)
        assert (at.interface is not None) == is_tap, point
    request = one_way_ns(done, "request", "r1@wan", "r2@wan")
    # The least is that of the packet that waited least for a CPU.
    assert DELAY_NS - STAMP_NS <= request.min() < DELAY_NS * (1 + PART)
    assert one_way_ns(done, "reply", "r2@wan", "r1@wan").min() < DELAY_NS * PART


def test_uplinks_and_wires_between_routers_are_points_of_the_way() -> None:
    hosts = {"a": "one", "r1": "two", "r2": "one", "b": "two"}
    done = trial(chain(hosts))
    assert done.record.way.request[3:] == [
        *("sender.vif", "sender.uplink", "r1@near.wire", "r1@near.uplink", "r1@near"),
        *("r1@wan", "r1@wan.uplink", "r2@wan.wire", "r2@wan.uplink", "r2@wan"),
        *("r2@far", "r2@far.uplink", "wire", "responder.uplink", "responder.vif"),
        "responder.stack",
    ]
    assert done.record.way.reply[-3::-1] == done.record.way.request[3:]
    # The engine of the router's host delays what leaves by its uplink; the wire takes no time.
    request = one_way_ns(done, "request", "r1@wan", "r1@wan.uplink")
    assert DELAY_NS - STAMP_NS <= request.min() < DELAY_NS * (1 + PART)
    assert one_way_ns(done, "request", "r1@wan.uplink", "r2@wan").min() < DELAY_NS * PART
    places = done.record.places
    assert (places["r1@wan.uplink"].at, places["r2@wan.uplink"].at) == ("host.two", "host.one")
    assert places["r1@near.wire"].at == "wire"


def test_bulk_tcp_goes_over_routers() -> None:
    load = LoadSpec.model_validate({"network": "send", "on": "a", "to": "b"})
    done = trial(chain(dict.fromkeys(("a", "r1", "r2", "b"), "one")), load)
    (ran,) = done.record.loads
    assert ran.achieved["sent_bps"] > 1e6


def test_frames_over_each_of_many_routers_are_counted_by_link() -> None:
    spec = lab_from(parse(FAN, "fan.yaml"))
    links = ["out-1", "out-2", "out-3"]
    frames = {"frames": 3000, "size": 64, "on": "a", "to": "b", "over": links}
    done = trial(spec, LoadSpec.model_validate(frames), over="out-2")
    (load,) = done.record.loads
    assert [flow.link for flow in load.flows] == links
    assert sum(flow.sent for flow in load.flows) == load.achieved["sent"]
    # Neither the probe's packets over one of them nor many of anyone else's are counted.
    assert all(abs(flow.received - flow.sent) <= 3 for flow in load.flows)
