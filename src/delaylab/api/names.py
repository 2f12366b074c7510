"""Names of agents: role, and host, node or machine."""

from __future__ import annotations

from delaylab.resolve.agent_names import AgentName, host_agent, machine_agent, node_agent

__all__ = [
    "AgentName",
    "host_agent",
    "machine_agent",
    "node_agent",
]
