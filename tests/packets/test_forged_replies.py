"""Answers of other nodes count as no reply, by whatever means replies come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.packets.agents import Pair, helper, probe, run
from tests.packets.forged_replies import OTHER, PORT

COUNT = 20
MEANS: dict[str, dict[str, Any]] = {
    "socket": {},
    "closed loop by programs": {"interval_ns": 0, "stamps": ["app", "stack"], "tcx": True},
    "packet socket, programs": {"mode": "packet", "stamps": ["app", "stack"], "tcx": True},
    "packet socket, ring": {"mode": "packet", "stamps": ["app", "stack"], "tcx": False},
}


@contextmanager
def forging(joined: Pair, *, answers: bool) -> Iterator[None]:
    """Forge replies at the right end, beside those of its kernel if that `answers`."""
    run(
        "sysctl", "-qw", f"net.ipv4.icmp_echo_ignore_all={int(not answers)}", namespace=joined.right
    )
    run("ip", "address", "add", f"{OTHER}/24", "dev", "right", namespace=joined.right)
    with helper(joined.right, "forged_replies"):
        yield


@pytest.mark.parametrize("means", MEANS)
@pytest.mark.parametrize("protocol", ["icmp", "udp"])
def test_a_forged_reply_is_no_reply(joined: Pair, protocol: str, means: str) -> None:
    port = PORT if protocol == "udp" else 0
    request = probe(protocol=protocol, port=port, count=COUNT, **MEANS[means])
    with forging(joined, answers=False), joined.agent(joined.left) as agent:
        answer = agent.run(request)
    assert answer.error is None
    assert answer.done is not None
    assert answer.done["replied"] == 0
    assert set(answer.tables["packets"]["outcome"]) == {"mismatched"}
    (doubt,) = (each for each in answer.done["warnings"] if each["kind"] == "mismatched-replies")
    assert "no reply" in doubt["message"]
    assert answer.tables["stamps"].filter(leg=1).is_empty()


@pytest.mark.parametrize("means", MEANS)
def test_a_reply_counts_beside_forged_ones(joined: Pair, means: str) -> None:
    with forging(joined, answers=True), joined.agent(joined.left) as agent:
        answer = agent.run(probe(count=COUNT, **MEANS[means]))
    assert answer.error is None
    assert answer.done is not None
    assert answer.done["replied"] == COUNT
    assert set(answer.tables["packets"]["outcome"]) == {"replied"}
    assert answer.tables["packets"]["duplicates"].sum() == 0
