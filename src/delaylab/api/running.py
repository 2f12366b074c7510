"""A running lab: started, asked, changed."""

from __future__ import annotations

from delaylab.lab.attach import attach
from delaylab.lab.completion import is_emulated
from delaylab.lab.cpus import check_cpus
from delaylab.lab.links.crossings import closed as closed_ways
from delaylab.lab.links.link_changes import hold_timeline
from delaylab.lab.links.link_engines import reports as link_reports
from delaylab.lab.links.passages import LinkRecords
from delaylab.lab.links.underlays import joined as joined_machines
from delaylab.lab.links.underlays import record as record_of_underlay
from delaylab.lab.memory import check_memory
from delaylab.lab.packages import QUERY, check_packages
from delaylab.lab.routing.converged import await_converged
from delaylab.lab.routing.faults import faults
from delaylab.lab.routing.observer import Observer, observing
from delaylab.lab.routing.routers import (
    adjacencies,
    devices_at,
    faults_after,
    print_adjacencies,
    silent_devices,
    waits,
)
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.lab.timeline import Happened, Timeline
from delaylab.lab.timeline import at_rest as timeline_at_rest
from delaylab.lab.timeline import begin as begin_timeline
from delaylab.lab.timeline import restore as restore_timeline

__all__ = [
    "QUERY",
    "Happened",
    "LinkRecords",
    "LiveLab",
    "Observer",
    "Timeline",
    "adjacencies",
    "attach",
    "await_converged",
    "begin_timeline",
    "check_cpus",
    "check_memory",
    "check_packages",
    "closed_ways",
    "devices_at",
    "faults",
    "faults_after",
    "hold_timeline",
    "is_emulated",
    "joined_machines",
    "link_reports",
    "observing",
    "print_adjacencies",
    "record_of_underlay",
    "restore_timeline",
    "silent_devices",
    "temporary",
    "timeline_at_rest",
    "waits",
]
