"""Routes that a file gives its nodes: what becomes of them in a plan, and what is refused."""

from __future__ import annotations

import pytest

from delaylab.errors import BadInput
from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.plan.model import Plan, Route
from delaylab.plan.ways.probe_way import probe_way
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab_study.study_file.probe import ProbeSpec

LAB = """
lab: routed
ip: [4, 6]
nodes:
  a: {routes: [ROUTE]}
  r: {forwards: true}
  s: {forwards: true}
  b: {}
links:
  - {between: [a, r], name: near}
  - {between: [a, s], name: side}
  - {between: [a, s], name: other}
  - {between: [r, b], name: far}
"""


def planned(route: str) -> tuple[Lab, Plan]:
    lab = lab_from(parse(LAB.replace("ROUTE", route), "lab.yaml"))
    return lab, build(lab, KINDS, Rights(root=True))


def given(plan: Plan) -> list[Route]:
    """Return the routes of `a` that stand after those that the lab sets."""
    return [each for each in plan.operations if isinstance(each, Route) and each.agent == "node.a"]


def address(plan: Plan, node: str, link: str, version: int) -> str:
    texts = [text.split("/")[0] for text in plan.attachment(node, link).addresses]
    return next(text for text in texts if (":" in text) == (version == 6))


def test_a_node_as_destination_has_a_route_for_each_of_its_addresses() -> None:
    _, made = planned("{to: b, via: s.side}")
    found = {(to, each.via) for each in given(made) for to in each.to}
    for version, length in ((4, 32), (6, 128)):
        to = f"{address(made, 'b', 'far', version)}/{length}"
        assert (to, (address(made, "s", "side", version),)) in found


def test_a_route_takes_the_place_of_one_that_the_lab_sets() -> None:
    _, before = planned("{to: 10.9.0.0/16, type: blackhole}")
    assert given(before)[-1] == Route("node.a", ("10.9.0.0/16",), (), kind="blackhole")
    loopback = before.nodes["r"].loopback(4)
    assert any(f"{loopback}/32" in each.to for each in given(before)[:-1])
    _, after = planned("{to: r, via: s.side, metric: 7}")
    to_r = [each for each in given(after) if f"{loopback}/32" in each.to]
    assert to_r == [
        Route("node.a", (f"{loopback}/32",), (address(after, "s", "side", 4),), metric=7)
    ]


def test_default_is_of_every_ip_version_of_the_lab() -> None:
    _, made = planned("{to: default, dev: side}")
    assert given(made)[-2:] == [
        Route("node.a", (to,), (), on="side") for to in ("0.0.0.0/0", "::/0")
    ]


@pytest.mark.parametrize(
    ("route", "says"),
    [
        ("{to: c, via: r}", "lab.yaml:5: no node 'c'"),
        ("{to: b, via: c}", "lab.yaml:5: no node 'c'"),
        ("{to: b, via: b}", "cannot have its route to b: no link joins it to 'b'"),
        ("{to: b, via: s}", "several links join it to 's'"),
        ("{to: b, dev: far}", "it is not on link 'far'"),
        ("{to: b}", "needs `via` or `dev`"),
        ("{to: b, via: r, type: blackhole}", "sends nothing on"),
        ("{to: 10.9.0.1/16, via: r}", "a network such as 10.9.0.0/16"),
        ("{to: 10.9.0.0/16, via: 'fd00::1'}", "no address of the IP version"),
        ("{to: b, via: 1.2.3}", "expected an address, a node"),
    ],
)
def test_a_route_that_cannot_be_is_refused(route: str, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        planned(route)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("route", "known"),
    [
        ("{to: b, via: s.side}", False),
        ("{to: 198.18.0.0/15, via: r}", False),
        ("{to: default, via: r}", True),
        ("{to: s, via: r}", True),
        ("{to: 10.9.0.0/16, type: blackhole}", True),
    ],
)
def test_a_probe_is_refused_whose_packets_a_route_may_lead_another_way(
    route: str, known: bool
) -> None:
    lab, made = planned(route)
    probe = ProbeSpec.model_validate({"from": "a", "to": "b"})
    if known:
        assert [hop.link for hop in probe_way(made, lab, probe).hops] == ["near", "far"]
    else:
        with pytest.raises(BadInput, match="'a' has a route of its own to"):
            probe_way(made, lab, probe)
