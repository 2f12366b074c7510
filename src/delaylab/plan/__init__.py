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
from delaylab.plan.path import NodePath, node_path
from delaylab.plan.points import ProbePath, probe_path
from delaylab.plan.sides import TapPoint

__all__ = [
    "Agent",
    "EngineLinks",
    "Interface",
    "Kind",
    "LinkPorts",
    "NodePath",
    "Plan",
    "Port",
    "ProbePath",
    "Rights",
    "TapPoint",
    "build",
    "host_agent",
    "link_agent",
    "node_agent",
    "node_path",
    "operation_message",
    "probe_path",
]
