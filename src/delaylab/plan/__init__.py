"""lab -> agents and operations; pure and printable."""

from delaylab.plan.build import build
from delaylab.plan.kind import Kind, Rights
from delaylab.plan.model import Agent, Interface, Plan, host_agent, node_agent, operation_message
from delaylab.plan.points import Tap, Way, way

__all__ = [
    "Agent",
    "Interface",
    "Kind",
    "Plan",
    "Rights",
    "Tap",
    "Way",
    "build",
    "host_agent",
    "node_agent",
    "operation_message",
    "way",
]
