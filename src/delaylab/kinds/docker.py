"""Docker containers, started by the engine of this machine or by one of the lab's own."""

from __future__ import annotations

import json
from pathlib import Path

from delaylab.kinds import guest
from delaylab.kinds.lxc import START_DEADLINE_MS
from delaylab.plan.kind import Kind, Node, Rights
from delaylab.plan.model import Agent, Guest
from delaylab.plan.quota import quota_us
from delaylab.plan.references import to_engine_image, to_file
from delaylab.resolve.agent_names import GUEST, NEW, engine_agent, node_agent
from delaylab.spec.kinds import DockerNode

PROGRAM = "dockerd"
SCRIPT = Path(__file__).with_name("dockerd.sh")
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
    started = Guest("nothing", tuple(command(nodes)), deadline_ms=START_DEADLINE_MS)
    return Agent(engine_agent(machine), NEW, cgroup=True, guest=started)


def command(nodes: tuple[Node[DockerNode], ...]) -> list[str]:
    """Return the command line of the agent that starts the containers of a machine."""
    words = ["{image:agent/program}", "containers", "--folder", "{folder}", "--cgroup", "{cgroup}"]
    words += ["--agent", "{image:agent/program}", "--script", to_file(str(SCRIPT))]
    return words + [_container(node) for node in nodes]


def _container(node: Node[DockerNode]) -> str:
    """Return a container as `crates/agent/src/containers` reads it, one word of a command line."""
    spec = node.spec
    return json.dumps(
        {
            "name": node.name,
            "agent": node_agent(node.name),
            "image": _image(spec),
            "capabilities": node.capabilities,
            "cpus": node.cpus,
            "memory_bytes": spec.memory.bytes if spec.memory else None,
            "cpu_weight": spec.cpu_weight,
            "cpu_quota_us": None if spec.cpu_quota is None else quota_us(spec.cpu_quota),
        }
    )


def _image(spec: DockerNode) -> str:
    """Return a reference to the node's tar, or the name of an image that the engine has."""
    if spec.image is None:
        return guest.image_file("container", spec, "tar")
    return to_engine_image(spec.image) if spec.image.startswith("/") else spec.image
