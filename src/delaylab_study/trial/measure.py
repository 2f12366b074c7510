"""One trial: a lab, a load and a probe; at rest, under load, at rest again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from delaylab.api.agents import AgentError, Counters, FindRoute, ReflectDone, Result, of_protocol
from delaylab.api.errors import DelaylabError
from delaylab.api.lab_files import CONGESTION_CONTROL
from delaylab.api.machines import congestion_control
from delaylab.api.names import node_agent
from delaylab.api.plans import PlannedHop, ProbeWay, outside_way, probe_way
from delaylab.api.points import RESPONDER
from delaylab.api.records import Doubt, DoubtKind, TapRecord, doubt
from delaylab.api.running import LiveLab
from delaylab_study import loads
from delaylab_study.dataset.records.trial import (
    ECHO_REPLIES_6,
    OUTSIDE,
    ClockReading,
    Endpoint,
    Measurement,
    PointPlace,
)
from delaylab_study.dataset.records.ways import Hop, Way
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.probe import ClosedLoop, ProbeSpec
from delaylab_study.trial import changed_links, clock_readings, phases, stamps
from delaylab_study.trial.comparisons import ClockComparisons, comparing
from delaylab_study.trial.gone_ways import with_gone_ways
from delaylab_study.trial.instruments import cut_captures
from delaylab_study.trial.ports import port
from delaylab_study.trial.recording import (
    Recording,
    clock_doubts,
    hosts_of,
    reserved,
    wall_minus_monotonic,
)
from delaylab_study.work import study as work


def measure(
    lab: LiveLab,
    combination: Combination,
    probe_id: int,
    pcap: Path | None = None,
    rates: Sequence[loads.FoundRate] = (),
) -> Recording:
    """Measure in a running lab; `rates` are those of loads that need no search.

    The combination has a probe; `without_probe` measures those that have none. The phases are
    `untapped` and `before` (at rest, with the taps off and on by turns, so that their cost can be
    determined), `load`, and `after` (at rest again). Work begins with the first packet under load,
    and the phase ends when the work has ended, too.
    """
    probe = combination.probe
    if probe is None:
        raise ValueError("the combination has no probe")
    path = _path(lab, combination, probe)
    with comparing(lab) as compared:
        before = _around(lab, probe)
        done = phases.run(lab, combination, probe, path, probe_id, pcap=pcap, rates=rates)
        after = _around(lab, probe)
    table = stamps.taken(lab, done.sender, done.instruments, again=bool(path.beside))
    if path.beside:
        gone = stamps.passed(table)
        path = with_gone_ways(path, lab.plan, combination.lab, probe, gone)
    if done.instruments.no_service is not None:
        path = path.without_service(done.instruments.no_service)
    return Recording(
        record=_measurement(
            lab, combination, probe, path, done, (before, after), compared=compared
        ),
        hosts=done.instruments.machines.table,
        progress=work.progress(done.under_load.crew),
        of_routers=done.under_load.events.tables,
        stamps=table,
        probes=done.packets,
        answers=done.sender.answers,
        comparisons=compared.table,
        of_cpus=done.cpus.tables,
    )


@dataclass(frozen=True)
class _Around:
    """Clocks, and the responder's ICMP counters, just before the phases of a trial or after them.

    `wall_ns` is how far the machine's clock is ahead of its monotonic one. `changes` counts the
    changes of each link by `link set`.
    """

    readings: list[ClockReading]
    icmp: dict[str, int]
    wall_ns: int
    changes: Counter[str]


def _around(lab: LiveLab, probe: ProbeSpec) -> _Around:
    responder = _responder(probe)
    ends = [node_agent(probe.sender), *([responder] if responder else [])]
    readings = clock_readings.read(lab, ends)
    icmp, wall_ns = _icmp(lab, responder), wall_minus_monotonic()
    return _Around(readings, icmp, wall_ns, changed_links.requests(lab))


def _responder(probe: ProbeSpec) -> str | None:
    """Return the responder's agent, None if the responder is outside of the lab."""
    return None if probe.outside else node_agent(probe.to)


def _measurement(
    lab: LiveLab,
    combination: Combination,
    probe: ProbeSpec,
    path: ProbeWay,
    done: phases.Phases,
    around: tuple[_Around, _Around],
    *,
    compared: ClockComparisons,
) -> Measurement:
    """Return the record of a trial from what its phases left."""
    before, after = around
    loaded, pace = done.under_load, done.pace
    return Measurement(
        sender=_endpoint(combination, probe.sender),
        responder=_far_end(combination, probe),
        protocol=probe.protocol,
        answered_by=probe.responder,
        port=port(probe) if probe.protocol != "icmp" else None,
        size_bytes=0 if probe.by_port else probe.size,
        interval_ns=0 if isinstance(pace, ClosedLoop) else pace.ns,
        timeout_ns=pace.timeout.ns if isinstance(pace, ClosedLoop) else None,
        rate_search=done.search,
        ways=[_recorded(way) for way in path.every],
        live_ways=bool(path.beside),
        hosts=hosts_of(lab),
        places=_places(path, probe),
        absent=path.absent,
        clock=done.sender.clock,
        clock_readings=[*before.readings, *after.readings],
        comparisons=compared.records,
        ahead_ns=done.instruments.machines.ahead_ns,
        time_sync=compared.time_sync,
        underlays=compared.underlays,
        closed=compared.closed,
        warnings=_warnings(lab, done, before, after),
        loads=[achieved.record() for achieved in loaded.loads.achieved],
        work=work.records(loaded.crew, combination.work, combination.lab),
        domains=loaded.domains,
        reserved=reserved(combination.lab),
        images=dict(lab.images),
        tcp_congestion_control=combination.lab.sysctls.get(CONGESTION_CONTROL)
        or congestion_control(),
        taps=done.instruments.tapped,
        rest_blocks=done.rest,
        clean=done.feedback,
        repeats=stamps.repeats(done.instruments.taps.values(), done.packets),
        links=loaded.links,
        events=loaded.events.records,
        responder_icmp=_counted(before.icmp, after.icmp),
    )


