"""A lab as a value: resolved, with every name and condition worked out."""

from __future__ import annotations

from delaylab.resolve.agent_names import AgentName, host_agent, machine_agent, node_agent
from delaylab.resolve.delays import delay_ns, round_trip_ns
from delaylab.resolve.lab import Lab, Step

__all__ = [
    "AgentName",
    "Lab",
    "Step",
    "delay_ns",
    "host_agent",
    "machine_agent",
    "node_agent",
    "round_trip_ns",
]
