"""Another cost of a link while the lab runs: daemons are told it, and the right tables follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.lab.attach import attach
from tests.doing.conftest import Run, as_json
from tests.doing.routing.observed import everywhere, said

pytestmark = pytest.mark.root
MIXED = """
lab: costs
ip: [4, 6]
routing: {ospf: {hello: 1s, dead: 4s, lsa_interval: 100ms, retransmit: 1s}}
nodes:
  r: {forwards: true, count: 2}
  b: {forwards: true, routing: {by: bird, ospf: {retransmit: 2s}}}
links:
  - {between: [r-1, r-2], name: a, cost: {r-1: 10, r-2: 20}}
  - {between: [r-2, b], name: c}
  - {between: [b, r-1], name: d, cost: 3}
"""


def devices(node: str, to: str) -> set[str]:
    lab = attach("costs")
    table = everywhere(lab)[node]
    return {hop.device for hop in table[f"{lab.plan.nodes[to].loopback(4)}/32"]}


def test_a_cost_is_an_event(delaylab: Run, tmp_path: Path, run_directory: Path) -> None:
    """Costs of single ends change with FRR and BIRD, IPv4 and IPv6, and outlive a restart."""
    (tmp_path / "costs.yaml").write_text(MIXED)
    delaylab("up", "costs.yaml")
    assert (devices("r-1", "r-2"), devices("r-2", "r-1")) == ({"d"}, {"c"})
    one, both = as_json(
        delaylab("converge", "costs", "--cost", "a:r-1=2", "--down", "d", "--json", code=0)
    )
    assert one["event"] == "cost a:r-1=2"
    assert one["until"] == {"rule": "right"}
    assert one["converged_s"] == one["right_s"] > 0
    assert one["changes"] > 0
    assert both["right_s"] is not None
    delaylab("converge", "costs", "--up", "d", "--cost", "d:b=30", "--cost", "c=2")
    assert (devices("r-1", "r-2"), devices("r-2", "r-1")) == ({"a"}, {"a"})
    # The configuration has it, too: a router that starts again has the right tables by it.
    delaylab("converge", "costs", "--restart", "b", "--restart", "r-1")
    shown = delaylab("link", "show", "costs").stdout
    assert "cost of a: 2 from r-1, 20 from r-2" in shown
    assert "cost of d: 30 from b, 3 from r-1" in shown
    set_ = delaylab("link", "set", "costs", "a", "cost=40", "--node", "r-2", "--json")
    assert as_json(set_)["costs"] == {"a": {"r-1": 2, "r-2": 40}}
    assert "Cost: 40" in said(attach("costs"), "r-2", "vtysh", "-c", "show ip ospf interface a")
    for words, told in (
        (("link", "set", "costs", "a", "cost=0"), "a cost is 1 to 65535, got '0'"),
        (("link", "set", "costs", "a", "cost=1", "--to", "r-1"), "a cost is of what a node sends"),
        (("converge", "costs", "--cost", "a"), "'a' is no cost of a link (write l12=100"),
        (("converge", "costs", "--cost", "x=1"), "no link 'x' (links: a, c, d)"),
        (("converge", "costs", "--cost", "a:b=1"), "'b' is not on link 'a' (members: r-1, r-2)"),
    ):
        refused = delaylab(*words, code=2)
        assert told in refused.stderr
        assert refused.stderr.count("\n") == 1
    delaylab("down", "costs")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("routing: {ospf", "x: {ospf"), "delaylab worked the routes of this lab out before it st"),
        (("{ospf: {hello: 1s", "{bgp: {}}\n#"), "r-1 speaks BGP alone, which has no costs of li"),
    ],
)
def test_a_cost_that_no_daemon_can_be_told_is_refused(
    delaylab: Run, tmp_path: Path, run_directory: Path, change: tuple[str, str], why: str
) -> None:
    text = MIXED.replace(*change).replace("{r-1: 10, r-2: 20}", "10")
    text = text.replace(", routing: {by: bird, ospf: {retransmit: 2s}}", "")
    text = "".join(line for line in text.splitlines(keepends=True) if line[:2] != "x:")
    (tmp_path / "costs.yaml").write_text(text.replace("name: a", "name: a, state: up"))
    delaylab("up", "costs.yaml")
    refused = delaylab("link", "set", "costs", "a", "cost=3", code=2)
    assert f"the cost of link 'a' cannot change: {why}" in refused.stderr
    delaylab("down", "costs")
