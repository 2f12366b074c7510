"""Nodes whose CPUs are shared out by weight, and those that keep out of the lab's CPU groups."""

import pytest

from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.resolve.agent_names import node_agent
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse

LAB = """
lab: shares
nodes:
  heavy: {{kind: netns, cpus: [0], cpu_weight: 200}}
  light: {{kind: netns, cpus: [0]}}
  apart: {{kind: netns, cpus: [1]}}
  {more}
links:
  - {{between: [heavy, light]}}
  - {{between: [light, apart]}}
"""


@pytest.mark.parametrize(
    ("more", "weights"),
    [
        ("", {"heavy": 200, "light": 100, "apart": None}),
        # It may run on both CPUs, so all compete by way of it.
        (
            "roaming: {kind: netns}",
            {"heavy": 200, "light": 100, "apart": 100, "roaming": 100},
        ),
        (
            "bridging: {kind: netns, cpus: [1, 2]}",
            {"heavy": 200, "light": 100, "apart": None, "bridging": None},
        ),
    ],
)
def test_a_node_that_competes_for_no_weighted_cpu_keeps_out_of_the_groups(
    more: str, weights: dict[str, int | None]
) -> None:
    """Some kernels give no real-time scheduling in them."""
    lab = lab_from(parse(LAB.format(more=more), "lab.yaml"))
    found = {a.name: a.cpu_weight for a in build(lab, KINDS, Rights(root=True)).agents}
    assert {name: found[node_agent(name)] for name in weights} == weights
