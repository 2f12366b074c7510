"""Estimate of the time that a study takes, before it runs."""

from __future__ import annotations

import os

from delaylab.api.kinds import NodeSpec
from delaylab.api.lab import Lab, round_trip_ns
from delaylab.api.lab_files import RoutingSpec
from delaylab.api.plans import KINDS
from delaylab.api.units import Duration
from delaylab_study.study.block_rates import Key, key
from delaylab_study.study.order import Planned
from delaylab_study.study_file.loads import FramesLoad, HeldFramesLoad
from delaylab_study.study_file.probe import Pace, ProbeSpec
from delaylab_study.study_file.work import ORDER, CpuWork, MpiWork, ScpWork, TcpWork
from delaylab_study.trial.rest import schedule
from delaylab_study.trial.without_probe import REST_S

LAB_S = 0.05
"""The time to start and to end a lab of namespaces, in seconds."""
LOAD_S = 0.4
"""The time until a load works, and until it has ended, in seconds."""
FRAMES_S = 3.0
"""The time that a load of frames takes besides, in seconds: until neighbours are known and buffers
are full, and at its end until the last frames have come."""
SEARCH_S, SEARCH_OF_ENGINE_S = 7.0, 25.0
"""The time of one search for the rate of a load, in seconds: in a lab without link engine, where
the generator is the bound after few bursts, and in one with it. Measured on two CPUs by `delaylab
run vem2006-routers --only routers=10 --only kind=netns --only size=64`."""
SEARCH_OF_MACHINES_S, SEARCH_OF_MACHINES_AND_ENGINE_S = 20.0, 125.0
"""The same with virtual machines, which are slow to settle after each burst; measured by `delaylab
run vem2006-routers --only routers=4` and `delaylab run vem2006-isolation`."""
SEARCH_OF_XEN_S = 115.0
"""The same with domains of an emulated Xen: the mean of `delaylab run vem2006-routers`, 60 s with
one router and 170 s with two."""
PHASE_S = 0.05
"""The time that a phase of a trial, or a block of one, takes beside its packets, in seconds."""
FINISH_S, PACKET_S = 3.0, 0.0002
"""The time of the analysis and the report, in seconds: in all, and for each packet."""
ROUND_TRIP_S = 0.0005
"""The time that a packet of a closed loop takes, in seconds."""
UNIT_S = 0.00017
"""The time that a unit of arithmetic takes, in seconds, with a CPU for itself."""
COPY_BYTE_S = 1e-8
"""The time that a byte of a copy by scp takes over a fast link, in seconds."""
LATENCY_S = 4.0
"""The time of `mpi: latency` on two nodes at a fast link, in seconds."""
HPCC_S = 10.0
"""The time of hpcc with `ORDER` equations on such nodes, in seconds."""
SETTLES_S, ROUTER_S = 5.0, 0.1
"""The time after the dead interval until all routers are right, and the time to start the daemons
of a router, in seconds. Measured by `delaylab run vem2006-ospf`."""
CORES = os.cpu_count() or 1
"""The number of CPUs, by which guests that boot together share the work."""


def trials_s(planned: list[Planned]) -> list[float]:
    """Return the estimated seconds of each trial.

    A trial whose lab is also that of the trial before it does not wait for the lab to start.
    """
    before: list[Planned | None] = [None, *planned[:-1]]
    known: set[Key] = set()
    return [
        _measured_s(item) + _searches_s(item, known) + (0 if _shares(item, last) else _boot_s(item))
        for item, last in zip(planned, before, strict=True)
    ]


def finish_s(planned: list[Planned]) -> float:
    """Return the estimated seconds from the last trial to the report."""
    return FINISH_S + PACKET_S * sum(packets(item) for item in planned)


def packets(item: Planned) -> int:
    """Return the number of packets that a trial sends under load; 0 without a probe."""
    probe = item.combination.probe
    return 0 if probe is None else probe.count


def every_s(item: Planned) -> float:
    """Return the estimated seconds between two packets of a trial with a probe."""
    probe = item.combination.probe
    if probe is None:
        return 0.0
    return _between_s(probe.pace, _round_trip_s(probe, item.combination.lab))


def _measured_s(item: Planned) -> float:
    """Return the estimated seconds of a trial in a lab that is up."""
    probe, loads = item.combination.probe, item.combination.loads
    frames = [load for load in loads if isinstance(load, FramesLoad)]
    loads_s = LOAD_S * len(loads) + FRAMES_S * len(frames)
    if probe is None:
        return loads_s + 2 * REST_S + _work_s(item) + PHASE_S
    round_trip_s = _round_trip_s(probe, item.combination.lab)
    # Nobody knows when a load pauses: at worst the deadline ends the wait.
    again_s = again_most_s(probe) if loads else 0.0
    return loads_s + _packets_s(probe, round_trip_s, _work_s(item)) + again_s


