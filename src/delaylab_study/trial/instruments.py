"""The instruments that record during a trial: taps, the reflector, the state of machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from errno import EADDRINUSE
from pathlib import Path

from delaylab.api.agents import (
    AgentError,
    AgentGone,
    NoAnswer,
    Reflect,
    ReflectDone,
    Result,
    Session,
    Tap,
    TapDone,
    TapFilter,
    TapInterface,
    TapSockets,
)
from delaylab.api.names import host_agent, node_agent
from delaylab.api.plans import ProbeWay
from delaylab.api.points import AT_SERVICE, LEGS
from delaylab.api.records import Doubt, TapRecord
from delaylab.api.running import LiveLab
from delaylab_study.loads.asking import agent_protocol
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial import captures, segments
from delaylab_study.trial.machine_states import READY_S, MachineStates, recording_machines
from delaylab_study.trial.ports import identifier, port

MOST_TIMES, MOST_AGAIN = 64, 1 << 22
"""Times that a packet can come again, in a loop; and the most rows of all packets' repeats, unless
each packet comes again once at each point."""


@dataclass
class Instruments:
    """The sessions that record during a probe, each with its result.

    There is at most one reflector. `sent` names the agents that send what they capture.
    `no_service` is the reason why nothing stamps at the sockets of the service that is probed.
    """

    machines: MachineStates
    taps: dict[Session, Result[TapDone]] = field(default_factory=dict)
    reflector: dict[Session, Result[ReflectDone]] = field(default_factory=dict)
    sent: dict[Session, str] = field(default_factory=dict)
    no_service: str | None = None

    @property
    def tapped(self) -> list[TapRecord]:
        """Return what the taps of each interface counted, once they have stopped."""
        return [entry for result in self.taps.values() for entry in result.done.interfaces]

    def all(self) -> list[Session]:
        """Return the sessions of all instruments that are on."""
        return [*self.taps, *self.reflector, *self.machines.sessions]


@contextmanager
def listening(lab: LiveLab, probe: ProbeSpec, probe_id: int) -> Iterator[Instruments]:
    """Run the reflector (but for ICMP) and the machines' record, ready when the block begins."""
    sender = lab.machine_of(node_agent(probe.sender)).name
    with recording_machines(lab, sender if probe.clean else None) as machines:
        instruments = Instruments(machines)
        if probe.protocol != "icmp" and not probe.answered_by_service:
            reflector = lab.node_session(probe.to)
            reflect = Reflect(
                port=port(probe),
                ip=probe.ip,
                stamps=True,
                probe=probe_id,
                protocol=agent_protocol(probe),
                packets=probe.packets,
            )
            instruments.reflector[reflector] = reflector.start(reflect)
            try:
                reflector.event(READY_S)
            except AgentError as error:
                if error.errno == EADDRINUSE:
                    error.fix = "say `responder: own` to probe what listens there"
                raise
        yield instruments


def tap(
    instruments: Instruments,
    lab: LiveLab,
    path: ProbeWay,
    probe: ProbeSpec,
    probe_id: int,
    pcap: Path | None,
) -> None:
    """Start the taps and wait until all are ready; with `pcap` they also keep the packets.

    `pcap` is a folder, with one pcapng file per agent. Agents on other machines keep packets in
    memory, and send them at the end: meanwhile they would be load on the network.
    """
    packets = TapFilter(
        protocol=agent_protocol(probe),
        ip=probe.ip,
        probe=probe_id,
        ident=identifier(probe, probe_id),
        port=port(probe),
        packets=probe.packets,
    )
    for agent in dict.fromkeys(tap.agent for tap in path.every_tap):
        taps = (tap for tap in path.every_tap if tap.agent == agent)
        wanted = [TapInterface(tap.interface, tap.point) for tap in taps]
        # Nothing is attached to an interface of the machine itself: a ring only listens.
        request = Tap(
            interfaces=wanted,
            filter=packets,
            tcx=not probe.outside,
            repeats=_repeats(probe, len(wanted)),
            segments=_segments(probe, len(wanted)),
        )
        session = lab.session(agent)
        # Taps of guests give stamps alone.
        if pcap is not None and not agent.startswith(("node.", "xen.")):
            file = captures.file_of(pcap, agent)
            if _is_here(lab, agent):
                request = replace(request, pcap=str(file))
            else:
                request = replace(request, capture_bytes=captures.MOST_BYTES)
                session.on_output = captures.CaptureFile(file)
                instruments.sent[session] = agent
        instruments.taps[session] = session.start(request)
    for agent in dict.fromkeys(tap.agent for tap in path.beside):
        taps = (tap for tap in path.beside if tap.agent == agent)
        wanted = [TapInterface(tap.interface, tap.point) for tap in taps]
        session = lab.session(agent)
        repeats = _repeats(probe, len(wanted))
        request = Tap(
            interfaces=wanted,
            filter=packets,
            together=True,
            repeats=repeats,
            segments=_segments(probe, len(wanted)),
        )
        instruments.taps[session] = session.start(request)
    for session in instruments.taps:
        session.event(READY_S)
    if path.has_service:
        _tap_service(instruments, lab, packets, probe)


def _tap_service(
    instruments: Instruments, lab: LiveLab, packets: TapFilter, probe: ProbeSpec
) -> None:
    """Start the tap at the service's sockets; note the reason if the kernel has no such taps.

    Containers may not load programs. So a node's host does it, unless the node has its own kernel.
    """
    node, host = node_agent(probe.to), host_agent(lab.spec.host_of(probe.to))
    session = lab.session(host if lab.clock(host) == lab.clock(node) else node)
    request = Tap(
        interfaces=(),
        sockets=TapSockets(AT_SERVICE, lab.namespace(node)),
        filter=packets,
        repeats=_repeats(probe, 1),
        segments=_segments(probe, 1),
    )
    result = session.start(request)
    try:
        session.event(READY_S)
    except (NoAnswer, AgentGone):
        raise
    except AgentError as error:
        session.close()
        instruments.no_service = f"the kernel lets no programs in there: {error}"
    else:
        instruments.taps[session] = result


def cut_captures(instruments: Instruments) -> list[Doubt]:
    """Return doubts about captures that lack packets, once all instruments have stopped."""
    return [
        captures.cut(agent, missing)
        for session, agent in instruments.sent.items()
        if (missing := instruments.taps[session].done.uncaptured)
    ]


def switch_taps(instruments: Instruments, on: bool) -> None:
    """Take the taps off their interfaces or put them back, all at once; return when it is done."""
    for session in instruments.taps:
        session.pause(not on)
    for session in instruments.taps:
        session.event(READY_S)


def stop(instruments: Instruments) -> None:
    """Stop all instruments; their results are then complete."""
    for session in instruments.all():
        session.stop()
    for session in instruments.all():
        session.finish(READY_S)


def _repeats(probe: ProbeSpec, interfaces: int) -> int:
    """Return how many times in all a tap keeps packets that it has seen before."""
    once_each = len(LEGS) * interfaces * probe.packets
    return max(once_each, min(MOST_TIMES * probe.packets, MOST_AGAIN))


def _segments(probe: ProbeSpec, interfaces: int) -> int:
    """Return how many segments of TCP streams a tap keeps; 0 for packets of other protocols."""
    return segments.room(probe.packets, interfaces) if probe.is_stream else 0


def _is_here(lab: LiveLab, agent: str) -> bool:
    return lab.machine_of(agent) is lab.machine
