"""Benchmark of containers up and down, beside `lxc-start` and `docker run` by hand."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median

import docker
import pytest

from benches import docker_engine
from benches.pair import need
from benches.section import Section
from delaylab import images
from delaylab.lab.start import temporary
from delaylab.resolve.resolve import lab_from_data

COUNT = 8
WIDTHS = (2, COUNT)
"""Numbers of containers that a user's script starts side by side: one per core, or all."""
ROUNDS = 5
REST = ("/bin/sleep", "1000")
IMAGE = "delaylab-bench"
MARKS = (f"dl{number}v" for number in itertools.count())
"""Prefixes of a round's interfaces and namespaces: those of the last round may not all be gone."""
GOAL = 1.2


@dataclass(frozen=True)
class Times:
    """The time in s for all containers to come up, and to go down."""

    up: float
    down: float


def run() -> Section:
    """Measure each kind in turn with its tool, with the same image and the same engine."""
    need("lxc-start", "docker", "dockerd")
    section = Section(
        "containers",
        f"{COUNT} containers up and down",
        f"Goal: delaylab takes at most {GOAL} × what the tool takes by hand, in the faster way: "
        f"{WIDTHS[0]} at once or all {WIDTHS[1]}. By hand have the same image, a bridge and a "
        "cable to each container by `ip -batch`, and no trace at the end. delaylab's figures "
        "include the readiness of the agent in each. Both use one Docker engine, which runs "
        f"already and has the image. Medians of {ROUNDS} rounds in turn.",
        ("kind", "how", "up, s", "per second", "× fastest", "down, s", "per second", "× fastest"),
    )
    with tempfile.TemporaryDirectory(prefix="dl-") as name:
        folder = Path(name)
        with running_engine(folder) as client:
            for kind, by_hand in (("lxc", _lxc), ("docker", _docker)):
                section.rows += _rows(kind, partial(_delaylab, client), partial(by_hand, folder))
    return section


def _rows(
    kind: str, delaylab: Callable[[str], Times], by_hand: Callable[[int], Times]
) -> list[tuple[str, ...]]:
    delaylab(kind)  # builds the images, for both
    ours: list[Times] = []
    theirs: dict[int, list[Times]] = {width: [] for width in WIDTHS}
    for _ in range(ROUNDS):
        ours.append(delaylab(kind))
        for width, times in theirs.items():
            times.append(by_hand(width))
    hands = {f"by hand, {width} at once": _median(times) for width, times in theirs.items()}
    up, down = min(t.up for t in hands.values()), min(t.down for t in hands.values())
    return [
        (kind, how, *_cells(times.up, up), *_cells(times.down, down))
        for how, times in {"delaylab": _median(ours), **hands}.items()
    ]


def _median(times: list[Times]) -> Times:
    return Times(median(t.up for t in times), median(t.down for t in times))


def _cells(seconds: float, fastest: float) -> tuple[str, str, str]:
    return f"{seconds:.2f}", f"{COUNT / seconds:.1f}", f"{seconds / fastest:.2f}"


@contextmanager
def running_engine(folder: Path) -> Iterator[docker.DockerClient]:
    """Run a Docker engine that has the image; the block gets its client."""
    place = folder / "system" / "engine"
    with docker_engine.running(place) as client, pytest.MonkeyPatch.context() as patched:
        # A system's engine sees the folder in which labs are; this one has a /run of its own.
        patched.setenv("DOCKER_HOST", f"unix://{place}/docker.sock")
        patched.setenv("DELAYLAB_RUN", str(folder / "run"))
        tar = str(images.require("container")["tar"])
        client.api.import_image_from_file(tar, repository=IMAGE)
        yield client


