"""Names that a file gives nodes' interfaces, `r1:eth1`: where they hold, and what is refused."""

from __future__ import annotations

import pytest

from delaylab.errors import BadInput
from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.plan.model import Plan, Route
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.resolve.resolve import kept_lab
from delaylab.spec.source import parse


def lab(links: str, nodes: str = "{a: {}, r: {forwards: true}, b: {}}", more: str = "") -> Lab:
    return lab_from(parse(f"lab: named\n{more}nodes: {nodes}\nlinks:\n{links}", "lab.yaml"))


def planned(of: Lab) -> Plan:
    return build(of, KINDS, Rights(root=True))


def devices(plan: Plan) -> dict[tuple[str, str], str]:
    return {
        (name, each.link): each.device
        for name, node in plan.nodes.items()
        for each in node.attachments
    }


def test_each_end_of_a_link_has_its_own_name_and_the_link_keeps_its_own() -> None:
    made = lab(
        '  - {between: ["a:eth0", "r:eth1"], name: near}\n  - {join: [b, "r:Gi0.1", a], name: lan}'
    )
    plan = planned(made)
    assert devices(plan) == {
        ("a", "near"): "eth0",
        ("r", "near"): "eth1",
        ("b", "lan"): "lan",
        ("r", "lan"): "Gi0.1",
        ("a", "lan"): "lan",
    }
    assert len({each.mac for node in plan.nodes.values() for each in node.attachments}) == 5
    assert made.links["near"].members == ("a", "r")
    assert kept_lab(made.record()).links["lan"].devices == {"r": "Gi0.1"}


def test_a_link_without_a_name_is_named_after_its_nodes_alone() -> None:
    assert [*lab('  - between: ["a:eth0", "r:eth1"]').links] == ["a-r"]


def test_each_node_of_a_count_has_an_interface_of_the_name() -> None:
    nodes = "{hub: {}, leaf: {count: 2}, other: {count: 2}}"
    links = (
        '  - {between: [hub, "leaf:eth0"], name: l}\n  - {join: ["leaf:eth1", hub], name: lan}\n'
        '  - {between: ["leaf:eth2", "other:eth9"], name: o}'
    )
    found = devices(planned(lab(links, nodes)))
    assert found == {
        ("hub", "l-1"): "l-1",
        ("hub", "l-2"): "l-2",
        ("hub", "lan"): "lan",
        ("leaf-1", "l-1"): "eth0",
        ("leaf-1", "lan"): "eth1",
        ("leaf-1", "o-1"): "eth2",
        ("leaf-2", "l-2"): "eth0",
        ("leaf-2", "lan"): "eth1",
        ("leaf-2", "o-2"): "eth2",
        ("other-1", "o-1"): "eth9",
        ("other-2", "o-2"): "eth9",
    }


def test_routing_daemons_are_configured_for_the_chosen_names() -> None:
    for by, path in (("frr", "/etc/frr/frr.conf"), ("bird", "/etc/bird/bird.conf")):
        links = '  - {between: ["a:eth7", "r:eth8"], name: near}'
        routed = lab(
            links,
            "{a: {forwards: true}, r: {forwards: true}}",
            f"routing: {{by: {by}, ospf: {{}}}}\n",
        )
        made = planned(routed).daemons
        for node, device in (("a", "eth7"), ("r", "eth8")):
            text = str(made[node].files[path])
            assert device in text
            assert "near" not in text


@pytest.mark.parametrize(
    "route", ["{to: default, via: r, dev: eth0}", "{to: default, via: r.eth1}"]
)
def test_a_route_may_name_the_link_by_its_interface(route: str) -> None:
    nodes = f"{{a: {{routes: [{route}]}}, r: {{forwards: true}}, b: {{}}}}"
    links = '  - {between: ["a:eth0", "r:eth1"], name: near}\n  - {between: [a, r], name: other}\n'
    plan = planned(lab(links, nodes))
    own = next(e for e in plan.operations if isinstance(e, Route) and e.to == ("0.0.0.0/0",))
    assert own.via == (plan.attachment("r", "near").address,)


@pytest.mark.parametrize(
    ("links", "nodes", "line", "says"),
    [
        ('[a, "r:eth/1"]', "", 4, "'r:eth/1'"),
        ('[a, "r:1234567890123456"]', "", 4, "at most 15 letters"),
        ('[a, "r:"]', "", 4, "got 'r:'"),
        ('[a, "r:.."]', "", 4, "got 'r:..'"),
        ('[a, "x:eth0"]', "", 4, "joins 'x', which is not a node"),
        ('[a, "r:lo"]', "", 4, "node 'r' cannot have another interface 'lo'"),
        ('[a, "r:all"]', "", 4, "node 'r' cannot have another interface 'all'"),
        ('[a, "r:sit0"]', "", 4, "the kernel itself makes an interface 'sit0'"),
        ('[a, "r:to_outside"]', "{a: {}, r: {nat: true}}", 4, "another interface 'to_outside'"),
        ('[a, "r:e0"]\n  - between: ["r:e0", b]', "", 5, "node 'r' has two interfaces 'e0'"),
        ('[a, r]\n  - between: ["r:a-r", b]', "", 5, "'a-r': on 'a-r' and 'r-b'"),
        ('["r:e", a]', "{a: {count: 2}, r: {}}", 4, "node 'r' would have 2 interfaces 'e'"),
        ('[a, "r:eth0"]', "{a: {}, r: {kind: native}}", 4, "no network stack of its own"),
        ('[a, "r:eth0"]', "{a: {}, r: {interface: eth3}}", 4, "'r' is eth3 of this machine"),
    ],
)
def test_a_name_that_cannot_be_is_refused_with_its_line(
    links: str, nodes: str, line: int, says: str
) -> None:
    usual = "{a: {}, r: {forwards: true}, b: {}}"
    with pytest.raises(BadInput) as refused:
        lab(f"  - between: {links}", nodes or usual)
    assert says in str(refused.value)
    assert f"lab.yaml:{line}" in str(refused.value)
    assert "\n" not in str(refused.value)
