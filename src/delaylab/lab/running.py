"""A running lab: its agents, and the operations that a user has for its nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from delaylab import hosts
from delaylab.agent.session import Session
from delaylab.errors import BadInput
from delaylab.plan import Plan, host_agent, node_agent
from delaylab.spec import CONTAINERS, MACHINES, LabSpec, host_of


@dataclass
class Lab:
    """Handles to the agents of a running lab."""

    name: str
    spec: LabSpec
    plan: Plan
    place: hosts.Place
    keeper: dict[str, Any]
    _open: list[Session] = field(default_factory=list)
    _clocks: dict[str, str] = field(default_factory=dict)

    @property
    def warnings(self) -> list[str]:
        """Return notes on settings that were not applied, such as a CPU set without cgroups."""
        return list(self.keeper.get("warnings", []))

    def clock(self, agent: str) -> str:
        """Return the name of the clock of an agent's stamps, which is its kernel's."""
        if agent not in self._clocks:
            session = self.session(agent)
            self._clocks[agent] = session.call("hello").done["clock"]
            session.close()
        return self._clocks[agent]

    def pid(self, agent: str) -> int:
        """Return an agent's process id, as seen by this process."""
        return int(self.keeper["agents"][agent]["pid"])

    def is_alive(self, agent: str) -> bool:
        """Return True while an agent's process lives."""
        about = self.keeper["agents"][agent]
        return bool(hosts.started_at(about["pid"]) == about["start"])

    def session(self, agent: str) -> Session:
        """Open a new session with an agent; `close` closes it at the latest."""
        session = self.place.connect(f"{agent}.sock", agent)
        self._open.append(session)
        return session

    def node_session(self, node: str) -> Session:
        """Open a new session with the agent of a node, or of a host (`host.NAME`) or the `wire`."""
        return self.session(self.agent_name(node))

    def has_own_root(self, node: str) -> bool:
        """Return True if a node has a root file system of its own (containers, machines)."""
        spec = self.spec.nodes.get(node)
        return spec is not None and spec.kind in CONTAINERS | MACHINES

    def agent_name(self, place: str) -> str:
        """Return the agent's name of a node, a host or the wire; BadInput if there is none."""
        agents = self.keeper["agents"]
        for name in (node_agent(place), place, host_agent(place)):
            if name in agents:
                return name
        known = ", ".join(name.removeprefix("node.") for name in agents)
        raise BadInput(f"lab {self.name!r} has no node {place!r}", fix=f"there are: {known}")

    def close(self) -> None:
        """Close all sessions; the agents stop the requests that run in them."""
        while self._open:
            self._open.pop().close()

    def describe(self) -> dict[str, Any]:
        """Return the entry of a lab in `ps --json`."""
        return {
            "lab": self.name,
            "keeper": self.keeper["pid"],
            "hosts": [self._describe(host_agent(name)) for name in self._host_names()],
            "nodes": [
                {
                    **self._describe(node_agent(name)),
                    "name": name,
                    "kind": spec.kind,
                    "host": host_of(self.spec, name),
                    "interfaces": [
                        {"name": i.name, "link": i.link, "addresses": list(i.addresses)}
                        for i in self.plan.interfaces[name]
                    ],
                }
                for name, spec in self.spec.nodes.items()
            ],
        }

    def _host_names(self) -> list[str]:
        return [
            a.name.removeprefix("host.") for a in self.plan.agents if a.name.startswith("host.")
        ]

    def _describe(self, agent: str) -> dict[str, Any]:
        pid = self.pid(agent)
        return {
            "name": agent.removeprefix("host."),
            "agent": agent,
            "pid": pid,
            "namespace": f"/proc/{pid}/ns/net",
            "enter": f"nsenter --target {pid} --net",
        }
