"""Static routes that FRR sets: which tables are right, also after a link has failed."""

from __future__ import annotations

import pytest

from delaylab.lab.start import temporary
from delaylab.plan.foreseen import why_unforeseen
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab.units import Duration
from delaylab.verbs.converge import Break, converge
from tests.doing.routing.observed import said

pytestmark = pytest.mark.root

LAB = """
lab: statics
ip: [4, 6]
nodes:
  r1:
    forwards: true
    loopback: 10.9.0.1
    routing:
      ospf: {hello: 1s, dead: 4s}
      static:
        # Over a loopback two links away once the link to it fails.
        - {to: 192.0.2.0/24, via: 10.9.0.3}
        # Before OSPF's own route to the same address.
        - {to: 10.9.0.3/32, via: r2}
        - {to: 203.0.113.0/24, type: blackhole}
        - {to: "2001:db8::/32", via: r2}
  r2: {forwards: true, loopback: 10.9.0.2, routing: {ospf: {hello: 1s, dead: 4s}}}
  r3: {forwards: true, loopback: 10.9.0.3, routing: {ospf: {hello: 1s, dead: 4s}}}
links:
  - {name: a, between: [r1, r2]}
  - {name: b, between: [r2, r3]}
  - {name: c, between: [r1, r3]}
"""


VIA = (("-4", "192.0.2.0/24"), ("-6", "2001:db8::/32"))
"""Routes over r2, of which the first has another way once link `a` is down."""


def test_static_routes_of_frr_are_right_before_and_after_a_failure() -> None:
    lab = lab_from(parse(LAB, "statics.yaml"))
    assert why_unforeseen(lab) is None
    # `up` compares every table with the right one, and so does each convergence.
    with temporary(lab) as live:
        ways = []
        for do in ("down", "up"):
            (found,) = converge(live, [Break(do, ("a",))], Duration.parse("60s")).outcomes
            assert found.until.quiet_ns is None
            assert found.converged_ns is not None
            ways.append([said(live, "r1", "ip", family, "route", "show", to) for family, to in VIA])
    (broken, gone), (whole, there) = ways
    assert " dev c " in broken, "the next hop is looked for on the other way"
    assert " dev a " in whole
    assert gone == ""
    assert " dev a " in there
