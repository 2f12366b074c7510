"""One trial without a probe: the machine at rest, work under its loads, at rest again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Literal

from delaylab.api.agents import Loop, Session
from delaylab.api.lab_files import CONGESTION_CONTROL
from delaylab.api.machines import congestion_control
from delaylab.api.running import LiveLab
from delaylab_study import loads
from delaylab_study.dataset.records.trial import Measurement, PhaseTime
from delaylab_study.study_file.combine import Combination
from delaylab_study.trial import changed_links, events
from delaylab_study.trial.comparisons import comparing
from delaylab_study.trial.machine_states import READY_S, recording_machines
from delaylab_study.trial.recording import (
    Recorded,
    clock_doubts,
    hosts_of,
    reserved,
    wall_minus_monotonic,
)
from delaylab_study.trial.under_load import under_load
from delaylab_study.work import study as work
from delaylab_study.work.crew import Crew

REST_S = 1.0
"""The length of each phase at rest, in seconds: ten samples of the machine's state."""


def measure(
    lab: LiveLab, combination: Combination, rates: Sequence[loads.FoundRate] = ()
) -> Recorded:
    """Measure in a running lab; `rates` are those of loads that need no search.

    The phases are `before` (at rest), `load`, and `after` (at rest again). The loads are active
    before the work begins, and the phase `load` lasts until all work has ended.
    """
    events.prepare(lab)
    clock_before, changes_before = wall_minus_monotonic(), changed_links.requests(lab)
    with comparing(lab) as compared, recording_machines(lab) as machines:
        before = _rest(machines.sessions, "before")
        times: list[PhaseTime] = []

        def work_alone(
            load: loads.RunningLoads, crew: Crew, happening: events.RunningEvents
        ) -> None:
            start_ns = time.time_ns()
            crew.go()
            crew.wait([*machines.sessions, *load.sessions])
            happening.wait([*machines.sessions, *load.sessions])
            times.append(PhaseTime(phase="load", start_ns=start_ns, end_ns=time.time_ns()))

        loaded = under_load(lab, combination, None, rates, work_alone)
        after = _rest(machines.sessions, "after")
        for recorder in machines.sessions:
            recorder.stop()
        for recorder in machines.sessions:
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
        tcp_congestion_control=combination.lab.sysctls.get(CONGESTION_CONTROL)
        or congestion_control(),
        ahead_ns=machines.ahead_ns,
        underlays=compared.underlays,
        closed=compared.closed,
        links=loaded.links,
        events=loaded.events.records,
    )
    return Recorded(record, machines.table, work.progress(loaded.crew), loaded.events.tables)


def _rest(recorders: Iterable[Session], phase: Literal["before", "after"]) -> PhaseTime:
    """Let the machines be recorded at rest; raise AgentError at once if a recorder fails."""
    start_ns, end_s = time.time_ns(), time.monotonic() + REST_S
    loop = Loop()
    for recorder in recorders:
        loop.add(recorder, recorder.check)
    loop.run(lambda: False, end_s)
    return PhaseTime(phase=phase, start_ns=start_ns, end_ns=time.time_ns())
