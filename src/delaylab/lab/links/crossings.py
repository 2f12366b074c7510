"""Trials of the ways between a lab's machines, by frames through the lab's own interfaces there.

What a network drops, it drops silently: packets that are too long for it, a UDP port, frames of MAC
addresses that it does not know. So no way is believed that was not tried.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from delaylab.agent.result import AgentError, Result
from delaylab.agent.session import Session
from delaylab.agent.wire.loads import (
    AwaitedFrame,
    AwaitFrames,
    AwaitFramesDone,
    CrossingFrame,
    SendFrames,
)
from delaylab.errors import NotHere
from delaylab.lab.running import LiveLab
from delaylab.plan.crossings import Crossing, crossings
from delaylab.records.underlays import ClosedWay
from delaylab.spec.this_machine import LOCAL_MACHINE

SMALL = 46
"""The bytes of the smallest Ethernet frame, without its header."""
LEAST_MTU = 1280
"""The smallest MTU that a link can have."""
MOST_SIZES = 512
"""The most sizes that are tried to find the longest packet that passes."""
ROUNDS, WAIT_S = 6, 3.5
"""The number of times that frames are sent, the last after 3.1 s, and the wait for them."""
ANSWER_S = 30.0
MOST_LINKS = 3
"""The most links that an error names."""


@dataclass(frozen=True)
class CrossingResult:
    """The result on a way: whether the smallest frames passed, and the longest of its links."""

    crossing: Crossing
    small: bool
    full: bool


class NothingCrosses(NotHere):
    """Frames that do not get from one machine to another, one error for each pair of machines."""

    def __init__(self, errors: Sequence[NotHere]) -> None:
        first = errors[0]
        super().__init__(first.what, first.where, first.fix)
        self._all = tuple(errors)

    @property
    def all(self) -> tuple[NotHere, ...]:
        """Return the errors of all pairs."""
        return self._all


def check(lab: LiveLab) -> None:
    """Raise NothingCrosses unless all ways between a new lab's machines take its links' frames."""
    results = tried(lab, crossings(lab.spec, lab.plan))
    pairs: dict[tuple[str, str], list[CrossingResult]] = defaultdict(list)
    for each in results:
        pairs[each.crossing.pair].append(each)
    failed = {pair: found for pair, found in pairs.items() if not all(one.full for one in found)}
    if not failed:
        return
    too_long = [
        next((one for one in of if one.small and not one.full), None) for of in failed.values()
    ]
    passed = _longest(lab, [one.crossing for one in too_long if one is not None])
    raise NothingCrosses([_error(lab, found, passed) for found in failed.values()])


def closed(lab: LiveLab, link: str | None = None) -> list[ClosedWay]:
    """Return the ways between a running lab's machines that do not take its links' frames now.

    With `link` those of this link alone. Machines that cannot be reached are left out.
    """
    if len(lab.machines) == 1:
        return []
    lost = lab.unreachable
    found = [
        crossing
        for crossing in crossings(lab.spec, lab.plan)
        if not lost.keys() & {*crossing.pair} and (link is None or link in crossing.links)
    ]
    # A machine that is lost meanwhile, or has a lab of another version, is found by other means.
    with suppress(AgentError):
        return [_closed(lab, each) for each in tried(lab, found) if not each.full]
    return []


def _closed(lab: LiveLab, result: CrossingResult) -> ClosedWay:
    way, machines = result.crossing, lab.plan.machines
    hosts = dict.fromkeys(end.host for link in way.links for end in lab.plan.on_link(link))
    return ClosedWay(
        machine=way.machine,
        other=way.other,
        hosts=[host for host in hosts if machines.get(host, LOCAL_MACHINE) == way.machine],
        links=list(way.links),
        mtu=way.mtu,
        small=result.small,
    )


def tried(lab: LiveLab, ways: Sequence[Crossing]) -> list[CrossingResult]:
    """Try ways, all of them at once, by one small and one full frame for each."""
    frames = [(way, size) for way in ways for size in (SMALL, way.mtu)]
    arrived = _arrived(lab, frames)
    results = zip(ways, zip(arrived[::2], arrived[1::2], strict=True), strict=True)
    return [CrossingResult(way, small, full) for way, (small, full) in results]


def _longest(lab: LiveLab, ways: Sequence[Crossing]) -> dict[Crossing, int]:
    """Return the longest packet that passes on each way; nothing if links must send longer ones."""
    frames = [
        (way, size)
        for way in ways
        for size in range(way.mtu, LEAST_MTU - 1, -max(1, (way.mtu - LEAST_MTU) // MOST_SIZES))
    ]
    longest: dict[Crossing, int] = {}
    for (way, size), passed in zip(frames, _arrived(lab, frames), strict=True):
        if passed:
            longest[way] = max(size, longest.get(way, 0))
    return longest


def _arrived(lab: LiveLab, frames: Sequence[tuple[Crossing, int]]) -> list[bool]:
    """Send frames on ways, and return for each whether it arrived whole at the other end."""
    nonce = secrets.randbits(63)
    sent: dict[str, list[CrossingFrame]] = defaultdict(list)
    awaited: dict[str, list[AwaitedFrame]] = defaultdict(list)
    for number, (way, size) in enumerate(frames):
        leaves, arrives = way.leaves, way.arrives
        sent[leaves.agent].append(CrossingFrame(number, leaves.interface, way.source, way.to, size))
        awaited[arrives.agent].append(AwaitedFrame(number, arrives.interface))
    sessions: list[Session] = []
    try:
        receivers = list(_receivers(lab, nonce, awaited, sessions))
        for session, _, _ in receivers:
            session.event(ANSWER_S)
        senders: list[Session] = []
        for agent, its_own in sent.items():
            senders.append(_session(lab, agent, sessions))
            senders[-1].start(SendFrames(nonce=nonce, frames=its_own, rounds=ROUNDS))
        found: set[int] = set()
        for session, result, own in receivers:
            session.finish(ANSWER_S)
            # An agent elsewhere may say anything.
            found |= {each.number for each in own} & {*result.done.arrived}
        for session in senders:
            session.stop()
        for session in senders:
            session.finish(ANSWER_S)
    finally:
        for session in sessions:
            session.close()
    return [number in found for number in range(len(frames))]


def _receivers(
    lab: LiveLab, nonce: int, awaited: dict[str, list[AwaitedFrame]], sessions: list[Session]
) -> Iterator[tuple[Session, Result[AwaitFramesDone], list[AwaitedFrame]]]:
    """Have agents wait for frames; yield each with its session and what it waits for."""
    for agent, own in awaited.items():
        session = _session(lab, agent, sessions)
        request = AwaitFrames(nonce=nonce, frames=own, timeout_ns=int(WAIT_S * 1e9))
        yield session, session.start(request), own


def _session(lab: LiveLab, agent: str, sessions: list[Session]) -> Session:
    sessions.append(lab.session(agent))
    return sessions[-1]


def _error(lab: LiveLab, results: Sequence[CrossingResult], passed: dict[Crossing, int]) -> NotHere:
    """Return the error of a pair of machines: what does not pass, and what to do about it."""
    machine, other = results[0].crossing.pair
    where, way = f"machine {machine}", f"from {machine} to {other}"
    none = [each for each in results if not each.small]
    if none and lab.spec.data_plane == "ethernet":
        dropped = (
            "the LAN drops frames of MAC addresses that are not its machines' own, as clouds and "
            "port security do: allow them, or take `data_plane: vxlan`"
        )
        if len(none) == len(results):
            return NotHere(f"no frame of a node passes {way}", where, dropped)
        links = _named(link for each in none for link in each.crossing.links)
        return NotHere(f"frames of some nodes do not pass {way}: those of {links}", where, dropped)
    if none:
        port = lab.spec.vxlan_port
        what = f"no frame passes {way}: packets to UDP port {port} do not arrive"
        fix = f"let firewalls pass UDP port {port} {way}, or choose another one by `vxlan_port:`"
        return NotHere(what, where, fix)
    full = next(each.crossing for each in results if not each.full)
    what = f"packets of {full.mtu} bytes do not pass {way}"
    longest = passed.get(full)
    if longest is None:
        what += f", nor do any from {LEAST_MTU} bytes on; shorter ones do"
        fix = "let the network between them carry longer packets"
        return NotHere(what, where, fix)
    fix = f"give {_named(full.links)} `mtu: {longest}`"
    return NotHere(f"{what}, those of {longest} do", where, fix)


def _named(links: Iterable[str]) -> str:
    """Return links in words."""
    names = list(dict.fromkeys(links))
    some = ", ".join(names[:MOST_LINKS]) + (", …" if len(names) > MOST_LINKS else "")
    return f"{'link' if len(names) == 1 else 'links'} {some}"
