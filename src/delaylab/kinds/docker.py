"""Docker containers, started by the engine of this machine or by one of the lab's own."""

from __future__ import annotations

import sys

from delaylab.kinds import guest
from delaylab.kinds.helpers.container import Container
from delaylab.kinds.lxc import START_DEADLINE_MS
from delaylab.plan.agent_names import GUEST, NEW, node_agent
from delaylab.plan.kind import Kind, Node, Rights
from delaylab.plan.model import Agent, Guest
from delaylab.plan.quota import quota_us
from delaylab.spec.kinds import DockerNode

PROGRAM = "dockerd"
ENGINE = "engine.docker"
NEEDS_ROOT = (
    "docker needs root: root puts a lab's interfaces into containers; run as root, or take kind "
    "netns"
)


class Docker(Kind[DockerNode]):
    """A container without networking by the engine; the lab puts its own interfaces into it."""

    name = "docker"
    boot_s = 3.0
    not_elsewhere = (
        "its containers would be started by a program in Python, which other machines do not get; "
        "take kind lxc, or put its host on this machine"
    )

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Return a reason unless an engine is installed and this user is root."""
        return rights.why_not(PROGRAM) if rights.root else NEEDS_ROOT

    def agent(self, node: Node[DockerNode]) -> Agent:
        """Return a monitor that waits for the container and enters its network namespace."""
        monitored = Guest("folder", deadline_ms=START_DEADLINE_MS)
        return Agent(node_agent(node.name), GUEST, cpus=node.cpus, cgroup=True, guest=monitored)

    def services(self, nodes: tuple[Node[DockerNode], ...]) -> tuple[Agent, ...]:
        """Return the agent that starts all of the lab's containers."""
        engine = Guest("nothing", tuple(command(nodes)), deadline_ms=START_DEADLINE_MS)
        return (Agent(ENGINE, NEW, cgroup=True, guest=engine),)


KIND = Docker()


def command(nodes: tuple[Node[DockerNode], ...]) -> list[str]:
    """Return the command line of the program that starts the containers."""
    words = [sys.executable, "-m", "delaylab.kinds.helpers.docker", "--folder", "{folder}"]
    words += ["--cgroup", "{cgroup}", "--agent", "{image:agent/program}"]
    return words + [_container(node).text() for node in nodes]


def _container(node: Node[DockerNode]) -> Container:
    spec = node.spec
    return Container(
        node.name,
        node_agent(node.name),
        spec.image or guest.image_file("container", spec, "tar"),
        node.capabilities,
        node.cpus,
        spec.memory.bytes if spec.memory else None,
        spec.cpu_weight,
        None if spec.cpu_quota is None else quota_us(spec.cpu_quota),
    )
