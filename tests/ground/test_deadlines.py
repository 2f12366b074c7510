"""The time that the agents of a lab's nodes have to start."""

from __future__ import annotations

import pytest

from delaylab.kinds import KINDS
from delaylab.plan.agents import CONTAINER_BESIDE_MS
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse


@pytest.mark.parametrize("kind", ["lxc", "docker"])
def test_many_containers_have_more_time_to_start(kind: str) -> None:
    def deadlines_ms(count: int) -> set[int]:
        text = f"{{lab: many, nodes: {{n: {{kind: {kind}, count: {count}}}}}}}"
        made = build(lab_from(parse(text, "lab.yaml")), KINDS, Rights(root=True))
        return {agent.guest.deadline_ms for agent in made.agents if agent.guest is not None}

    (few,), (many,) = deadlines_ms(2), deadlines_ms(128)
    assert many - few == 126 * CONTAINER_BESIDE_MS
