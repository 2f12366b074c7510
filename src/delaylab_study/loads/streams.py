"""Flows of frames: their paths, and the counts of frames that arrive."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from delaylab.api.agents import (
    AgentError,
    Counters,
    Discard,
    DiscardDone,
    Discarded,
    FrameFlow,
    Result,
    Session,
    counter,
    of_interface,
)
from delaylab.api.conditions import Conditions
from delaylab.api.lab import delay_ns
from delaylab.api.plans import NodePath, node_path
from delaylab.api.running import LiveLab
from delaylab_study.dataset.records.rates import Flow
from delaylab_study.loads.meter import address_of
from delaylab_study.loads.programs import START_DEADLINE_S, STOP_DEADLINE_S
from delaylab_study.study_file.loads import FramesLoad

POLL_S, FIRST_POLL_S = 0.02, 0.001
"""Seconds between readings of the counters: for the last frames, and for the first."""
QUIET_S = 0.5
"""Seconds without arrivals after which missing frames count as lost.

A virtual machine that waits for a CPU may still have them in its queues.
"""


@dataclass(frozen=True)
class ArrivingFlow:
    """One flow, named by the link by which it arrives.

    `limited` is True if a link on its path is configured to lose frames or to limit their rate.
    `delay_s` is the largest one-way delay that its links are configured for, in total.
    """

    link: str
    interface: str
    to_mac: str
    source: str
    target: str
    limited: bool
    delay_s: float = 0.0

    @property
    def flow(self) -> FrameFlow:
        """Return the flow in the form of the `generate` request."""
        return FrameFlow(self.interface, self.to_mac, self.source, self.target)


def streams(lab: LiveLab, load: FramesLoad) -> list[ArrivingFlow]:
    """Return the flows of a load of frames, in the order in which they take turns."""
    return [
        _stream(lab, node_path(lab.plan, lab.spec, load.on, load.to, over))
        for over in load.arrivals
    ]


def _stream(lab: LiveLab, way: NodePath) -> ArrivingFlow:
    """Return the flow of one path, whose frames are addressed to the next node's card."""
    hops = list(zip(way.links, way.nodes, way.nodes[1:], strict=False))
    near, far = (lab.plan.attachment(node, way.links[0]) for node in way.nodes[:2])
    return ArrivingFlow(
        link=way.links[-1],
        interface=near.device,
        to_mac=far.mac,
        source=address_of(lab, way.nodes[0], way.links[0]),
        target=address_of(lab, way.nodes[-1], way.links[-1]),
        limited=limited(lab, hops),
        delay_s=_delay_s(lab, hops),
    )


Crossing = tuple[str, str, str]
"""A link that frames cross, the node that sends on it and the one that receives."""


def limited(lab: LiveLab, hops: Iterable[Crossing]) -> bool:
    """Return True if a link on the path has loss or a rate limit."""
    return any(each.loss or each.rate or each.trace for each in _conditions(lab, hops))


def _delay_s(lab: LiveLab, hops: Iterable[Crossing]) -> float:
    """Return the largest one-way delay, in seconds, that a path's links are configured for."""
    return sum(delay_ns(each) for each in _conditions(lab, hops)) / 1e9


def _conditions(lab: LiveLab, hops: Iterable[Crossing]) -> list[Conditions]:
    links = lab.spec.links
    return [
        direction.first
        for link, sender, receiver in hops
        if lab.plan.has_engine(link)
        for direction in (links[link].sent[sender], links[link].received.get(receiver))
        if direction is not None
    ]


def judged(flows: Iterable[ArrivingFlow]) -> list[str]:
    """Return the links whose flows decide: those that nothing limits, or else all."""
    every = list(flows)
    return [flow.link for flow in every if not flow.limited] or [flow.link for flow in every]


@dataclass(frozen=True)
class Arrived:
    """Counts of arrivals: frames by link, and packets answered as a probe's.

    `time_ns` is when they were read, by the clock of the receiver's agent.
    """

    frames: dict[str, int]
    probes: int
    time_ns: int = 0

    @property
    def total(self) -> int:
        """Return the frames of all links without a probe's."""
        return sum(self.frames.values()) - self.probes

    def per_s(self, since: Arrived) -> dict[str, float]:
        """Return the packets/s that arrived by each link since an earlier reading."""
        seconds = max(self.time_ns - since.time_ns, 1) / 1e9
        return {link: (n - since.frames[link]) / seconds for link, n in self.frames.items()}


