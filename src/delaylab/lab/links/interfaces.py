"""The interfaces of a running lab's hosts: frames that left, were dropped, or wait."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from delaylab.agent.result import AgentError
from delaylab.lab.running import LiveLab
from delaylab.plan.kept import HostInterface


@dataclass(frozen=True, slots=True)
class InterfaceReport:
    """One direction of a host's interface since the lab is up.

    Frames and bytes are those that have left its queue, `dropped` those that it had no room for.
    """

    host: str
    interface: str
    way: str
    links: tuple[str, ...]
    rate_bps: int
    frames: int
    bytes: int
    dropped: int
    waiting_frames: int
    waiting_bytes: int


def reports(lab: LiveLab, link: str | None = None) -> list[InterfaceReport]:
    """Return both directions of every host interface, or of the one that `link` uses.

    Those of a host whose agent does not answer are left out: `ps` says that it has ended.
    """
    asked = [each for each in lab.plan.interfaces if link is None or link in each.links]
    by_agent = groupby(sorted(asked, key=lambda each: each.agent), lambda each: each.agent)
    found = {each: report for agent, of in by_agent for each, report in _read(lab, agent, list(of))}
    return [found[each] for each in asked if each in found]


def _read(
    lab: LiveLab, agent: str, asked: list[HostInterface]
) -> list[tuple[HostInterface, InterfaceReport]]:
    from delaylab.agent.wire.measuring import Queues  # noqa: PLC0415  few labs need it

    try:
        session = lab.session(agent)
        queues = session.call(Queues(on=[each.queue for each in asked])).done.queues
        session.close()
    except AgentError:
        return []
    return [
        (
            interface,
            InterfaceReport(
                interface.host,
                interface.interface,
                interface.way,
                interface.links,
                interface.rate_bps,
                **queues[interface.queue].model_dump(),
            ),
        )
        for interface in asked
        if interface.queue in queues
    ]
