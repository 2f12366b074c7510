"""Pure conversion of a lab to a printable plan of agents and operations."""

from delaylab.plan.build import build
from delaylab.plan.engine_links import EngineLinks, Port
from delaylab.plan.kind import Kind, Rights
from delaylab.plan.link_ports import LinkPorts
from delaylab.plan.model import (
    Agent,
    Interface,
    Plan,
    host_agent,
    link_agent,
    node_agent,
    operation_message,
)
from delaylab.plan.path import Path, path
from delaylab.plan.points import Way, way
from delaylab.plan.sides import Tap

__all__ = [
    "Agent",
    "EngineLinks",
    "Interface",
    "Kind",
    "LinkPorts",
    "Path",
    "Plan",
    "Port",
    "Rights",
    "Tap",
    "Way",
    "build",
    "host_agent",
    "link_agent",
    "node_agent",
    "operation_message",
    "path",
    "way",
]
