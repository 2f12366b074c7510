"""Reader of the agent's answer to `compute`, which shows how the work went on."""

from __future__ import annotations

from delaylab.api.agents import ComputeDone, Result
from delaylab_study.work.jobs import JobResult, done_of, seconds_of


def computed(result: Result[ComputeDone]) -> JobResult:
    """Return the units of arithmetic per second, with the time at which each part was done."""
    done = result.done
    rate = done.units / seconds_of(done)
    progress = tuple(
        (time_ns - done.began_ns, float(units))
        for part in result.rows("progress")
        for time_ns, units in zip(part.numbers["time_ns"], part.numbers["units"], strict=True)
    )
    return done_of(done, rate, progress=progress)