def _places(path: ProbeWay, probe: ProbeSpec) -> dict[str, PointPlace]:
    found = path.places(node_agent(probe.sender), _responder(probe))
    return {point: PointPlace(at=at, interface=card) for point, (at, card) in found.items()}


def _counted(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Return by how much each counter grew; one that is not known afterwards did not."""
    return {name: after.get(name, count) - count for name, count in before.items()}


def _warnings(lab: LiveLab, done: phases.Phases, before: _Around, after: _Around) -> list[Doubt]:
    taps = done.instruments.tapped
    return [
        *done.sender.doubts,
        *lab.warnings,
        *_tap_warnings(taps),
        *_foreign(taps, done.instruments.reflector.values()),
        *cut_captures(done.instruments),
        *done.cpus.doubts,
        *clock_doubts(after.wall_ns - before.wall_ns),
        *work.doubts(done.under_load.crew),
        *changed_links.doubts(before.changes, after.changes),
    ]


def _recorded(way: ProbeWay) -> Way:
    """Return the way that the plan expects, in the record's form; the taps stand on it."""
    return Way(
        request=list(way.request),
        reply=list(way.reply),
        hops=_hops(way.hops),
        back=None if way.back is None else _hops(way.back),
    )


def _hops(hops: Iterable[PlannedHop]) -> list[Hop]:
    return [Hop(**asdict(hop)) for hop in hops]


def _far_end(combination: Combination, probe: ProbeSpec) -> Endpoint:
    if probe.outside:
        return Endpoint(node=probe.to, host=OUTSIDE, kind=OUTSIDE)
    return _endpoint(combination, probe.to)


def _endpoint(combination: Combination, node: str) -> Endpoint:
    lab = combination.lab
    return Endpoint(node=node, host=lab.host_of(node), kind=lab.nodes[node].kind)


def _path(lab: LiveLab, combination: Combination, probe: ProbeSpec) -> ProbeWay:
    """Return the probe's way; raise DelaylabError if the sender has no route outside."""
    if not probe.outside:
        return probe_way(lab.plan, combination.lab, probe)
    session = lab.node_session(probe.sender)
    try:
        interface = session.call(FindRoute(to=probe.to)).done.interface
    except AgentError as error:
        what = f"node {probe.sender!r} has no route to {probe.to}"
        fix = "the sender is a node in this machine's own stack: `native` without a host"
        raise DelaylabError(what, fix=fix) from error
    finally:
        session.close()
    return outside_way(lab.plan, probe, interface)


def _icmp(lab: LiveLab, agent: str | None) -> dict[str, int]:
    if agent is None:
        return {}
    session = lab.session(agent)
    done = session.call(Counters()).done
    session.close()
    # A kernel without IPv6 has no such counters.
    by_6 = of_protocol(done, "Icmp6", agent) if done.snmp.get("Icmp6") else {}
    return {**of_protocol(done, "Icmp", agent), ECHO_REPLIES_6: by_6.get(ECHO_REPLIES_6, 0)}


def _foreign(taps: list[TapRecord], reflectors: Iterable[Result[ReflectDone]]) -> Iterator[Doubt]:
    """Yield a doubt for each point at which somebody else's packets passed as the probe's."""
    at_taps = [(tap.point, tap.unsent) for tap in taps]
    for point, packets in [*at_taps, *((RESPONDER, each.done.unsent) for each in reflectors)]:
        if packets:
            yield doubt(
                DoubtKind.FOREIGN_PACKETS,
                f"{packets} packets at {point} had the probe's number and a sequence number that "
                "it does not use: another node sent them",
                "find out who (`run --pcap`); such a node may also have answered in another's name",
                point=point,
                packets=packets,
            )


def _tap_warnings(taps: list[TapRecord]) -> list[Doubt]:
    again = [
        doubt(
            DoubtKind.DROPPED_STAMPS,
            f"the tap at {tap.point} saw packets again {tap.repeated} times, and did not keep "
            f"{tap.unkept} of these stamps",
            "look for a loop, or for a node that sends packets again (`run --pcap`)",
            point=tap.point,
            unkept=tap.unkept,
        )
        for tap in taps
        if tap.unkept
    ]
    return again + [
        doubt(
            DoubtKind.DROPPED_STAMPS,
            f"the tap at {tap.point} dropped {tap.dropped} packets",
            "lower the probe's rate, or give the host a CPU of its own",
            point=tap.point,
            dropped=tap.dropped,
        )
        for tap in taps
        if tap.dropped
    ]
