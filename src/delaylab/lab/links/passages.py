"""Passages of a probe's packets through the links of a running lab, by their engines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.agent.wire.links import LinkPassages, PassageReport, WantedPacket
from delaylab.causes.passages import Passage
from delaylab.causes.records import part_of
from delaylab.lab.links.link_engines import agents
from delaylab.lab.running import LiveLab
from delaylab.resolve.agent_names import node_agent

AT_ONCE = 500
"""The packets that an engine is asked for at once."""


class LinkRecords:
    """The link engines of a lab that say how packets passed them, with a session each.

    Only those whose stamps are of the clock `clock` are asked, all if it is None. The kernel's
    engine knows of no packet.
    """

    def __init__(self, lab: LiveLab, clock: str | None = None) -> None:
        self._nodes = _nodes(lab)
        self._sessions: dict[str, tuple[str, Session]] = {}
        for agent in agents(lab):
            of = lab.clock(agent)
            if lab.plan.engines[agent] == "own" and clock in (None, of):
                self._sessions[agent] = of, lab.session(agent)

    def passages(self, wanted: Mapping[str, Sequence[WantedPacket]]) -> dict[str, list[Passage]]:
        """Return the passages of packets, in the order of their ends, by the engine's clock.

        What is `wanted` is by clock, too. An engine that does not answer knows of none.
        """
        found: dict[str, list[Passage]] = {}
        for clock, session in self._sessions.values():
            reports = _reports(session, wanted.get(clock, ()))
            found.setdefault(clock, []).extend(self._passage(each) for each in reports)
        for each in found.values():
            each.sort(key=lambda passage: passage.ended_ns)
        return found

    def of_packet(self, wanted: WantedPacket) -> list[Passage]:
        """Return the passages of one packet by all engines that are asked."""
        clocks = {clock for clock, _ in self._sessions.values()}
        found = self.passages({clock: [wanted] for clock in clocks})
        return [passage for each in found.values() for passage in each]

    def close(self) -> None:
        """Close the sessions."""
        for _, session in self._sessions.values():
            session.close()

    def _passage(self, report: PassageReport) -> Passage:
        said = report.model_dump()
        most = report.most_from
        return Passage(**{**said, "most_from": self._nodes.get(most, most) if most else None})


@dataclass(frozen=True, slots=True)
class WithinLab:
    """A node of a running lab, from which packets are sent."""

    lab: LiveLab
    node: str

    @property
    def part(self) -> str:
        """Return the name of the node as a part of its lab, which no other lab's part has."""
        return part_of(node_agent(self.node), self.lab.name)

    def records(self, clock: str) -> LinkRecords:
        """Return the link engines whose stamps are of a clock."""
        return LinkRecords(self.lab, clock)


def _reports(session: Session, wanted: Iterable[WantedPacket]) -> Iterator[PassageReport]:
    rest = iter(wanted)
    try:
        while packets := list(islice(rest, AT_ONCE)):
            yield from session.call(LinkPassages(packets=packets)).done.passages
    except AgentError:
        # The engine has ended: what links did is not known then, and `links` says so.
        return


def _nodes(lab: LiveLab) -> dict[str, str]:
    """Return the nodes of a lab by their addresses of IP and MAC."""
    found: dict[str, str] = {}
    for name, node in lab.plan.nodes.items():
        found |= {address.split("/")[0]: name for address in node.loopbacks}
        for each in node.attachments:
            found[each.mac] = name
            found |= {str(at.ip): name for at in each.interfaces()}
    return found
