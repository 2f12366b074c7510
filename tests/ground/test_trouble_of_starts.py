"""Black holes and loops of a trial's nodes that were dead: they count from the start. Pure."""

from __future__ import annotations

import pytest

from delaylab.forwarding.fates import Interval
from delaylab.lab.timeline import Happened
from delaylab.resolve.lab import Step
from delaylab_study.trial.event_tables import while_running


def step(at_ns: int, *dead: str) -> Happened:
    found = Step(at_ns=0, dead=frozenset(dead))
    return Happened(found, at_ns, at_ns + 1, at_ns + 2)


KILLED_AND_STARTED = [step(10, "c"), step(50)]


@pytest.mark.parametrize(
    ("begin_ns", "end_ns", "counts_from"),
    [(11, 80, 51), (11, None, 51), (11, 40, None), (60, 80, 60), (5, 80, 5), (None, 80, None)],
)
def test_trouble_of_a_dead_node_counts_from_its_start(
    begin_ns: int | None, end_ns: int | None, counts_from: int | None
) -> None:
    found = Interval("10.0.0.3", "black hole", frozenset("a"), begin_ns, end_ns)
    counted = while_running(found, {"a", "c"}, KILLED_AND_STARTED)
    if end_ns == 40:
        assert counted is None, "it ended before the node was started"
    else:
        assert counted is not None
        assert (counted.begin_ns, counted.end_ns) == (counts_from, end_ns)
    assert while_running(found, {"a", "b"}, KILLED_AND_STARTED) == found, "of nodes that ran"
