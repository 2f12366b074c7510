"""Causes that are injected are named: the short form of `make truth`, beside other tests.

The injector keeps its own log. What nobody saw may be unknown, but nobody else may be blamed,
except for one packet: programs of other tests really have the CPU at times.
"""

from __future__ import annotations

import pytest

from tests.truth.blind import Plan, blind
from tests.truth.cases import CASES, Case

pytestmark = pytest.mark.root

STRENGTHS_NS = (1_000_000, 8_000_000)
INJECTIONS = 10
SPACING_NS = 100_000_000
MOSTLY, SIZED = 0.9, 0.75
"""The least share of packets that are named right, and of those whose size is right, too."""
SHORT = [
    case
    for case in CASES
    if case.name
    in (
        "real-time program on the sender's CPU",
        "real-time program on the responder's CPU",
        "responder stopped",
        "link engine stopped",
        "link's queue filled by another program",
    )
]


@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.name.replace(" ", "-"))
def test_what_is_injected_is_named(case: Case) -> None:
    plan = [
        (number * SPACING_NS, STRENGTHS_NS[number % len(STRENGTHS_NS)])
        for number in range(INJECTIONS)
    ]
    found = blind([case], Plan([plan], ""))
    assert found.late >= INJECTIONS // 2
    known = found.late - found.named["unknown"]
    assert known >= MOSTLY * found.late
    assert known - found.right <= max(1, (1 - MOSTLY) * known), found.named
    assert found.within >= SIZED * found.right
    assert found.blamed <= (1 - MOSTLY) * (found.others + found.quiet)