class Sink:
    """A receiver of frames at a node, which answers none and counts arrivals by its links."""

    def __init__(self, lab: LiveLab, node: str, flows: Iterable[ArrivingFlow]) -> None:
        self._lab, self._node = lab, node
        self._session = lab.node_session(node)
        links = [flow.link for flow in flows]
        self._names = {link: lab.plan.attachment(node, link).device for link in links}
        self.port = 0
        """The UDP port of this receiver alone; 0 until it listens."""
        self._receiver = self._listen()

    def _listen(self) -> tuple[Session, Result[DiscardDone]]:
        """Take the packets of the port, and count from now on what arrives there."""
        session = self._lab.node_session(self._node)
        names = tuple(self._names.values())
        result = session.start(Discard(port=self.port, interfaces=names))
        self.port = session.port(START_DEADLINE_S)
        return session, result

    def ordered(self) -> dict[str, Discarded] | None:
        """Return how many frames came by each link since the last call, and in which order.

        None if the node cannot count them. No frames may be under way.
        """
        session, result = self._receiver
        self._receiver = self._listen()  # first: the port is never without a receiver
        session.stop()
        session.finish(STOP_DEADLINE_S)
        session.close()
        found = result.done.interfaces
        if found is None:
            return None
        missing = sorted(name for name in self._names.values() if name not in found)
        if missing:
            raise AgentError(f"it counted no frames of {', '.join(missing)}", session.label)
        return {link: found[name] for link, name in self._names.items()}

    def read(self) -> Arrived:
        """Return the counters now."""
        done, label = self._session.call(Counters()).done, self._session.label
        frames = {
            link: of_interface(done, name, label).rx_packets for link, name in self._names.items()
        }
        echoes = counter(done, "Icmp", "InEchos", label)
        probes = echoes + counter(done, "Udp", "InDatagrams", label)
        return Arrived(frames, probes, done.time_ns)

    def settled(self, before: Arrived, sent: int) -> Arrived:
        """Return the counters once all sent frames have arrived, or no more do.

        If more packets came than frames were sent, some are of other programs, and a few frames may
        still be under way: it waits for them for `QUIET_S` at most.
        """
        deadline = time.monotonic() + STOP_DEADLINE_S
        last, since = self.read(), time.monotonic()
        while (came := last.total - before.total) != sent and since < deadline:
            if came > sent:
                deadline = min(deadline, time.monotonic() + QUIET_S)
            time.sleep(POLL_S)  # there is no event for "nothing came"
            now = self.read()
            if now.total != last.total:
                since = time.monotonic()
            elif time.monotonic() - since > QUIET_S:
                break
            last = now
        return last

    def arriving(self, before: Arrived, within_s: float) -> Arrived:
        """Return the counters once frames of all flows have arrived, or after `within_s`."""
        deadline = time.monotonic() + within_s
        while True:
            now = self.read()
            came = (now.frames[link] > before.frames[link] for link in self._names)
            if all(came) or time.monotonic() > deadline:
                return now
            time.sleep(FIRST_POLL_S)  # there is no event for "one came"

    def close(self) -> None:
        """Stop receiving."""
        self._receiver[0].close()
        self._session.close()


def counted(
    flows: list[ArrivingFlow],
    sent: int,
    before: Arrived,
    after: Arrived,
    probed: str | None,
    ordered: Mapping[str, Discarded] | None,
) -> list[Flow]:
    """Return the frames that each flow sent, in turn with the others, and those that arrived.

    `ordered` are the frames that reached the receiver's port by each link. If it is None, the
    interface's packets count, less those of a probe, which arrive by the link `probed`: among them
    are packets of other programs, such as ARP requests.
    """
    found = []
    for index, flow in enumerate(flows):
        share = sent // len(flows) + (index < sent % len(flows))
        if ordered is not None:
            own = ordered[flow.link]
            received, reordered = own.received, own.reordered
        else:
            others = after.probes - before.probes if flow.link == probed else 0
            arrived = after.frames[flow.link] - before.frames[flow.link] - others
            received, reordered = max(arrived, 0), None
        found.append(Flow(link=flow.link, sent=share, received=received, reordered=reordered))
    return found
