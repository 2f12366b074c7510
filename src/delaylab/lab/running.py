"""A running lab: its agents, and the operations that a user has for its nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING

from delaylab.agent.session import Session
from delaylab.agent.wire.sessions import Hello, HelloDone
from delaylab.errors import BadInput, DelaylabError
from delaylab.io.side_by_side import side_by_side
from delaylab.machines import DescribedLab, Machine
from delaylab.records.doubts import Doubt, DoubtKind, doubt
from delaylab.resolve.agent_names import AgentName, host_agent, node_agent

if TYPE_CHECKING:
    from delaylab.lab.routing.ready import Converged
    from delaylab.plan.kept import KeptPlan, PlannedNode
    from delaylab.resolve.lab import Lab


class LiveLab:
    """Handles to the agents of a running lab."""

    def __init__(
        self,
        running: DescribedLab,
        notes: Sequence[Doubt] = (),
        images: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name, self.machine, self.notes = running.name, running.machine, notes
        # The image layers that guests boot, each with its hash: known to who started the lab.
        self.images = images
        # How its routing daemons became ready: known to who started the lab.
        self.converged: Converged | None = None
        self.keeper = running.keeper
        self._running = running
        self._open: list[Session] = []
        self._hellos: dict[str, HelloDone] = {}

    @property
    def spec(self) -> Lab:
        """Return the checked lab file."""
        return self._running.spec

    @property
    def plan(self) -> KeptPlan:
        """Return the plan that the lab was built by."""
        return self._running.plan

    @property
    def folder(self) -> PurePosixPath:
        """Return the lab's folder on its machine."""
        return self._running.access.path

    def folder_of(self, agent: str) -> PurePosixPath:
        """Return the lab's folder on the machine of an agent."""
        return self._running.access.folder_of(agent)

    def machine_of(self, agent: str) -> Machine:
        """Return the machine of an agent."""
        return self._running.machine_of(agent)

    def ssh(self, agent: str) -> str | None:
        """Return how ssh reaches the machine of an agent; None if it is this one."""
        return self._running.ssh(agent)

    @property
    def machines(self) -> Mapping[str, Machine]:
        """Return the machines that carry the lab, by their names in it."""
        return self._running.places

    def why_not_whole(self) -> DelaylabError | None:
        """Return why the lab is not up as a whole, with the command to use now; None if it is."""
        return self._running.why_not_whole()

    def is_over(self) -> bool:
        """Return True, and forget the lab, if it has ended on all of its machines."""
        if not self._running.has_ended():
            return False
        self._running.take_down()
        return True

    def is_lost(self, agent: str) -> bool:
        """Return True for an agent whose machine cannot be reached, or has lost the lab."""
        return bool(self.unreachable) and self.machine_of(agent).name in self.unreachable

    @property
    def unreachable(self) -> dict[str, str]:
        """Return the machines whose part of the lab cannot be reached, each with the reason."""
        return self._running.unreachable

    def names(self) -> list[str]:
        """Return the names of what is in the lab's folder."""
        return self._running.access.names()

    @property
    def warnings(self) -> list[Doubt]:
        """Return notes on settings that were not applied, such as a CPU set without cgroups."""
        kept = [doubt(DoubtKind.FABRIC, text, "") for text in self.keeper.warnings]
        return [*kept, *self.notes]

    def clock(self, agent: str) -> str:
        """Return the name of the clock of an agent's stamps, which is its kernel's."""
        return self._hello(agent).clock

    def namespace(self, agent: str) -> int:
        """Return the cookie of an agent's network namespace; 0 if its kernel gives none."""
        return self._hello(agent).namespace

    def _hello(self, agent: str) -> HelloDone:
        if agent not in self._hellos:
            session = self.session(agent)
            self._hellos[agent] = session.call(Hello()).done
            session.close()
        return self._hellos[agent]

    def ahead_ns(self, agent: str) -> int:
        """Return how far the clock of an agent's machine is ahead of this machine's.

        It is 0 on this machine, and elsewhere at most half of a round trip over ssh wrong.
        """
        clock = self.machine_of(agent).clock()
        if clock is None:
            return 0
        try:
            return clock.ahead_ns()
        finally:
            clock.session.close()

    def pid(self, agent: str) -> int:
        """Return an agent's process id, as seen by this process."""
        return self.keeper.agents[agent].pid

    def is_alive(self, agent: str) -> bool:
        """Return True while an agent's process lives."""
        about = self.keeper.agents[agent]
        return self.machine_of(agent).started_at(about.pid) == about.start

    def ended(self) -> list[str]:
        """Return the agents whose process has ended, on machines that can be reached."""
        places = defaultdict[Machine, list[str]](list)
        for agent in self.keeper.agents:
            if not self.is_lost(agent):
                places[self.machine_of(agent)].append(agent)

        def ended(place: tuple[Machine, list[str]]) -> list[str]:
            machine, agents = place
            about = [self.keeper.agents[agent] for agent in agents]
            starts = machine.starts([each.pid for each in about])
            pairs = zip(agents, about, starts, strict=True)
            return [agent for agent, each, start in pairs if start != each.start]

        found = {agent for each in side_by_side(ended, places.items()) for agent in each}
        return [agent for agent in self.keeper.agents if agent in found]

    def session(self, agent: str) -> Session:
        """Open a new session with an agent; `close` closes it at the latest."""
        session = self._running.access.connect(agent)
        self._open.append(session)
        return session

    def node_session(self, node: str) -> Session:
        """Open a new session with the agent of a node, or of a host (`host.NAME`) or the `wire`."""
        return self.session(self.agent_name(node))

    def has_own_root(self, node: str) -> bool:
        """Return True if a node has a root file system of its own (containers, machines)."""
        found = self.plan.nodes.get(node)
        return found is not None and found.own_root

    def planned(self, node: str) -> PlannedNode:
        """Return a node as it was planned; BadInput if the lab has none of this name."""
        nodes = self.plan.nodes
        if node not in nodes:
            what = f"lab {self.name!r} has no node {node!r}"
            raise BadInput(what, fix=f"there are: {', '.join(nodes)}")
        return nodes[node]

    def agent_name(self, place: str) -> str:
        """Return the agent's name of a node, a host or the wire; BadInput if there is none."""
        agents = self.keeper.agents
        for name in (node_agent(place), place, host_agent(place)):
            if name in agents:
                return name
        known = ", ".join(AgentName(name).place for name in agents)
        raise BadInput(f"lab {self.name!r} has no node {place!r}", fix=f"there are: {known}")

    def close(self) -> None:
        """Close all sessions; the agents stop the requests that run in them."""
        while self._open:
            self._open.pop().close()
