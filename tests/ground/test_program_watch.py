"""While routers converge, their nodes are seldom asked whether a program has ended."""

from __future__ import annotations

import pytest

from delaylab.agent.wire.programs import ProgramState
from delaylab.lab.programs import programs
from delaylab.lab.routing import converged
from delaylab.lab.running import LiveLab


class Clock:
    """A clock that stands still unless nodes are asked."""

    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


def test_nodes_are_asked_for_at_most_a_twentieth_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, calls = Clock(), 0

    def states(_lab: LiveLab) -> dict[str, list[ProgramState]]:
        nonlocal calls
        calls += 1
        clock.now_s += 1
        return {}

    monkeypatch.setattr(converged, "time", clock)
    monkeypatch.setattr(programs, "states", states)
    watch = converged._ProgramWatch(object())  # type: ignore[arg-type]
    watch.look()
    clock.now_s += converged.PAUSE - 1
    watch.look()
    assert calls == 1
    watch.look(last=True)
    assert calls == 2, "the last time, the reason is always looked for"
    clock.now_s += converged.PAUSE
    watch.look()
    assert calls == 3
