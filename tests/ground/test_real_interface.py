"""Nodes that are an interface of this machine: what a file may say of them, and their plan."""

from __future__ import annotations

import pytest

from delaylab.drawing.layout import graph
from delaylab.errors import BadInput, NotHere
from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.plan.model import Address, Plan, RealInterface, Route
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import study_from
from tests.plain import plain

LAB = """\
lab: edge
nodes: {h: {}, r: {forwards: true}, lan: {interface: eth1}}
links:
  - {between: [h, r], name: in}
  - between: [r, lan]
    name: wan
    delay: 5ms
    mtu: 1400
    addresses: {r: 192.168.7.10/24, lan: 192.168.7.20/24}
"""


def planned(text: str, *, root: bool = True) -> Plan:
    return build(lab_from(parse(text, "lab.yaml")), KINDS, Rights(root=root))


def test_its_agent_has_the_interface_and_neither_address_nor_route() -> None:
    plan = planned(LAB)
    agents = {str(each.name): each for each in plan.agents}
    lan = agents.pop("node.lan")
    assert lan.interface == RealInterface("eth1", "wan", 1400)
    assert lan.sysctls["-net.ipv6.conf.all.disable_ipv6"] == "1"
    assert not [each for each in agents.values() if each.interface]
    configured = [each for each in plan.operations if isinstance(each, Address | Route)]
    assert {each.agent for each in configured} == {"node.h", "node.r"}
    assert [each for each in configured if isinstance(each, Route) and each.agent == "node.h"]


def test_its_name_stands_for_the_address_of_what_is_behind_it() -> None:
    names = {name: each.address for each in planned(LAB).names for name in each.names}
    assert names["lan"] == names["lan.wan"] == "192.168.7.20"


def test_its_conditions_are_those_of_any_node() -> None:
    plan = planned(LAB.replace("delay: 5ms", "from: {lan: {delay: 5ms}}"))
    (engine,) = (each.links for each in plan.agents if each.links is not None)
    (link,) = engine.links
    delays = {each.node: plain(each.conditions.message()) for each in link.members}
    assert delays == {"r": {}, "lan": {"delay_ns": 5_000_000}}


def test_a_picture_names_the_interface() -> None:
    (nodes,) = graph(lab_from(parse(LAB, "lab.yaml"))).hosts.values()
    assert [each.about for each in nodes] == ["netns", "netns, router", "interface eth1"]


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("lan: {interface: eth1, forwards: true}", "`forwards` means nothing to a node that is an"),
        ("lan: {interface: eth1, start: [sleep 1]}", "`start` means nothing"),
        ("lan: {interface: eth1, count: 1}", "`count` means nothing"),
        ("lan: {interface: eth1, kind: lxc}", "it is for netns"),
        ("lan: {interface: a/b}", "the name of a network interface"),
        ("lan: {interface: a-very-long-name}", "the name of a network interface"),
        ("lan: {interface: eth1}, two: {interface: eth1}", "eth1 is node 'lan', too"),
        ("lan: {interface: eth1}, two: {interface: eth2}", "'two', which is an interface, is on 0"),
    ],
)
def test_what_it_cannot_be_is_refused_with_its_line(said: str, what: str) -> None:
    with pytest.raises(BadInput) as raised:
        planned(LAB.replace("lan: {interface: eth1}", said))
    assert what in str(raised.value)
    assert "lab.yaml:" in str(raised.value)


def test_it_is_on_one_link() -> None:
    with pytest.raises(BadInput, match="is on 2 links"):
        planned(f"{LAB}  - {{between: [h, lan]}}\n")


def test_it_needs_root() -> None:
    with pytest.raises(NotHere, match="'lan' cannot be interface eth1: that needs root"):
        planned(LAB, root=False)


STUDY = """\
study: s
lab:
{lab}
probe: {{from: {sender}, to: {to}, protocol: {protocol}}}
factors: {{none: {{no: {{}}}}}}
"""


@pytest.mark.parametrize(
    ("sender", "to", "protocol", "what"),
    [
        ("h", "lan", "icmp", None),
        ("h", "lan", "udp", "nothing of the lab runs there"),
        ("lan", "h", "icmp", "nothing of the lab runs there"),
    ],
)
def test_a_probe_may_go_to_it_but_not_begin_there(
    sender: str, to: str, protocol: str, what: str | None
) -> None:
    lab = "".join(f"  {line}\n" for line in LAB.splitlines())
    text = STUDY.format(lab=lab, sender=sender, to=to, protocol=protocol)
    study = study_from(parse(text, "study.yaml"))
    if what is None:
        assert len(list(combinations(study, "quick"))) == 1
        return
    with pytest.raises(BadInput, match=what):
        list(combinations(study, "quick"))
