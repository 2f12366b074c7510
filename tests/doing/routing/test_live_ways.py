"""Where routing daemons decide, each packet's way is read from its stamps, and so is its end."""

from __future__ import annotations

import polars as pl
import pytest

from delaylab.agent.wire.sessions import Exec
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab_study.analysis.packets.astray import astray
from delaylab_study.analysis.packets.ways import parted
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.study_file.work import WorkSpec
from delaylab_study.trial.measure import measure
from delaylab_study.trial.recording import Recording

pytestmark = pytest.mark.root
LAB = """
lab: around
routing: {ospf: {hello: 1s, dead: 4s}, by: bird}
nodes: {r: {forwards: true, count: 5}}
links:
  - {between: [r-1, r-2], name: near, delay: 1ms}
  - {between: [r-2, r-3], name: middle, delay: 1ms}
  - {between: [r-3, r-4], name: far, delay: 1ms}
  - {between: [r-1, r-5], name: around, cost: 9, delay: 3ms}
  - {between: [r-5, r-4], name: back, cost: 9, delay: 3ms}
"""
PROBE = {"from": "r-1", "to": "r-4", "count": 300, "interval": "5ms", "at_rest": 2}
CROSSED = 60
"""The packets after which a route of a router's own takes the place of the daemon's."""
INITIAL_TTL = 64


def counted(device: str, packets: int) -> str:
    """Return a shell command that waits until an interface has sent so many packets more."""
    sent = f"grep {device}: /proc/net/dev | tr -s ' ' | sed 's/^ //' | cut -d' ' -f11"
    return f"n=$({sent}); until [ $({sent}) -ge $((n + {packets})) ]; do sleep 0.01; done"


def measured(lab: LiveLab, spec: Lab, node: str, script: str) -> Recording:
    """Send the probe while a script runs in a node."""
    work = WorkSpec.model_validate(
        {"name": "change", "on": [node], "command": ["sh", "-c", script]}
    )
    probe = ProbeSpec.model_validate(PROBE)
    found = measure(lab, Combination({}, spec, (), probe, (work,)), 9)
    assert [each.failed for each in found.record.work] == [None]
    return found


def trial(found: Recording) -> TrialRecord:
    head = {"id": "x", "index": 0, "factors": {}, "repeat": 1, "status": "ok"}
    return TrialRecord.model_validate({**head, **dict(found.record)})


def test_packets_that_take_another_way_are_stamped_on_it_and_circles_are_found() -> None:
    spec = lab_from(parse(LAB, "around.yaml"))
    with temporary(spec) as lab:
        target = str(lab.plan.nodes["r-4"].loopback(4))
        hop = {
            (node, link): lab.plan.attachment(node, link).interfaces()[0].ip
            for node, link in (("r-5", "around"), ("r-2", "middle"))
        }
        clock = lab.clock("host.here")
        by = hop["r-5", "around"]
        detour = measured(
            lab, spec, "r-1", f"{counted('near', CROSSED)}; ip route add {target} via {by}"
        )
        undo = lab.node_session("r-1")
        argv = ("ip", "route", "del", target, "via", str(by))
        assert undo.call(Exec(argv=argv)).done.exit == 0
        undo.close()
        # The route of its own sends back what came over the same link, until it goes.
        by, round_trips = hop["r-2", "middle"], 40 * INITIAL_TTL // 2
        circle = measured(
            lab,
            spec,
            "r-3",
            f"{counted('far', CROSSED)}; ip route add {target} via {by};"
            f" {counted('middle', round_trips)}; ip route del {target} via {by}",
        )
    assert detour.record.live_ways
    names = [way.name for way in detour.record.ways]
    assert names == ["near → middle → far", "around → back, back far → middle → near"]
    numbers = parted(detour.stamps, detour.probes, detour.record.ways).numbers
    load = detour.probes.filter(phase="load").join(numbers, on=["probe", "seq"]).sort("seq")
    assert set(load["outcome"]) == {"replied"}
    ways = load["way"].to_list()
    assert min(ways) == 0, "every packet's way is known"
    assert ways == sorted(ways), "the route changes once"
    assert ways[0] < ways[-1]
    straight = astray(trial(detour), detour.stamps, detour.probes, clock)
    assert (straight.lost, straight.loops) == ([], [])
    lost = set(lost_of(circle))
    assert lost, "packets ran out of hops"
    found = astray(trial(circle), circle.stamps, circle.probes, clock)
    (loop,) = found.loops
    assert (loop.leg, loop.routers) == ("request", ("r-2", "r-3"))
    assert loop.rounds >= INITIAL_TTL // 2 - 2
    assert loop.packets >= loop.lost == len(lost)
    assert sum(each.packets for each in found.lost) == len(lost)
    assert {each.point for each in found.lost} <= {"r-2@middle", "r-3@middle"}
    assert max(lost) - min(lost) == len(lost) - 1, "one circle: the lost packets are in a row"


def lost_of(found: Recording) -> list[int]:
    """Return the numbers of the packets that were lost while taps were on."""
    gone = found.probes.filter((pl.col("outcome") == "lost") & (pl.col("phase") != "untapped"))
    return gone["seq"].to_list()
