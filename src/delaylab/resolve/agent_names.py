"""Names of a lab's agents, and the words for the networks that agents are in."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, cast

Role = Literal["host", "node", "wire", "link", "nat", "xen", "engine"]
"""The task of an agent: it holds the network of a host, a node or the wire, carries a host's links
with conditions, makes a node's way outside, or starts a host's machine with Xen or its containers.
"""
ENGINE = "engine.docker"


class OwnNetwork(StrEnum):
    """The network of an agent that shares none with another agent.

    It is a new one, that which its guest brings, or the machine's own.
    """

    NEW = "new"
    GUEST = "guest"
    MACHINE = "machine"


NEW, GUEST, MACHINE = OwnNetwork


class AgentName(str):
    """The name of an agent: its role, and the host, node or machine that it is of."""

    __slots__ = ()

    @property
    def role(self) -> Role:
        """Return what the agent is for."""
        return cast(Role, self.partition(".")[0])

    @property
    def of(self) -> str:
        """Return the host, node or machine that it is of; empty for this machine."""
        if self.role == "engine":
            return self.removeprefix(ENGINE).removeprefix(".")
        return self.partition(".")[2]

    @property
    def place(self) -> str:
        """Return the place as users name it: a node by its name, all others by their agents."""
        return self.of if self.role == "node" else str(self)


Network = OwnNetwork | AgentName
"""The network of an agent: one of its own, or that of an earlier agent."""


def wire_agent(machine: str | None) -> AgentName:
    """Return the name of the agent of the wire on a machine; None is this machine."""
    return AgentName("wire" if machine is None else f"wire.{machine}")


def engine_agent(machine: str | None) -> AgentName:
    """Return the name of the agent that starts containers on a machine; None is this machine."""
    return AgentName(ENGINE if machine is None else f"{ENGINE}.{machine}")


def host_agent(host: str) -> AgentName:
    """Return the name of a host's agent."""
    return AgentName(f"host.{host}")


def node_agent(node: str) -> AgentName:
    """Return the name of a node's agent."""
    return AgentName(f"node.{node}")


def link_agent(host: str) -> AgentName:
    """Return the name of the agent of a host's links with conditions."""
    return AgentName(f"link.{host}")


def nat_agent(node: str) -> AgentName:
    """Return the name of the agent of a node's way outside."""
    return AgentName(f"nat.{node}")


def machine_agent(host: str) -> AgentName:
    """Return the name of the agent of a host's machine with the Xen nodes."""
    return AgentName(f"xen.{host}")
