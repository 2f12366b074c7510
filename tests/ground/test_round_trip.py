"""Waits that follow the delays of a lab's links: for neighbours, and for replies."""

from __future__ import annotations

from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.plan.model import Neighbours
from delaylab.resolve.delays import round_trip_ns
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse

LAB = """\
lab: x
nodes: {a: {}, b: {forwards: true}, c: {}}
links:
  - {between: [a, b], name: far, delay: 2s, cost: 9}
  - {between: [a, b], name: near, delay: 500ms}
  - {between: [a, b], name: odd, delay: 100ms, cost: 9, from: {b: {delay: 1s, jitter: 100ms}}}
  - {between: [b, c], name: later, delay: 1ms}
timeline: [{at: 5s, link: later, node: b, set: {delay: 3s}}]
"""
S = 1_000_000_000


def test_neighbours_are_asked_for_as_long_as_an_answer_takes() -> None:
    """The longest round trip decides, also one that the timeline brings; jitter is part of it."""
    made = build(lab_from(parse(LAB, "lab.yaml")), KINDS, Rights(root=True))
    asked = [each for each in made.operations if isinstance(each, Neighbours)]
    link_of = {(each.agent, each.device): each.link for each in made.every_attachment}
    tries = [(link_of[each.agent, each.on], each.tries) for each in asked]
    # 3 tries, and one for each second begun: 2 × 2 s, 0.1 + 1 + 5 × 0.1 s, 3.001 s.
    assert sorted(tries) == [("far", 7)] * 2 + [("later", 7)] * 2 + [("odd", 5)] * 2


def test_a_round_trip_takes_the_path_of_the_least_cost() -> None:
    lab = lab_from(parse(LAB, "lab.yaml"))
    assert round_trip_ns(lab, "a", "b") == S
    assert round_trip_ns(lab, "a", "c") == S + 3 * S + 1_000_000
    assert round_trip_ns(lab, "b", "b") == 0
