"""The part of a trial under load: loads act, nodes work, and reports tell what the links did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from delaylab.api.records import EngineReport
from delaylab.api.running import LiveLab, hold_timeline, link_reports
from delaylab.api.units import Duration
from delaylab_study import loads
from delaylab_study.dataset.records.work import DomainTime
from delaylab_study.study_file.combine import Combination
from delaylab_study.trial import events
from delaylab_study.trial.events import Events
from delaylab_study.work import study as work
from delaylab_study.work.crew import Crew

Meanwhile = Callable[[loads.RunningLoads, Crew, events.RunningEvents], None]
"""A function that is called once all loads act, all work is ready and the timeline has begun."""


@dataclass(frozen=True)
class UnderLoad:
    """The results of loads, work, links and Xen's domains."""

    loads: loads.RunningLoads
    crew: Crew
    links: list[EngineReport]
    domains: list[DomainTime]
    events: Events


def under_load(
    lab: LiveLab,
    combination: Combination,
    arrives_by: str | None,
    rates: Sequence[loads.FoundRate],
    meanwhile: Meanwhile,
) -> UnderLoad:
    """Call `meanwhile` while the loads act and the work is ready, and return what all of it did.

    Just before, the links return to the conditions of the lab file, and the timeline begins. It
    lasts until all events have happened, and the tables of routers with daemons are right again.
    `arrives_by` is the link by which a probe's packets arrive. `rates` are those of loads that need
    no search.
    """
    with (
        loads.running(lab, combination.loads, arrives_by, rates, _foreseen_s(combination)) as load,
        work.prepared(lab, combination.work) as crew,
        events.running(lab) as happening,
    ):
        # The counts begin with the conditions of the file, not with those that the timeline left.
        hold_timeline(lab)
        link_reports(lab, reset=True)
        happening.begin()
        meanwhile(load, crew, happening)
        links = link_reports(lab)
        domains = work.domain_times(crew, lab)
        recorded = happening.recorded()
    return UnderLoad(load, crew, links, domains, recorded)


def _foreseen_s(combination: Combination) -> float | None:
    """Return how long the packets under load will take; None if replies or work decide."""
    probe = combination.probe
    if probe is None or combination.work or not isinstance(probe.pace, Duration):
        return None
    again_s = probe.clean.lasts_s(probe.count, probe.pace) if probe.clean else 0.0
    return (probe.count * probe.pace.ns + probe.late.ns) / 1e9 + again_s
