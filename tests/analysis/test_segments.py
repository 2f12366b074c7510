"""Segments sum to the round trip, and a delay is found where it was put."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delaylab_study.analysis.clocks.stations import Station
from delaylab_study.analysis.packets import layers, segments
from delaylab_study.dataset.records.ways import Way
from tests import stamped, synthetic
from tests.synthetic import Clock, Condition, constant, lognormal

STATIONS = Condition().stations()
INNER = STATIONS[1:-1]


def way(condition: Condition) -> Way:
    return Way.model_validate(synthetic.trial(condition, 0)["ways"][0])


def table(condition: Condition) -> pl.DataFrame:
    return stamped.packets(*synthetic.tables(condition), way(condition))


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    environment=st.sampled_from(["native", "shared", "netns"]),
    unseen=st.lists(st.tuples(st.integers(0, 29), st.sampled_from(INNER)), max_size=40),
    lost=st.dictionaries(st.integers(0, 29), st.sampled_from(STATIONS[:-1]), max_size=5),
)
def test_segments_sum_to_each_packets_rtt_to_the_nanosecond(
    seed: int,
    environment: str,
    unseen: list[tuple[int, tuple[str, str]]],
    lost: dict[int, tuple[str, str]],
) -> None:
    condition = Condition(
        environment,
        packets=30,
        seed=seed,
        default=lognormal(50, 2),
        unseen=[(seq, *station) for seq, station in unseen],
        lost_after=lost,
    )
    in_host_stack = [] if environment == "netns" else ["sender"]
    whole = stamped.narrow(table(condition)).complete(way(condition))
    total = np.zeros(len(whole), dtype=np.int64)
    for part in segments.segments(whole, way(condition), in_host_stack):
        np.add.at(total, part.rows, part.delay_ns)
    rtt = whole.between(Station("request", "sender.app"), Station("reply", "sender.app"))
    assert rtt is not None
    assert total.tolist() == rtt.to_list()
    known = set(condition.stations())
    assert len(whole) == 30 - sum(station in known for station in lost.values())


@pytest.mark.parametrize("station", STATIONS[1:])
@pytest.mark.parametrize("us", [1000, 5000])
def test_a_delay_is_found_in_its_segment_and_nowhere_else(
    station: tuple[str, str], us: int
) -> None:
    condition = Condition(default=constant(4), delays={station: constant(us)})
    found = stamped.segments(table(condition), way(condition))
    medians = {(part.start, part.end, part.leg): np.median(part.delay_ns) for part in found}
    before = STATIONS[STATIONS.index(station) - 1]
    leg = station[0] if before[0] == station[0] else "turn"
    assert medians.pop((before[1], station[1], leg)) == us * 1000
    assert set(medians.values()) == {4000}
    assert not any(part.merged for part in found)


def test_an_unseen_stamp_merges_two_segments_for_that_packet_only() -> None:
    condition = Condition(packets=10, unseen=[(4, "request", "sender.vif")], default=constant(7))
    found = stamped.segments(table(condition), way(condition))
    merged = [part for part in found if part.merged]
    assert [(m.start, m.end, m.rows.tolist()) for m in merged] == [
        ("sender.stack", "sender.uplink", [4])
    ]
    assert merged[0].layer == "virtual interface + bridge and uplink queue"
    assert merged[0].direction == "sending"
    assert merged[0].delay_ns.tolist() == [14_000]
    split = next(part for part in found if part.end == "sender.vif" and part.leg == "request")
    assert 4 not in split.rows


def test_stamps_of_a_clock_that_cannot_be_aligned_are_not_subtracted() -> None:
    runs_off = Clock("realtime@other", drift=0.002)
    condition = Condition(packets=50, clocks={"wire": runs_off})
    found, alignment = segments.aligned(*synthetic.tables(condition), way(condition))
    wire = found.stations[Station("request", "wire")]
    assert wire.times.null_count() == 50
    assert found.stations[Station("request", "sender.vif")].times.null_count() == 0
    assert "ppm" in alignment.hops[0].fit.why
    assert wire.as_stamped.null_count() == 0


def test_a_packet_seen_twice_counts_with_its_first_stamp() -> None:
    condition = Condition(packets=3)
    stamps, probes = synthetic.tables(condition)
    again = stamps.with_columns(pl.col("time_ns") + 10_000)
    assert stamped.packets(pl.concat([again, stamps]), probes, way(condition)).equals(
        stamped.packets(stamps, probes, way(condition))
    )


@pytest.mark.parametrize(
    ("leg", "start", "end", "layer", "direction"),
    [
        ("request", "sender.app", "sender.qdisc", "user space to kernel", "sending"),
        ("request", "sender.vif", "sender.uplink", "bridge and uplink queue", "sending"),
        ("request", "sender.app", "sender.stack", "user space to kernel + queue", "sending"),
        ("request", "sender.uplink", "wire", "wire", "sending"),
        ("request", "wire", "responder.uplink", "wire", "remote"),
        ("request", "sender.uplink", "responder.uplink", "wire", "remote"),
        ("turn", "wire", "wire", "responder", "remote"),
        ("turn", "sender.uplink", "wire", "wire + responder", "remote"),
        ("turn", "wire", "sender.vif", "responder + wire + bridge", "remote"),
        ("reply", "wire", "sender.uplink", "wire", "receiving"),
        ("reply", "sender.uplink", "sender.vif", "bridge", "receiving"),
        ("reply", "sender.uplink", "sender.stack", "bridge + virtual interface", "receiving"),
        ("reply", "sender.stack", "sender.app", "kernel to user space", "receiving"),
        ("request", "sender.odd", "wire", "sender.odd to wire", "sending"),
        ("request", "sender.stack", "sender.dom0", "virtual interface", "sending"),
        ("request", "sender.dom0", "sender.vif", "driver domain", "sending"),
        ("reply", "sender.vif", "sender.dom0", "driver domain", "receiving"),
        ("reply", "wire", "sender.dom0", "wire + bridge + driver domain", "receiving"),
        ("reply", "sender.dom0", "sender.stack", "virtual interface", "receiving"),
        ("request", "responder.stack", "responder.socket", "network stack", "remote"),
        ("request", "responder.uplink", "responder.socket", "driver + network stack", "remote"),
        ("turn", "responder.socket", "responder.socket", "responder", "remote"),
        (
            "reply",
            "responder.socket",
            "responder.stack",
            "network stack + uplink queue + driver",
            "remote",
        ),
    ],
)
def test_layers_of_a_sender_with_a_virtual_interface(
    leg: str, start: str, end: str, layer: str, direction: str
) -> None:
    assert layers.layer(leg, start, end, ["responder"]) == layer
    assert layers.direction(leg, start, end) == direction


@pytest.mark.parametrize(
    ("leg", "start", "end", "layer"),
    [
        ("request", "sender.uplink", "sender.tunnel", "wire"),
        ("request", "sender.tunnel", "responder.tunnel", "underlay"),
        ("request", "responder.tunnel", "wire", "wire"),
        ("request", "sender.tunnel", "hop1.near.tunnel", "underlay"),
        ("request", "hop1.near.tunnel", "hop1.near.wire", "wire"),
        ("request", "hop1.far.uplink", "hop1.far.tunnel", "wire"),
        ("request", "hop1.far.tunnel", "hop2.near.tunnel", "underlay"),
        ("request", "hop1.far.tunnel", "responder.tunnel", "underlay"),
        ("reply", "responder.uplink", "wire", "wire"),
        ("reply", "wire", "responder.tunnel", "wire"),
        ("reply", "responder.tunnel", "hop1.far.tunnel", "underlay"),
        ("reply", "hop1.far.tunnel", "hop1.far.uplink", "wire"),
        ("reply", "hop1.near.wire", "hop1.near.tunnel", "wire"),
        ("reply", "hop1.near.tunnel", "sender.tunnel", "underlay"),
        ("reply", "sender.tunnel", "sender.uplink", "wire"),
        # A stamp that was not taken.
        ("request", "sender.uplink", "responder.tunnel", "wire"),
        ("request", "sender.tunnel", "responder.uplink", "wire"),
    ],
)
def test_layers_between_machines(leg: str, start: str, end: str, layer: str) -> None:
    assert layers.layer(leg, start, end) == layer


@pytest.mark.parametrize(
    ("leg", "start", "end", "layer"),
    [
        ("request", "sender.qdisc", "sender.uplink", "uplink queue"),
        ("request", "sender.uplink", "sender.stack", "driver"),
        ("request", "sender.qdisc", "sender.stack", "uplink queue + driver"),
        ("request", "sender.stack", "wire", "wire"),
        ("reply", "sender.uplink", "sender.stack", "driver"),
        ("request", "responder.uplink", "responder.vif", "bridge"),
        ("request", "responder.stack", "responder.app", "kernel to user space"),
        ("request", "responder.vif", "responder.socket", "virtual interface + network stack"),
        ("reply", "responder.socket", "responder.stack", "network stack + queue"),
        ("reply", "responder.app", "responder.qdisc", "user space to kernel"),
        ("reply", "responder.vif", "responder.uplink", "bridge and uplink queue"),
    ],
)
def test_layers_of_a_sender_in_the_hosts_in_host_stack(
    leg: str, start: str, end: str, layer: str
) -> None:
    assert layers.layer(leg, start, end, ["sender"]) == layer


@pytest.mark.parametrize(
    ("name", "by_link", "one_host", "carried"),
    [
        ("bridge and uplink queue + wire + bridge", True, True, "link with conditions"),
        ("bridge and uplink queue + wire + bridge", False, True, "bridge"),
        ("bridge and uplink queue", True, False, "link with conditions"),
        ("wire + bridge", True, False, "wire + link engine"),
        ("bridge + virtual interface", True, False, "link engine + virtual interface"),
        ("virtual interface", True, True, "virtual interface"),
    ],
)
def test_layers_where_a_link_engine_or_no_wire_is_between(
    name: str, by_link: bool, one_host: bool, carried: str
) -> None:
    assert layers.carried(name, by_link=by_link, one_host=one_host) == carried