def _delaylab(client: docker.DockerClient, kind: str) -> Times:
    spec = lab_from_data(
        {
            "lab": "many",
            "hosts": {"here": {}},
            "nodes": {f"n{number}": {"kind": kind, "host": "here"} for number in range(COUNT)},
            "links": [{"join": [f"n{number}" for number in range(COUNT)], "name": "lan"}],
        }
    )
    began = time.monotonic()
    with temporary(spec, accounting=False):
        up = time.monotonic()
        # A lab is down before Docker's engine has removed its containers. The tool by hand waits
        # for their removal, so it counts here, too.
        gone = client.events(filters={"event": "destroy"}) if kind == "docker" else range(COUNT)
        ended = time.monotonic()
    deque(islice(gone, COUNT), maxlen=0)
    return Times(up - began, time.monotonic() - ended)


def _lxc(folder: Path, width: int) -> Times:
    root = images.require("container")["rootfs"]
    mark = next(MARKS)

    def start(number: int) -> None:
        own = folder / f"lxc{number}"
        (own / "upper").mkdir(parents=True)
        settings = [
            f"lxc.rootfs.path=overlay:{root}:{own}/upper",
            f"lxc.init.cmd={' '.join(REST)}",
            "lxc.mount.auto=proc:mixed sys:mixed",
            f"lxc.namespace.share.net=/run/netns/{mark}{number}",
            "lxc.apparmor.profile=unconfined",
        ]
        words = [word for setting in settings for word in ("-s", setting)]
        _run("lxc-start", "-d", "-n", f"n{number}", "-P", str(own), "-f", "/dev/null", *words)

    def stop(number: int) -> None:
        own = folder / f"lxc{number}"
        _run("lxc-stop", "-k", "-n", f"n{number}", "-P", str(own))
        shutil.rmtree(own)

    names = [f"{mark}{number}" for number in range(COUNT)]
    with ThreadPoolExecutor(width) as pool, ExitStack() as ending:
        began = time.monotonic()
        _ip([f"netns add {name}" for name in names])
        ending.callback(_ip, [f"netns del {name}" for name in names] + [f"link del {mark}"])
        _network(mark, names)
        ending.callback(lambda: list(pool.map(stop, range(COUNT))))
        list(pool.map(start, range(COUNT)))
        up = time.monotonic()
        ending.close()
        return Times(up - began, time.monotonic() - up)


def _docker(_: Path, width: int) -> Times:
    mark = next(MARKS)

    def start(number: int) -> str:
        name = f"n{number}"
        _run("docker", "run", "-d", "--network=none", f"--name={name}", IMAGE, *REST)
        return _run("docker", "inspect", "-f", "{{.State.Pid}}", name).strip()

    def stop(number: int) -> None:
        _run("docker", "rm", "-f", f"n{number}")

    with ThreadPoolExecutor(width) as pool, ExitStack() as ending:
        began = time.monotonic()
        ending.callback(lambda: list(pool.map(stop, range(COUNT))))
        pids = list(pool.map(start, range(COUNT)))
        ending.callback(_ip, [f"link del {mark}"])
        _network(mark, pids)
        up = time.monotonic()
        ending.close()
        return Times(up - began, time.monotonic() - up)


def _network(mark: str, namespaces: list[str]) -> None:
    """Make a bridge, and a cable from it to each namespace (a name, or a process id in it)."""
    lines = [f"link add {mark} type bridge", f"link set {mark} up"]
    for number, namespace in enumerate(namespaces):
        vif = f"{mark}{number}"
        lines.append(f"link add {vif} type veth peer name eth0 netns {namespace}")
        lines.append(f"link set {vif} master {mark} up")
    _ip(lines)
    for number, namespace in enumerate(namespaces):
        enter = (
            ("ip", "-n", namespace)
            if namespace.startswith(mark)
            else (*("nsenter", "--net", "--target", namespace), "ip")
        )
        _ip([f"address add 10.99.0.{number + 1}/24 dev eth0", "link set eth0 up"], *enter)


def _ip(lines: list[str], *enter: str) -> None:
    text = "\n".join(lines).encode()
    subprocess.run([*(enter or ["ip"]), "-batch", "-"], input=text, check=True)


def _run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
