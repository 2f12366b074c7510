"""One trial without a probe: the machine at rest, work under its loads, at rest again."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from typing import Literal

from delaylab import loads
from delaylab.agent.session import Session
from delaylab.dataset.records.phases import PhaseTime
from delaylab.dataset.records.trial import Measurement
from delaylab.lab import link_changes, link_engines
from delaylab.lab.running import Lab
from delaylab.spec.combine import Combination
from delaylab.trial.instruments import READY_S, recording_machine
from delaylab.trial.recording import Recorded, clock_doubts, reserved, wall_minus_monotonic
from delaylab.work import study as work

REST_S = 1.0
"""The length of each phase at rest, in seconds: ten samples of the machine's state."""


def measure(lab: Lab, combination: Combination, rates: Sequence[loads.FoundRate] = ()) -> Recorded:
    """Measure in a running lab; `rates` are those of loads that need no search.

    The phases are `before` (at rest), `load`, and `after` (at rest again). The loads are active
    before the work begins, and the phase `load` lasts until all work has ended.
    """
    clock_before = wall_minus_monotonic()
    with recording_machine(lab) as recorder:
        before = _rest(recorder, "before")
        with (
            loads.running(lab, combination.loads, None, rates) as load,
            work.prepared(lab, combination.work) as crew,
        ):
            link_changes.start_timeline(lab)
            first = link_engines.reports(lab, reset=True)
            start_ns = time.time_ns()
            crew.go()
            crew.wait([recorder, *load.sessions])
            under_load = PhaseTime(phase="load", start_ns=start_ns, end_ns=time.time_ns())
            links = link_engines.since(lab, first)
            domains = work.domain_times(crew, lab)
        after = _rest(recorder, "after")
        recorder.stop()
        machine = recorder.finish(READY_S)
    clock_step = wall_minus_monotonic() - clock_before
    record = Measurement(
        phases=[before, under_load, after],
        warnings=[*lab.warnings, *clock_doubts(clock_step), *work.doubts(crew)],
        loads=[achieved.record() for achieved in load.achieved],
        work=work.records(crew, combination.work, combination.lab),
        domains=domains,
        reserved=reserved(combination.lab),
        links=links,
    )
    return Recorded(record, machine.table("hosts"), work.progress(crew))


def _rest(recorder: Session, phase: Literal["before", "after"]) -> PhaseTime:
    """Let the machine be recorded at rest; raise AgentError at once if its recorder fails."""
    start_ns, end_s = time.time_ns(), time.monotonic() + REST_S
    poll = select.poll()
    poll.register(recorder.fileno(), select.POLLIN)
    while (left_s := end_s - time.monotonic()) > 0:
        if poll.poll(left_s * 1000):
            recorder.check()
    return PhaseTime(phase=phase, start_ns=start_ns, end_ns=time.time_ns())
