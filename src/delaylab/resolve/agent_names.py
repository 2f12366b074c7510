"""Names of a lab's agents, and the words for the networks that agents are in."""

from __future__ import annotations

NEW = "new"
MACHINE = "machine"
GUEST = "guest"
WIRE = "wire"
ENGINE = "engine.docker"


def wire_agent(machine: str | None) -> str:
    """Return the name of the agent of the wire on a machine; None is this machine."""
    return WIRE if machine is None else f"{WIRE}.{machine}"


def engine_agent(machine: str | None) -> str:
    """Return the name of the agent that starts containers on a machine; None is this machine."""
    return ENGINE if machine is None else f"{ENGINE}.{machine}"


def host_agent(host: str) -> str:
    """Return the name of a host's agent."""
    return f"host.{host}"


def node_agent(node: str) -> str:
    """Return the name of a node's agent."""
    return f"node.{node}"


def link_agent(host: str) -> str:
    """Return the agent of a host's links with conditions; `host` is a name or an agent."""
    return f"link.{host.removeprefix('host.')}"


def nat_agent(node: str) -> str:
    """Return the name of the agent of a node's way outside."""
    return f"nat.{node}"


def machine_agent(host: str) -> str:
    """Return the agent of a host's machine with the Xen nodes; `host` is a name or an agent."""
    return f"xen.{host.removeprefix('host.')}"
