"""Trial of a kind of node for `delaylab doctor`: bring a small lab up, probe it, and measure."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import BaseModel

from delaylab import images
from delaylab.agent.measuring_requests import Probe, Reflect, Tap
from delaylab.agent.requests import Request
from delaylab.agent.result import Result
from delaylab.agent.session import Session
from delaylab.agent.watched import wait_watching
from delaylab.agent.wire.tapping import TapFilter, TapInterface
from delaylab.errors import DelaylabError, NotHere
from delaylab.kinds import KINDS
from delaylab.lab import completion
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.machines import LOCAL, Machine
from delaylab.plan.attachment import TapPoint
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.plan.rights_of import PRIVILEGED
from delaylab.plan.ways.probe_end import ProbeEnd
from delaylab.points import RESPONDER, SENDER, WIRE
from delaylab.progress import Progress
from delaylab.resolve.agent_names import machine_agent, node_agent
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data
from delaylab.spec.this_machine import LOCAL_MACHINE
from delaylab.units import MEBIBYTE
from delaylab.verbs.ping.result import spread
from delaylab.verbs.ping.tables import packets_of

if TYPE_CHECKING:
    from delaylab.machines.ssh import SshMachine

R = TypeVar("R", bound=BaseModel)
Protocol = Literal["icmp", "udp"]
NEAR, FAR, LINK, ELSEWHERE = "near", "far", "lan", "tried"
TRIED, ECHO = "probe", "echo"
"""The node whose kind is tried, and the namespace that answers it."""
PROBE, PORT, IDENTIFIER = 1, 8462, 33_001
"""The probe's number, the port that answers UDP, and the sender's port or ICMP identifier."""
COUNT, INTERVAL_NS, SIZE, LATE_NS = 50, 5_000_000, 100, 1_000_000_000
"""The probe's packets, the time between them, their payload in bytes, and the wait for replies."""
READY_S = 20.0
HERE: dict[str, Machine] = {LOCAL_MACHINE: LOCAL}


@dataclass(frozen=True, kw_only=True)
class KindResult:
    """The result for a kind of node on this machine: figures if it is usable, else reason and fix.

    A kind whose image is not built is not `tried`: to build one takes minutes.

    `boot_s` is the time in s to bring up a lab with one such node, until it answers. `memory_mib`
    is the memory of the node's processes, and of the machine around it if it is in one, with shared
    pages counted in proportion (Pss); None without control groups. `rtt_us` is the median round
    trip in user space of the node, at rest, to a namespace on another host.
    """

    kind: str
    usable: bool
    why_not: str = ""
    fix: str = ""
    boot_s: float = 0
    memory_mib: float | None = None
    rtt_us: float | None = None
    notes: tuple[str, ...] = ()
    points: frozenset[str] = frozenset()
    tried: bool = True


def kind(
    name: str,
    rights: Rights,
    progress: Progress,
    protocol: Protocol = "icmp",
    *,
    build_images: bool = False,
    machine: SshMachine | None = None,
) -> KindResult:
    """Bring a lab with one node of this kind up, probe it, and take it down.

    Images that it needs are built only if `build_images` is true. The lab is on another `machine`
    if one is given, and `rights` are those there.
    """
    if why_not := rights.why_no_lab():
        return KindResult(kind=name, usable=False, why_not=why_not, fix=PRIVILEGED)
    not_elsewhere = KINDS[name].not_elsewhere if machine else None
    reason = not_elsewhere or KINDS[name].here(rights).can_run(rights, False)
    if reason:
        why, _, fix = reason.partition("; ")
        return KindResult(kind=name, usable=False, why_not=why, fix=fix)
    lab = _lab(name, machine)
    plan = build(lab, KINDS, rights, machines={ELSEWHERE: rights})
    lacking = images.missing(
        word for agent in plan.agents if agent.guest for word in agent.guest.command
    )
    if lacking and not build_images:
        several = len(lacking) > 1
        what = f"images {', '.join(lacking)} are" if several else f"image {lacking[0]} is"
        why = f"not tried: the {what} not built"
        fix = f"delaylab image build {' '.join(lacking)}, or delaylab doctor --build"
        return KindResult(kind=name, usable=False, why_not=why, fix=fix, tried=False)
    try:
        # So that images are no part of the time to boot.
        completion.complete(plan, {ELSEWHERE: machine} if machine else HERE, progress)
        began = time.monotonic()
        with temporary(lab, progress=progress) as running:
            boot_s = time.monotonic() - began
            memory_mib = _memory_mib(running)
            rtt_us, points = _probed(running, protocol)
            notes = tuple(each.message for each in running.warnings)
    except DelaylabError as error:
        return KindResult(kind=name, usable=False, why_not=error.what, fix=error.fix)
    return KindResult(
        kind=name,
        usable=True,
        why_not="",
        fix="",
        boot_s=boot_s,
        memory_mib=memory_mib,
        rtt_us=rtt_us,
        notes=notes,
        points=points,
    )


