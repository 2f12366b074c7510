"""The network between machines as part of links' delays, in the plan."""

from __future__ import annotations

import pytest
import yaml

from delaylab.errors import BadInput, DoesNotFit
from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.conditions.underlay import (
    MEASUREMENTS,
    RoundTrips,
    measured_underlay,
    over_underlay,
)
from delaylab.plan.kind import Rights
from delaylab.plan.model import Plan
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse

ROOT = Rights(root=True)
MS = 1_000_000
LAB = """\
lab: apart
machines: {m1: {ssh: m1}, m2: {ssh: m2}}
hosts: {h1: {machine: m1}, h2: {machine: m2}, h3: {machine: m2}, h4: {}}
nodes: {a: {host: h1}, b: {host: h2}, c: {host: h3}, d: {host: h4}}
links:
  - {between: [a, b], name: pair, delay: 10ms, from: {b: {delay: 5ms}}}
  - {between: [b, c], name: together, delay: 10ms}
  - {join: [a, b, c], name: many, delay: 10ms}
  - {between: [a, d], name: unknown, delay: 10ms}
  - {between: [a, b], name: plain}
"""
MEASURED = [
    RoundTrips("m1", "m2", 100, tuple(range(4 * MS, 5 * MS, MS // 100))),
    RoundTrips("local", "m1", 100, ()),
]
"""100 round trips from 4.00 to 4.99 ms, and a machine that answers no ping."""


def built(text: str = LAB) -> Plan:
    return build(lab_from(parse(text, "lab.yaml")), KINDS, ROOT, machines={"m1": ROOT, "m2": ROOT})


def planned(text: str = LAB) -> Plan:
    return over_underlay(built(text), MEASURED)


def test_only_links_of_two_nodes_on_two_machines_have_it() -> None:
    plan = planned()
    assert plan.underlays.keys() == {"pair"}
    below = plan.underlays["pair"]
    assert (below.delay_ns, below.least_rtt_ns, below.p99_rtt_ns) == (2 * MS, 4 * MS, 4_980_000)
    assert (below.sent, below.lost) == (100, 0)
    earlier = {
        (link.link, port.node): port.underlay_ns
        for agent in plan.agents
        if agent.links
        for link in agent.links.links
        for port in link.members
    }
    assert {key for key, ns in earlier.items() if ns} == {("pair", "a"), ("pair", "b")}


def test_a_delay_that_the_network_between_machines_may_exceed_is_refused() -> None:
    # The longest that a packet may take one way: the p99 of the round trip but half of the least.
    assert planned(LAB.replace("delay: 5ms", "delay: 2980us")).underlays
    for short in (
        LAB.replace("delay: 5ms", "delay: 2979us"),
        LAB + "timeline:\n  - {at: 1s, link: pair, set: {delay: 1ms}}\n",
    ):
        with pytest.raises(DoesNotFit, match=r"up to 2\.980 ms one way") as caught:
            planned(short)
        assert caught.value.where == "link pair"


def test_a_link_without_a_delay_takes_as_long_as_the_network_between_its_machines() -> None:
    assert planned(LAB.replace("delay: 10ms, from: {b: {delay: 5ms}}", "loss: 1%")).underlays


BUSY = [RoundTrips("m1", "m2", 100, tuple(range(4 * MS, 54 * MS, MS // 2)))]
"""Round trips up to 53.5 ms: one of the two machines was busy."""


@pytest.mark.parametrize("busy", range(MEASUREMENTS))
def test_a_network_that_was_slow_for_a_moment_is_measured_again(busy: int) -> None:
    measurements = iter([*[BUSY] * busy, MEASURED])
    plan, measured = measured_underlay(built(), lambda: next(measurements))
    assert measured == MEASURED
    assert plan.underlays == planned().underlays
    assert next(measurements, None) is None


def test_a_network_that_stays_slow_refuses_a_link() -> None:
    measurements = iter([BUSY] * MEASUREMENTS)
    with pytest.raises(DoesNotFit, match=r"takes, up to 51\.000 ms one way"):
        measured_underlay(built(), lambda: next(measurements))
    assert next(measurements, None) is None


@pytest.mark.parametrize(
    ("stated", "host", "refused"),
    [
        (("m1",), "m2", True),
        (("m1", "m2"), "m2", False),
        # Of the way between this machine and another one it says something.
        (("m1",), None, False),
        ((), "m2", False),
    ],
)
def test_symmetry_of_one_of_two_machines_says_nothing(
    stated: tuple[str, ...], host: str | None, refused: bool
) -> None:
    machines = {f"m{n}": {"ssh": f"m{n}"} for n in (1, 2)}
    for name in stated:
        machines[name]["symmetric"] = "1ms"
    hosts = {"h1": {"machine": "m1"}, "h2": {"machine": host} if host else {}}
    nodes = {"a": {"host": "h1"}}
    text = yaml.safe_dump({"lab": "l", "machines": machines, "hosts": hosts, "nodes": nodes})
    if not refused:
        lab_from(parse(text, "lab.yaml"))
        return
    with pytest.raises(BadInput, match="`symmetric` of 'm1' alone says nothing of the way to 'm2'"):
        lab_from(parse(text, "lab.yaml"))
