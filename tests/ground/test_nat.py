"""Ways outside: what a lab file may say of them, and their plan."""

from __future__ import annotations

import pytest

from delaylab.errors import BadInput, NotHere
from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kind import SLIRP, Rights
from delaylab.plan.model import Nat, Plan
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse

LAB = """\
lab: way
nodes: {gw: {nat: true}, h: {}}
links:
  - {between: [gw, h], name: in}
"""


def planned(text: str, *lacking: str) -> Plan:
    rights = Rights(root=False, lacking=frozenset(lacking))
    return build(lab_from(parse(text, "lab.yaml")), KINDS, rights)


def test_a_way_is_an_agent_in_the_network_of_this_machine() -> None:
    ways = {each.name: (each.network, each.nat) for each in planned(LAB).agents if each.nat}
    assert ways == {"nat.gw": ("machine", Nat("node.gw", "to_outside", forwards=False))}
    router = LAB.replace("nat: true", "nat: true, forwards: true")
    (way,) = (each.nat for each in planned(router).agents if each.nat)
    assert way == Nat("node.gw", "to_outside", forwards=True)


def test_there_is_none_unless_a_node_says_so() -> None:
    plan = planned(LAB.replace("nat: true", "nat: false"))
    assert not plan.in_machine
    assert not any(each.nat for each in plan.agents)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            ("nat: true", "nat: true, routes: [{to: default, via: h}]"),
            "is the node's default route",
        ),
        (("nat: true", "nat: true, kind: lxc"), "it is for netns"),
        (("nat: true", "nat: true, interface: eth1"), "`nat` means nothing to a node"),
        (("name: in", "name: in, addresses: {h: 10.0.2.7/24, gw: 10.0.2.8/24}"), "10.0.2.0/24"),
    ],
)
def test_contradictions_are_refused_with_their_line(change: tuple[str, str], what: str) -> None:
    with pytest.raises(BadInput) as raised:
        planned(LAB.replace(*change))
    assert what in str(raised.value)
    assert "lab.yaml:" in str(raised.value)


def test_it_needs_its_program() -> None:
    with pytest.raises(NotHere, match="apt-get install slirp4netns"):
        planned(LAB, SLIRP)
