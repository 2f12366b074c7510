"""Docker containers, started by the engine of this machine or by one of the lab's own."""

from __future__ import annotations

import sys
from pathlib import Path

from delaylab.kinds import guest
from delaylab.kinds.helpers.container import Container
from delaylab.kinds.lxc import START_DEADLINE_MS
from delaylab.plan.agent_names import GUEST, NEW, engine_agent, node_agent
from delaylab.plan.kind import Kind, Node, Rights
from delaylab.plan.model import Agent, Guest
from delaylab.plan.quota import quota_us
from delaylab.plan.references import to_file
from delaylab.spec.kinds import DockerNode

PROGRAM = "dockerd"
SCRIPT = Path(__file__).parent / "helpers" / "dockerd.sh"
NEEDS_ROOT = (
    "docker needs root: root puts a lab's interfaces into containers; run as root, or take kind "
    "netns"
)


class Docker(Kind[DockerNode]):
    """A container without networking by the engine; the lab puts its own interfaces into it."""

    name = "docker"
    boot_s = 3.0

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Return a reason unless an engine is installed and this user is root."""
        return rights.why_not(PROGRAM) if rights.root else NEEDS_ROOT

    def agent(self, node: Node[DockerNode]) -> Agent:
        """Return a monitor that waits for the container and enters its network namespace."""
        monitored = Guest("folder", deadline_ms=START_DEADLINE_MS)
        return Agent(node_agent(node.name), GUEST, cpus=node.cpus, cgroup=True, guest=monitored)

    def services(self, nodes: tuple[Node[DockerNode], ...]) -> tuple[Agent, ...]:
        """Return the agent that starts the lab's containers on each machine."""
        return tuple(
            _engine(machine, tuple(node for node in nodes if node.machine == machine))
            for machine in dict.fromkeys(node.machine for node in nodes)
        )


KIND = Docker()


def _engine(machine: str | None, nodes: tuple[Node[DockerNode], ...]) -> Agent:
    words = command(nodes) if machine is None else command_elsewhere(nodes)
    started = Guest("nothing", tuple(words), deadline_ms=START_DEADLINE_MS)
    return Agent(engine_agent(machine), NEW, cgroup=True, guest=started)


def command(nodes: tuple[Node[DockerNode], ...]) -> list[str]:
    """Return the command line of the program that starts the containers on this machine."""
    words = [sys.executable, "-m", "delaylab.kinds.helpers.docker", "--folder", "{folder}"]
    words += ["--cgroup", "{cgroup}", "--agent", "{image:agent/program}"]
    return words + [_container(node, node.spec.image).text() for node in nodes]


def command_elsewhere(nodes: tuple[Node[DockerNode], ...]) -> list[str]:
    """Return the command line of the agent that starts them on a machine without Python."""
    words = ["{image:agent/program}", "containers", "--folder", "{folder}", "--cgroup", "{cgroup}"]
    words += ["--agent", "{image:agent/program}", "--script", to_file(str(SCRIPT))]
    return words + [_container(node, _image_elsewhere(node.spec)).text() for node in nodes]


def _image_elsewhere(spec: DockerNode) -> str | None:
    """Return a reference to a node's own image if it is a file, else its name in the engine."""
    own = spec.image
    return to_file(own) if own and own.startswith("/") else own


def _container(node: Node[DockerNode], image: str | None) -> Container:
    spec = node.spec
    return Container(
        node.name,
        node_agent(node.name),
        image or guest.image_file("container", spec, "tar"),
        node.capabilities,
        node.cpus,
        spec.memory.bytes if spec.memory else None,
        spec.cpu_weight,
        None if spec.cpu_quota is None else quota_us(spec.cpu_quota),
    )