def again_most_s(probe: ProbeSpec) -> float:
    """Return the longest time for which packets are sent again, in seconds."""
    if probe.clean is None or not isinstance(probe.pace, Duration):
        return 0.0
    return probe.clean.lasts_s(probe.count, probe.pace)


def _round_trip_s(probe: ProbeSpec, lab: Lab) -> float:
    """Return the longest round trip, in seconds, that the probe's path is configured for."""
    return 0.0 if probe.outside else round_trip_ns(lab, probe.sender, probe.to) / 1e9


def _packets_s(probe: ProbeSpec, round_trip_s: float, work_s: float) -> float:
    """Return the estimated seconds of all phases of a probe, beside work that takes `work_s`.

    Each phase waits for its last reply, and the first one for the neighbour's address.
    """
    rest_s = _between_s(probe.pace_at_rest, round_trip_s) * probe.at_rest * 3
    phases = 2 + len(schedule(probe.at_rest, 1)) if probe.at_rest else 1
    under_load_s = max(probe.count * _between_s(probe.pace, round_trip_s), work_s)
    return rest_s + under_load_s + phases * (PHASE_S + round_trip_s) + round_trip_s


def _work_s(item: Planned) -> float:
    """Return the estimated seconds of a trial's work. The time of a command is not known: 0."""
    work = item.combination.work
    busy_s = [UNIT_S * each.cpu for each in work if isinstance(each, CpuWork) for _ in each.on]
    copies = (each for each in work if isinstance(each, ScpWork))
    busy_s += [COPY_BYTE_S * each.scp.bytes for each in copies for _ in each.on]
    programs_s = [_mpi_s(each) for each in work if isinstance(each, MpiWork) and each.on]
    streams_s = [each.tcp.seconds for each in work if isinstance(each, TcpWork)]
    events_s = _events_s(item.combination.lab)
    return max([0.0, *busy_s, sum(busy_s) / CORES, *streams_s, *programs_s, events_s])


def _events_s(lab: Lab) -> float:
    """Return the estimated seconds of a lab's timeline, until routers are right after its events.

    A silent neighbour is given up after the dead interval; a new one is heard after the hello
    interval, and known a few packets later.
    """
    if not lab.has_events:
        return 0.0
    last_s = max(step.at_ns for step in lab.steps) / 1e9
    return last_s + max((_settles_s(each) for each in lab.nodes.values()), default=0.0)


def _settles_s(node: NodeSpec) -> float:
    """Return the seconds in which a router notices a change, and has passed it on."""
    routing = node.routing
    if not isinstance(routing, RoutingSpec) or routing.ospf is None:
        return 0.0
    return routing.ospf.dead.seconds + SETTLES_S


def _mpi_s(work: MpiWork) -> float:
    """Return the estimated seconds of a program of MPI.

    hpcc updates memory at random for most of its time, and that memory grows with the square of the
    number of equations.
    """
    if work.equations is None:
        return LATENCY_S
    return HPCC_S * (work.equations / ORDER) ** 2


def _between_s(pace: Pace, round_trip_s: float) -> float:
    """Return the estimated seconds between two packets."""
    return pace.seconds if isinstance(pace, Duration) else ROUND_TRIP_S + round_trip_s


def _searches_s(item: Planned, known: set[Key]) -> float:
    """Return the estimated seconds of a trial's searches; `known` are those made before it."""
    held = [load for load in item.combination.loads if isinstance(load, HeldFramesLoad)]
    new = [load for load in held if not load.once_across or key(item, load) not in known]
    known.update(key(item, load) for load in new)
    return _search_s(item.combination.lab) * len(new)


def _search_s(lab: Lab) -> float:
    engine = any(link.conditioned for link in lab.links.values())
    nodes = lab.nodes.values()
    if not any(node.virtual_machine for node in nodes):
        return SEARCH_OF_ENGINE_S if engine else SEARCH_S
    if engine:
        return SEARCH_OF_MACHINES_AND_ENGINE_S
    return SEARCH_OF_XEN_S if any(node.kind == "xen" for node in nodes) else SEARCH_OF_MACHINES_S


def _boot_s(item: Planned) -> float:
    """Return the estimated seconds that a trial's lab takes to start; guests boot side by side."""
    nodes = item.combination.lab.nodes.values()
    boots = [KINDS[spec.kind].boot_s for spec in nodes]
    routers_s = max((_settles_s(spec) for spec in nodes), default=0.0)
    routers_s += ROUTER_S * sum(spec.has_daemons for spec in nodes)
    return LAB_S + max(0.0, *boots, sum(boots) / CORES) + routers_s


def _shares(item: Planned, last: Planned | None) -> bool:
    return last is not None and last.lab is item.lab