def _memory_mib(lab: LiveLab) -> float | None:
    # A Xen domain has no processes here: its pages are those of the machine around it.
    own = {name: lab.keeper.agents.get(name) for name in (node_agent(TRIED), machine_agent(NEAR))}
    try:
        groups = [
            lab.machine_of(name).control_group(agent.cgroups)
            for name, agent in own.items()
            if agent is not None and agent.cgroups
        ]
    except NotHere:
        return None  # the accounts of other machines' control groups are not read
    return sum(group.memory_bytes() for group in groups) / MEBIBYTE if groups else None


def _probed(lab: LiveLab, protocol: Protocol) -> tuple[float | None, frozenset[str]]:
    """Send a probe from the node that is tried to the other one, with taps all along the way.

    Return its median round trip in user space in µs, and the points that stamped its packets.
    """
    recorders: dict[Session, tuple[str, Result[BaseModel]]] = {}
    with ExitStack() as sessions:

        def started(session: Session, request: Request[R]) -> Result[R]:
            sessions.callback(session.close)
            result = session.start(request)
            session.event(READY_S)
            return result

        if protocol == "udp":
            reflect = Reflect(port=PORT, ip=4, stamps=True, probe=PROBE, packets=COUNT)
            session = lab.node_session(ECHO)
            recorders[session] = f"{RESPONDER}.", started(session, reflect)
        packets = TapFilter(
            protocol=protocol, ip=4, probe=PROBE, ident=IDENTIFIER, port=PORT, packets=COUNT
        )
        for agent, interfaces in _taps(lab, protocol).items():
            session = lab.session(agent)
            recorders[session] = "", started(session, Tap(interfaces=interfaces, filter=packets))
        sender = lab.node_session(TRIED)
        sent = started(sender, _probe(lab, protocol))
        wait_watching(sender, [*recorders])
        for session in recorders:
            session.stop()
        for session in recorders:
            session.finish(READY_S)
    stamped = [(f"{SENDER}.", sent), *recorders.values()]
    points = {
        side + point
        for side, result in stamped
        for part in result.rows("stamps")
        for point in part.texts["point"]
    }
    trips = spread(packet.rtt_user_ns for packet in packets_of(sent))
    return None if trips is None else trips.median / 1000, frozenset(points)


def _probe(lab: LiveLab, protocol: Protocol) -> Probe:
    near, far = (lab.plan.attachment(node, LINK) for node in (TRIED, ECHO))
    return Probe(
        probe=PROBE,
        protocol=protocol,
        to=far.address,
        source=near.address,
        port=PORT,
        ident=IDENTIFIER,
        count=COUNT,
        interval_ns=INTERVAL_NS,
        size=SIZE,
        linger_ns=LATE_NS,
        late_ns=LATE_NS,
        realtime=True,
    )


def _taps(lab: LiveLab, protocol: Protocol) -> dict[str, list[TapInterface]]:
    """Return the interfaces to tap, by agent: all on the way from one node's stack to the other's.

    The kernel answers ICMP itself: instead of a socket, a tap in the node stamps it.
    """
    near, far = (lab.plan.attachment(node, LINK) for node in (TRIED, ECHO))
    taps = [
        *ProbeEnd(SENDER, near, crosses=True).taps(),
        *(step for step in far.outward if step.point == WIRE),
        *ProbeEnd(RESPONDER, far, crosses=True).taps(),
    ]
    if protocol == "icmp":
        taps.append(TapPoint(far.agent, far.device, f"{RESPONDER}.stack"))
    found: dict[str, list[TapInterface]] = {}
    for tap in taps:
        found.setdefault(tap.agent, []).append(TapInterface(tap.interface, tap.point))
    return found


def _lab(name: str, machine: SshMachine | None) -> Lab:
    on = {"machine": ELSEWHERE} if machine else {}
    return lab_from_data(
        {
            "lab": "doctor",
            "machines": {ELSEWHERE: machine.reach.model_dump()} if machine else {},
            "hosts": {NEAR: on, FAR: on},
            "nodes": {
                TRIED: {"kind": name, "host": NEAR},
                ECHO: {"kind": "netns", "host": FAR},
            },
            "links": [{"join": [TRIED, ECHO], "name": LINK}],
        }
    )
