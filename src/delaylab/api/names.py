"""Names of agents: role, and host, node or machine; the name of a lab's only host."""

from __future__ import annotations

from delaylab.resolve.agent_names import AgentName, host_agent, machine_agent, node_agent
from delaylab.spec.this_machine import HERE

__all__ = [
    "HERE",
    "AgentName",
    "host_agent",
    "machine_agent",
    "node_agent",
]
