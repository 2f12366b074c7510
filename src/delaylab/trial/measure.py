"""One trial: a lab, a load and a probe; at rest, under load, at rest again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import polars as pl

from delaylab import loads
from delaylab.agent.measuring_requests import Counters, Route
from delaylab.agent.result import AgentError
from delaylab.dataset.records.doubts import Doubt, DoubtKind, doubt
from delaylab.dataset.records.rates import Search
from delaylab.dataset.records.taps import Tap
from delaylab.dataset.records.trial import OUTSIDE, Endpoint, Hop, Measurement, PointPath
from delaylab.errors import DelaylabError
from delaylab.lab import link_changes, link_engines
from delaylab.lab.running import Lab
from delaylab.lab.start import temporary
from delaylab.plan.agent_names import host_agent, node_agent
from delaylab.plan.outside import outside_path
from delaylab.plan.points import ProbePath, probe_path
from delaylab.spec.combine import Combination
from delaylab.spec.study import ClosedLoop, ProbeSpec
from delaylab.trial import clock_readings, rate_search, repeats
from delaylab.trial.instruments import Instruments, Stopped, listening, stop, switch_taps, tap
from delaylab.trial.recording import Recording, clock_doubts, reserved, wall_minus_monotonic
from delaylab.trial.rest import alternate, schedule
from delaylab.trial.sender import Sender
from delaylab.units import Duration
from delaylab.work import study as work

LEGS = ("request", "reply")
SENDER, RESPONDER = "sender", "responder"


def run(combination: Combination, probe_id: int, pcap: Path | None = None) -> Recording:
    """Start the lab, measure, and take it down; raise DelaylabError if any part failed.

    `pcap` is a folder that gets the packets themselves, one pcapng file per agent with taps.
    """
    with temporary(combination.lab) as lab:
        return measure(lab, combination, probe_id, pcap)


def measure(
    lab: Lab,
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
    responder = None if probe.outside else node_agent(probe.to)
    ends = [node_agent(probe.sender), *([responder] if responder else [])]
    here = lab.clock(host_agent(combination.lab.host_of(probe.sender)))
    read = clock_readings.read(lab, ends, here)
    clock_before = wall_minus_monotonic()
    icmp_before = _icmp(lab, responder)
    arrives_by = path.hops[-1].link if path.hops else None
    with listening(lab, probe, probe_id) as instruments:
        sender = Sender(lab, path, probe, probe_id, instruments)
        link_changes.start_timeline(lab)
        tap(instruments, lab, path, probe, probe_id, pcap)
        blocks = schedule(probe.at_rest, probe_id)
        rest = alternate(sender, blocks, probe.pace_at_rest, partial(switch_taps, instruments))
        found = _search(probe, sender)
        pace = Duration(found.interval_ns) if found else probe.pace
        with (
            loads.running(lab, combination.loads, arrives_by, rates) as load,
            work.prepared(lab, combination.work) as crew,
        ):
            link_changes.start_timeline(lab)
            first = link_engines.reports(lab, reset=True)
            crew.go()
            sender.run("load", probe.count, pace, [*load.sessions, *crew.workers])
            crew.wait([*load.sessions, *instruments.all()])
            links = link_engines.since(lab, first)
            domains = work.domain_times(crew, lab)
        sender.run("after", probe.at_rest, probe.pace_at_rest)
        recorded = stop(instruments)
    read += clock_readings.read(lab, ends, here)
    icmp_after = _icmp(lab, responder)
    clock_step = wall_minus_monotonic() - clock_before
    packets = pl.concat(sender.packets)
    taps = [entry for result in recorded.taps for entry in result.done.interfaces]
    measurement = Measurement(
        sender=_endpoint(combination, probe.sender),
        responder=(
            _endpoint(combination, probe.to)
            if responder
            else Endpoint(node=probe.to, host=OUTSIDE, kind=OUTSIDE)
        ),
        protocol=probe.protocol,
        size_bytes=0 if probe.connects else probe.size,
        interval_ns=0 if isinstance(pace, ClosedLoop) else pace.ns,
        timeout_ns=pace.timeout.ns if isinstance(pace, ClosedLoop) else None,
        rate_search=found,
        path=PointPath(request=list(path.request), reply=list(path.reply)),
        absent=path.absent,
        clock=sender.clock,
        clock_readings=read,
        warnings=[
            *sender.warnings,
            *lab.warnings,
            *_tap_warnings(taps),
            *clock_doubts(clock_step),
            *work.doubts(crew),
        ],
        loads=[achieved.record() for achieved in load.achieved],
        work=work.records(crew, combination.work, combination.lab),
        domains=domains,
        reserved=reserved(combination.lab),
        taps=taps,
        rest_blocks=rest,
        repeats=repeats.count(recorded.taps, packets),
        hops=[Hop(**asdict(hop)) for hop in path.hops],
        links=links,
        responder_icmp={name: icmp_after[name] - icmp_before[name] for name in icmp_after},
    )
    return Recording(
        measurement,
        recorded.machine.table("hosts"),
        work.progress(crew),
        _stamps(lab, sender, instruments, recorded),
        packets,
    )


def _search(probe: ProbeSpec, sender: Sender) -> Search | None:
    """Return the search for the shortest interval that the lab holds, if the probe asks for it."""
    if not probe.held or not isinstance(probe.pace, Duration):
        return None
    return rate_search.search(probe.pace, sender.burst)


def _stamps(lab: Lab, sender: Sender, instruments: Instruments, recorded: Stopped) -> pl.DataFrame:
    """Return all stamps as one table, each with the name of its kernel's clock."""
    own = _of_clock(sender.clock)
    parts = [stamps.with_columns(_prefixed(SENDER), own) for stamps in sender.stamps]
    if recorded.reflected is not None and instruments.reflector is not None:
        clock = _of_clock(lab.clock(instruments.reflector.label))
        parts.append(recorded.reflected.table("stamps").with_columns(_prefixed(RESPONDER), clock))
    for session, result in zip(instruments.taps, recorded.taps, strict=True):
        clock = _of_clock(lab.clock(session.label))
        parts.append(result.table("stamps").with_columns(pl.col("point").cast(pl.String), clock))
    legs = {0: LEGS[0], 1: LEGS[1]}
    return (
        pl.concat(parts)
        .with_columns(pl.col("leg").replace_strict(legs, return_dtype=pl.String))
        .select("probe", "seq", "leg", "point", "time_ns", "clock")
    )


