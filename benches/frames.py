"""Frames sent over links with conditions, and the engine's report on them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from benches.pair import FAR, NEAR
from delaylab.agent.wire.loads import Discard, Flow, Generate, GenerateDone
from delaylab.lab.links import link_engines
from delaylab.lab.running import LiveLab
from delaylab.plan.kept import KeptPlan
from delaylab.records.links import EngineReport

PORT = 9
SHORT = 60
"""Length in bytes of a frame of 64 bytes on the wire, without its 4-byte check sequence."""
FULL = 1514
"""Length in bytes of a frame with a packet of 1500 bytes, from its Ethernet header on."""


@contextmanager
def discarding(lab: LiveLab) -> Iterator[None]:
    """Open a socket in the far node that receives frames and drops them.

    At a port without a socket the kernel would answer. For an address that the node does not have
    it would make a route for each packet, and free it later.
    """
    with closing(lab.node_session(FAR)) as session:
        session.start(Discard(port=PORT))
        session.event(10)
        yield


def flow(plan: KeptPlan, link: str) -> Flow:
    """Return the flow from the near node to the far one over a link, as `generate` takes it."""
    near, far = (plan.attachment(node, link) for node in (NEAR, FAR))
    return Flow(near.device, far.mac, near.address, far.address)


def generate(
    lab: LiveLab, links: list[str], count: int, interval_ns: int, size: int
) -> GenerateDone:
    """Send frames from the near node to the far one, over the links in turn; return the record."""
    session = lab.node_session(NEAR)
    request = Generate(
        flows=[flow(lab.plan, link) for link in links],
        probe=1,
        count=count,
        interval_ns=interval_ns,
        size=size,
        port=PORT,
    )
    done = session.call(request, timeout=120).done
    session.close()
    return done


def engine_report(lab: LiveLab) -> EngineReport:
    """Return the report of the lab's only engine."""
    (report,) = link_engines.reports(lab)
    return report


def settled(lab: LiveLab) -> EngineReport:
    """Wait until no frame is under way (AssertionError after 10 s); return the engine's report."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        report = engine_report(lab)
        if not any(each.held for each in report.directions):
            return report
    raise AssertionError("frames stay under way")
