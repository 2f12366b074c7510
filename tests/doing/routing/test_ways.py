"""Real packets of one trial go two ways, because a route changes while they are sent."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import polars as pl
import pytest

from delaylab.agent.wire.sessions import Exec
from delaylab.lab.start import temporary
from delaylab.plan.ways.probe_way import ProbeWay, probe_way
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.resolve.resolve import lab_from_data
from delaylab.spec.source import parse
from delaylab_study.analysis.packets.ways import parted
from delaylab_study.dataset.records.ways import Hop, Way
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.study_file.work import WorkSpec
from delaylab_study.trial import phases
from delaylab_study.trial import stamps as stamps_of
from delaylab_study.trial.measure import measure
from tests.ground.test_routers import DIAMOND
from tests.stamped import column, packets

pytestmark = pytest.mark.root
DELAY_NS = {"p": 5_000_000, "q": 15_000_000}
STAMP_NS, PART = 1_000, 0.1
COUNT = 200
CROSSED = 60
"""The packets that cross the first link before the route changes."""


def spec(cheaper: str) -> Lab:
    """A lab whose routers have two links between them, of which routes take the cheaper one."""
    router = {"forwards": True}
    parallel = [
        {
            "between": ["r1", "r2"],
            "name": name,
            "cost": 1 if name == cheaper else 9,
            "from": {"r1": {"delay": f"{delay_ns}ns"}},
        }
        for name, delay_ns in DELAY_NS.items()
    ]
    return lab_from_data(
        {
            "lab": "parallel",
            "hosts": {"one": {}},
            "nodes": {"a": {}, "r1": router, "r2": router, "b": {}},
            "links": [
                {"between": ["a", "r1"], "name": "near"},
                *parallel,
                {"between": ["r2", "b"], "name": "far"},
            ],
        }
    )


def recorded(there: ProbeWay, back: ProbeWay) -> Way:
    """The way of a packet whose request and reply are as planned, each on its own."""
    hops = {
        name: [Hop(**asdict(hop)) for hop in way.hops]
        for name, way in {"there": there, "back": back}.items()
    }
    whole = Way(hops=hops["back"])
    return Way(
        request=list(there.request),
        reply=list(back.reply),
        hops=hops["there"],
        back=whole.taken("reply"),
    )


def test_packets_before_and_after_a_change_of_route_have_their_own_delays() -> None:
    lab, other = spec("p"), spec("q")
    probe = ProbeSpec.model_validate(
        {"from": "a", "to": "b", "count": COUNT, "interval": "5ms", "at_rest": 2}
    )
    with temporary(lab, accounting=False) as running:
        by_p, by_q = (probe_way(running.plan, each, probe) for each in (lab, other))
        taps = {tap.point: tap for tap in (*by_p.taps, *by_q.taps)}
        device = running.plan.attachment("r1", "p").device
        far = running.plan.attachment("b", "far").interfaces()[0].network
        by = running.plan.attachment("r2", "q").interfaces()[0].ip
        change = (
            f"until [ $(grep {device}: /proc/net/dev | tr -s ' ' | cut -d' ' -f12) -ge {CROSSED} ];"
            f" do sleep 0.01; done; ip route replace {far} via {by}"
        )
        work = WorkSpec.model_validate(
            {"name": "change", "on": ["r1"], "command": ["sh", "-c", change]}
        )
        combination = Combination({}, lab, (), probe, (work,))
        way = replace(by_p, taps=tuple(taps.values()))
        done = phases.run(running, combination, probe, way, 9, pcap=None, rates=())
        assert [one.failed for one in done.under_load.crew.workers] == [None] * 1
        stamps, probes = stamps_of.taken(running, done.sender, done.instruments), done.packets
    ways = [recorded(by_p, by_p), recorded(by_q, by_p)]
    found = parted(stamps, probes, ways)
    load = probes.filter(phase="load").join(found.numbers, on=["probe", "seq"]).sort("seq")
    # The route changes once, and a packet goes by one link or by the other.
    numbers = load["way"].to_list()
    assert set(numbers) == {0, 1}
    assert numbers == sorted(numbers)
    assert set(load["outcome"]) == {"replied"}
    for number, (way_of, link) in enumerate(zip(ways, DELAY_NS, strict=True)):
        rows = found.of(stamps, number)
        roles = way_of.model_copy(
            update={
                "request": ["hop1.far", "hop2.near"],
                "reply": ["hop2.near", "hop1.far"],
            }
        )
        table = packets(rows, found.of(probes, number), roles).filter(pl.col("phase") == "load")
        there = table[column("request", "hop2.near")] - table[column("request", "hop1.far")]
        back = table[column("reply", "hop1.far")] - table[column("reply", "hop2.near")]
        least = DELAY_NS[link]
        assert least - STAMP_NS <= np.min(there.drop_nulls().to_numpy()) < least * (1 + PART)
        # Replies of both come back over the first link, which delays nothing that way.
        assert np.min(back.drop_nulls().to_numpy()) < DELAY_NS["p"] * PART


def test_packets_over_equal_paths_are_stamped_on_the_one_that_they_took() -> None:
    """The kernel chooses a path for each flow, of requests and of replies apart."""
    lab = lab_from(parse(DIAMOND, "diamond.yaml"))
    probe = ProbeSpec.model_validate(
        {"from": "a", "to": "b", "count": 20, "interval": "5ms", "at_rest": 2}
    )
    with temporary(lab, accounting=False) as running:
        done = measure(running, Combination({}, lab, (), probe, ()), 9)
        router = running.node_session("r")
        routes = router.call(Exec(argv=("ip", "route"))).stdout.decode()
        router.close()
    assert "nexthop via" in routes
    ways = done.record.ways
    assert len(ways) == 4
    numbers = parted(done.stamps, done.probes, ways).numbers
    # Packets that were sent while the taps were off have no way that could be known.
    tapped = done.probes.filter(pl.col("phase") != "untapped").join(numbers, on=["probe", "seq"])
    assert len(tapped) >= probe.count
    assert set(tapped["way"]) <= set(range(4)), "each is on one of the four ways"
    assert tapped.filter(phase="load")["way"].n_unique() == 1, "a phase is one flow"


ACROSS = """
lab: across
hosts: {one: {}, two: {}, three: {}}
routing: {by: bird, ospf: {hello: 1s, dead: 4s}}
nodes:
  a: {host: one, forwards: true}
  b: {host: two, forwards: true}
  d: {host: three, forwards: true}
links: [{between: [a, b], name: ab}, {between: [b, d], name: bd}]
"""


def test_packets_over_hosts_have_their_way_where_daemons_route() -> None:
    """Taps stand at both ends of each wire, since packets might take any way."""
    lab = lab_from(parse(ACROSS, "lab.yaml"))
    probe = ProbeSpec.model_validate({"from": "a", "to": "d", "count": 10, "at_rest": 2})
    with temporary(lab, accounting=False) as running:
        done = measure(running, Combination({}, lab, (), probe), probe_id=9)
    assert {"b@bd.wire", "wire"} <= set(done.stamps["point"].cast(pl.String))
    tapped = done.probes.filter(pl.col("phase") != "untapped")
    found = parted(done.stamps, tapped, done.record.ways)
    assert found.numbers["way"].to_list() == [0] * len(tapped)