def _of_clock(name: str) -> pl.Expr:
    return pl.lit(name).alias("clock")


def _prefixed(side: str) -> pl.Expr:
    return (side + "." + pl.col("point").cast(pl.String)).alias("point")


def _endpoint(combination: Combination, node: str) -> Endpoint:
    lab = combination.lab
    return Endpoint(node=node, host=lab.host_of(node), kind=lab.nodes[node].kind)


def _path(lab: Lab, combination: Combination, probe: ProbeSpec) -> ProbePath:
    """Return the probe's way; raise DelaylabError if the sender has no route outside."""
    if not probe.outside:
        return probe_path(lab.plan, combination.lab, probe)
    session = lab.node_session(probe.sender)
    try:
        interface = session.call(Route(to=probe.to)).done.interface
    except AgentError as error:
        what = f"node {probe.sender!r} has no route to {probe.to}"
        fix = "the sender is a node in this machine's own stack: `native` without a host"
        raise DelaylabError(what, fix=fix) from error
    finally:
        session.close()
    return outside_path(lab.plan, combination.lab, probe, interface)


def _icmp(lab: Lab, agent: str | None) -> dict[str, int]:
    if agent is None:
        return {}
    session = lab.session(agent)
    counters = session.call(Counters()).done.snmp["Icmp"]
    session.close()
    return counters


def _tap_warnings(taps: list[Tap]) -> list[Doubt]:
    return [
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
