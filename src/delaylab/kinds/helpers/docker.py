"""`python -m delaylab.kinds.helpers.docker`: starts a lab's containers in a container engine.

The engine may be the system's, whose containers are not processes of the lab. They still end with
the lab: the agent in each container ends when the connection to its monitor does.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker
from docker.errors import DockerException, ImageNotFound, NotFound
from docker.types import Mount

from delaylab.errors import BadInput, DelaylabError
from delaylab.kinds.helpers import archive, engine, leash
from delaylab.kinds.helpers.container import Container, cpu_shares

LABEL = "org.delaylab.lab"
REPOSITORY = "delaylab"
INSIDE = "/run/delaylab"
AGENT = "/sbin/delaylab-agent"
AT_ONCE = 8
LONGEST_TAG = 128


def main() -> int:
    """Start the containers and keep running; print an error as one line."""
    options = _options()
    nodes = [Container.parse(text) for text in options.container]
    try:
        client = engine.find() or _own_engine(options.folder, nodes)
        _sweep(client)
        images = {name: _image(client, name) for name in {node.image for node in nodes}}
        # An engine that uses systemd's cgroup driver puts containers into slices of its own.
        cgroup = options.cgroup if client.info()["CgroupDriver"] == "cgroupfs" else None

        ends = client.events(decode=True, filters={"event": "die", "label": LABEL})

        def start(node: Container) -> tuple[str, int]:
            monitor = leash.opened(options.folder.parent / f"{node.agent}.guest")
            return _start(client, node, images[node.image], cgroup, options), monitor

        with ThreadPoolExecutor(AT_ONCE) as pool:
            started = dict(pool.map(start, nodes))
    except (DelaylabError, DockerException, OSError) as error:
        print(f"docker: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    _report_ends(ends, started)
    signal.pause()
    return 0


def _report_ends(ends: Iterator[dict[str, Any]], monitors: dict[str, int]) -> None:
    """Tell the monitor of each container that ends, until the engine does."""
    with suppress(DockerException, OSError):
        for end in ends:
            if end["Actor"]["ID"] in monitors:
                code = end["Actor"]["Attributes"].get("exitCode", "unknown")
                leash.report_end(monitors[end["Actor"]["ID"]], f"exit code {code}")


def _own_engine(folder: Path, nodes: list[Container]) -> docker.DockerClient:
    with_policy = any(node.has_cpu_policy for node in nodes)
    client, _ = engine.start(folder, hide_cpu_groups=not with_policy)
    return client


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="delaylab.kinds.helpers.docker")
    parser.add_argument("--folder", type=Path, help="for an engine of the lab's own")
    parser.add_argument("--cgroup", help="of this process; the containers' are beside it")
    parser.add_argument("--agent", help="the agent's file")
    parser.add_argument("container", nargs="*", help="as JSON")
    return parser.parse_args()


def _image(client: docker.DockerClient, name: str) -> str:
    """Return the name of an image in the engine; import or load a file, once per content.

    Raises BadInput if the engine has no image of that name.
    """
    if not name.startswith("/"):
        try:
            client.images.get(name)
        except ImageNotFound:
            raise BadInput(
                f"the container engine has no image {name!r}",
                fix="load it into the system's engine, or give a root file system's tar",
            ) from None
        return name
    # The image cache names folders by content; other files are identified by time and size.
    path = Path(name)
    about = path.stat()
    tag = f"{path.parent.name}-{about.st_size:x}-{int(about.st_mtime):x}"
    # A tag has 128 characters at most, without `+`, which packages' names may have.
    tag = re.sub(r"[^\w.-]", "-", tag, flags=re.ASCII)[-LONGEST_TAG:].lstrip(".-")
    full = f"{REPOSITORY}:{tag}"
    try:
        client.images.get(full)
    except ImageNotFound:
        if not archive.is_archive(path):
            client.api.import_image_from_file(name, repository=REPOSITORY, tag=tag)
            return full
        with archive.nameless(path) as data:
            (loaded,) = client.images.load(data)
        loaded.tag(REPOSITORY, tag)
    return full


def _start(
    client: docker.DockerClient,
    node: Container,
    image: str,
    cgroup: str | None,
    options: argparse.Namespace,
) -> str:
    """Start a container and return its id."""
    lab = options.folder.parent
    container = client.containers.create(
        image,
        # In place of the image's own: its ENTRYPOINT would take the agent for an argument, its USER
        # lacks the rights, and its HEALTHCHECK would run programs during measurements.
        entrypoint=[AGENT, "init", "--folder", INSIDE],
        command=["--capabilities", ",".join(node.capabilities)],
        user="0",
        healthcheck={"test": ["NONE"]},
        hostname=node.name,
        network_mode="none",
        mounts=[
            Mount(INSIDE, str(lab / f"{node.agent}.guest/leash"), type="bind", read_only=True),
            Mount(AGENT, options.agent, type="bind", read_only=True),
            Mount("/etc/hosts", str(lab / "hosts"), type="bind", read_only=True),
        ],
        cap_drop=["ALL"],
        cap_add=[name.upper() for name in node.capabilities],
        labels={LABEL: str(lab)},
        auto_remove=True,
        **_limits(node, cgroup),
    )
    try:
        container.start()
    except DockerException:
        container.remove(force=True)
        raise
    return str(container.id)


def _limits(node: Container, cgroup: str | None) -> dict[str, Any]:
    limits = {
        "cpuset_cpus": ",".join(map(str, node.cpus)) if node.cpus else None,
        "mem_limit": node.memory_bytes,
        "cpu_shares": cpu_shares(node.cpu_weight) if node.cpu_weight else None,
        # With a group of its own, the container's is below it, and has its quota.
        "cpu_quota": None if cgroup else node.cpu_quota_us,
        "cgroup_parent": f"/{Path(cgroup).parent / node.agent}" if cgroup else None,
    }
    return {name: value for name, value in limits.items() if value is not None}


def _sweep(client: docker.DockerClient) -> None:
    """Remove containers that a killed lab created but never started; started ones have ended."""
    about: dict[str, str | list[str] | bool] = {"label": LABEL, "status": "created"}
    made = client.containers.list(all=True, filters=about, ignore_removed=True)
    for container in made:
        if not Path(container.labels[LABEL]).exists():
            try:
                container.remove()
            except NotFound:
                continue


if __name__ == "__main__":
    sys.exit(main())
