"""One trial without a probe: the machine at rest, work under its loads, at rest again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

from delaylab import loads
from delaylab.agent.session import Session
from delaylab.agent.stream import Loop
from delaylab.dataset.records.trial import Measurement, PhaseTime
from delaylab.lab.running import Lab
from delaylab.spec.study.combine import Combination
from delaylab.trial import changed_links, events
from delaylab.trial.comparisons import comparing
from delaylab.trial.instruments import READY_S, recording_machine
from delaylab.trial.recording import (
    Recorded,
    clock_doubts,
    hosts_of,
    machine_record,
    reserved,
    wall_minus_monotonic,
)
from delaylab.trial.under_load import under_load
from delaylab.work import study as work
from delaylab.work.crew import Crew

REST_S = 1.0
"""The length of each phase at rest, in seconds: ten samples of the machine's state."""


def measure(lab: Lab, combination: Combination, rates: Sequence[loads.FoundRate] = ()) -> Recorded:
    """Measure in a running lab; `rates` are those of loads that need no search.

    The phases are `before` (at rest), `load`, and `after` (at rest again). The loads are active
    before the work begins, and the phase `load` lasts until all work has ended.
    """
    events.prepare(lab)
    clock_before, changes_before = wall_minus_monotonic(), changed_links.requests(lab)
    with comparing(lab) as compared, recording_machine(lab) as (recorder, machine):
        before = _rest(recorder, "before")
        times: list[PhaseTime] = []

        def work_alone(load: loads.Running, crew: Crew, happening: events.Running) -> None:
            start_ns = time.time_ns()
            crew.go()
            crew.wait([recorder, *load.sessions])
            happening.wait([recorder, *load.sessions])
            times.append(PhaseTime(phase="load", start_ns=start_ns, end_ns=time.time_ns()))

        loaded = under_load(lab, combination, None, rates, work_alone)
        after = _rest(recorder, "after")
        recorder.stop()
        recorder.finish(READY_S)
    clock_step = wall_minus_monotonic() - clock_before
    changed = changed_links.doubts(changes_before, changed_links.requests(lab))
    record = Measurement(
        phases=[before, *times, after],
        hosts=hosts_of(lab),
        warnings=[*lab.warnings, *clock_doubts(clock_step), *work.doubts(loaded.crew), *changed],
        loads=[achieved.record() for achieved in loaded.loads.achieved],
        work=work.records(loaded.crew, combination.work, combination.lab),
        domains=loaded.domains,
        reserved=reserved(combination.lab),
        images=dict(lab.images),
        underlays=compared.underlays,
        links=loaded.links,
        events=loaded.events.records,
    )
    hosts, progress = machine_record(lab, machine.table("hosts")), work.progress(loaded.crew)
    return Recorded(record, hosts, progress, loaded.events.tables)


def _rest(recorder: Session, phase: Literal["before", "after"]) -> PhaseTime:
    """Let the machine be recorded at rest; raise AgentError at once if its recorder fails."""
    start_ns, end_s = time.time_ns(), time.monotonic() + REST_S
    loop = Loop()
    loop.add(recorder, recorder.check)
    loop.run(lambda: False, end_s)
    return PhaseTime(phase=phase, start_ns=start_ns, end_ns=time.time_ns())
