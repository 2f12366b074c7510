"""Flows of frames: where each is sent, and what of it arrives."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from delaylab.lab import Lab
from delaylab.loads.meter import address_of
from delaylab.loads.programs import START_DEADLINE_S, STOP_DEADLINE_S
from delaylab.plan import Interface, Path, path
from delaylab.records.rates import Flow
from delaylab.spec import LoadSpec, asked

DISCARD = 9
"""The port that RFC 863 set aside for what nobody reads."""

POLL_S = 0.02
QUIET_S = 0.5
"""Where frames are missing, so long nothing may arrive before they are given up: a virtual machine
that is waiting for a CPU has them in its queues."""

MOST_SPREADS = 5
"""Jitter adds hardly ever more: Pareto's is cut at 4.91, and the normal one's tail is thinner."""


@dataclass(frozen=True)
class Stream:
    """One flow, by the link that it arrives by.

    `limited`: a link on its way was asked to lose frames or to keep to a rate. `delay_s`: for how
    long links were asked to delay its frames, in all, one way.
    """

    link: str
    interface: str
    to_mac: str
    source: str
    target: str
    limited: bool
    delay_s: float = 0.0

    def request(self) -> dict[str, str]:
        """The flow as `generate` takes it."""
        return {
            "interface": self.interface,
            "to_mac": self.to_mac,
            "from": self.source,
            "to": self.target,
        }


def streams(lab: Lab, load: LoadSpec) -> list[Stream]:
    """The flows of a load of frames, in the order in which they take turns."""
    assert load.to is not None
    arrivals: list[str | None] = [*load.over] if load.over else [None]
    return [_stream(lab, path(lab.plan, lab.spec, load.on, load.to, over)) for over in arrivals]


def _stream(lab: Lab, way: Path) -> Stream:
    """The frames of one way: addressed to the first router's card."""
    hops = list(zip(way.links, way.nodes, strict=False))
    near, far = (_card(lab, node, way.links[0]) for node in way.nodes[:2])
    return Stream(
        link=way.links[-1],
        interface=near.name,
        to_mac=lab.plan.mac(far.agent, far.name),
        source=address_of(lab, way.nodes[0], way.links[0]),
        target=address_of(lab, way.nodes[-1], way.links[-1]),
        limited=limited(lab, hops),
        delay_s=_delay_s(lab, hops),
    )


def _card(lab: Lab, node: str, link: str) -> Interface:
    return next(i for i in lab.plan.interfaces[node] if i.link == link)


def limited(lab: Lab, hops: Iterable[tuple[str, str]]) -> bool:
    """Whether a link on the way, each with its sender, was asked to lose or to hold back frames."""
    return any({"loss", "rate", "trace"} & each.keys() for each in _conditions(lab, hops))


def _delay_s(lab: Lab, hops: Iterable[tuple[str, str]]) -> float:
    """The longest that links on the way, each with its sender, were asked to delay a frame."""
    longest_ns = [
        each.get("delay_ns", 0) + MOST_SPREADS * each.get("jitter", {}).get("spread_ns", 0)
        for each in _conditions(lab, hops)
    ]
    return float(sum(longest_ns)) / 1e9


def _conditions(lab: Lab, hops: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    laid = lab.plan.laid
    return [asked(laid[link].link, node) for link, node in hops if link in laid]


def judged(flows: Iterable[Stream]) -> list[str]:
    """The links of the flows that count: those that nothing limits, or else all."""
    every = list(flows)
    return [flow.link for flow in every if not flow.limited] or [flow.link for flow in every]


@dataclass(frozen=True)
class Arrived:
    """What has arrived: frames by link, and packets that were answered as a probe's."""

    frames: dict[str, int]
    probes: int

    @property
    def total(self) -> int:
        """Frames of all links, without a probe's."""
        return sum(self.frames.values()) - self.probes


class Sink:
    """Takes frames at a node, unanswered, and counts what arrives by some of its links."""

    def __init__(self, lab: Lab, node: str, flows: Iterable[Stream]) -> None:
        self._session = lab.node_session(node)
        self._port = lab.node_session(node)
        self._port.start("discard", port=DISCARD)
        self._port.event(START_DEADLINE_S)
        links = [flow.link for flow in flows]
        interfaces = lab.plan.interfaces[node]
        self._names = {i.link: i.name for i in interfaces if i.link in links}

    def read(self) -> Arrived:
        """The counters now."""
        done = self._session.call("counters").done
        frames = {
            link: int(done["interfaces"][name]["rx_packets"]) for link, name in self._names.items()
        }
        snmp = done["snmp"]
        return Arrived(frames, int(snmp["Icmp"]["InEchos"]) + int(snmp["Udp"]["InDatagrams"]))

    def settled(self, before: Arrived, sent: int) -> Arrived:
        """The counters once all that was sent has arrived, or nothing more does."""
        deadline = time.monotonic() + STOP_DEADLINE_S
        last, since = self.read(), time.monotonic()
        while last.total - before.total < sent and since < deadline:
            time.sleep(POLL_S)  # there is no event for "nothing came"
            now = self.read()
            if now.total != last.total:
                since = time.monotonic()
            elif time.monotonic() - since > QUIET_S:
                break
            last = now
        return last

    def close(self) -> None:
        """Take no more."""
        self._port.close()
        self._session.close()


def behind_s(flows: Sequence[Stream], per_s: float, ended: Arrived, after: Arrived) -> float:
    """For how long frames went on to arrive after the last was sent, of the flow furthest behind.

    At the rate `per_s` of each flow, and without what links on its way were asked to delay it.
    """
    per_s = max(per_s, 1e-9)  # nothing at all may have been sent
    later = ((after.frames[f.link] - ended.frames[f.link]) / per_s - f.delay_s for f in flows)
    return max(0.0, *later)


def counted(
    flows: list[Stream], sent: int, before: Arrived, after: Arrived, probed: str | None
) -> list[Flow]:
    """What each flow sent, in turn with the others, and what of it arrived.

    `probed`: the link by which a probe's packets arrive, which are not of the flow.
    """
    found = []
    for index, flow in enumerate(flows):
        others = after.probes - before.probes if flow.link == probed else 0
        arrived = after.frames[flow.link] - before.frames[flow.link] - others
        share = sent // len(flows) + (index < sent % len(flows))
        found.append(Flow(link=flow.link, sent=share, received=max(arrived, 0)))
    return found
