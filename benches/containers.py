"""Containers up and down beside `lxc-start` and `docker run` by hand."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benches.pair import need
from benches.section import Section
from delaylab import images
from delaylab.guests import engine
from delaylab.lab import temporary
from delaylab.spec import LabSpec

COUNT = 16
AT_ONCE = 8
"""As many as delaylab's helper for Docker starts at once."""
ROUNDS = 5
REST = ("/bin/sleep", "1000")
IMAGE = "delaylab-bench"
MARK = "dlbench"
Times = tuple[float, float]


def run() -> Section:
    """Each kind in turn with its tool, the same image, the same engine."""
    need("lxc-start", "docker", "dockerd")
    section = Section(
        "containers",
        f"{COUNT} containers up and down",
        "Asked: delaylab adds no more than 20 % to what the tool takes by hand. By hand means "
        f"{AT_ONCE} at once with the same image and the same network by `ip -batch`: a bridge and "
        "a cable to each container. delaylab's figures include the readiness of the agent in each. "
        f"Both use one Docker engine, which runs already. Medians of {ROUNDS} rounds in turn.",
        ("kind", "how", "up, s", "containers/s", "down, s", "containers/s"),
    )
    with tempfile.TemporaryDirectory(prefix="dl-") as name:
        folder = Path(name)
        with running_engine(folder):
            for kind, by_hand in (("lxc", _lxc), ("docker", _docker)):
                rounds = [(_delaylab(kind), by_hand(folder)) for _ in range(ROUNDS)]
                section.rows.append(_row(kind, "delaylab", [ours for ours, _ in rounds]))
                section.rows.append(_row(kind, "by hand", [theirs for _, theirs in rounds]))
    return section


def _row(kind: str, how: str, times: list[Times]) -> tuple[str, ...]:
    up, down = (median(one[i] for one in times) for i in (0, 1))
    return kind, how, f"{up:.2f}", f"{COUNT / up:.1f}", f"{down:.2f}", f"{COUNT / down:.1f}"


@contextmanager
def running_engine(folder: Path) -> Iterator[None]:
    """An engine that is there before and after, and has the image."""
    place = folder / "system" / "engine"
    place.mkdir(parents=True)
    client, process = engine.start(place, hide_cpu_groups=True)
    os.environ["DOCKER_HOST"] = f"unix://{place}/docker.sock"
    try:
        tar = str(images.require("container")["tar"])
        client.api.import_image_from_file(tar, repository=IMAGE)
        yield
    finally:
        del os.environ["DOCKER_HOST"]
        client.close()
        process.terminate()
        process.wait()


def _delaylab(kind: str) -> Times:
    spec = LabSpec.model_validate(
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
    return up - began, time.monotonic() - up


def _lxc(folder: Path) -> Times:
    root = images.require("container")["rootfs"]

    def start(number: int) -> None:
        own = folder / f"lxc{number}"
        (own / "upper").mkdir(parents=True, exist_ok=True)
        settings = [
            f"lxc.rootfs.path=overlay:{root}:{own}/upper",
            f"lxc.init.cmd={' '.join(REST)}",
            f"lxc.namespace.share.net=/run/netns/{MARK}{number}",
            "lxc.apparmor.profile=unconfined",
        ]
        words = [word for setting in settings for word in ("-s", setting)]
        _run("lxc-start", "-d", "-n", f"n{number}", "-P", str(own), "-f", "/dev/null", *words)

    def stop(number: int) -> None:
        _run("lxc-stop", "-k", "-n", f"n{number}", "-P", str(folder / f"lxc{number}"))

    names = [f"{MARK}{number}" for number in range(COUNT)]
    began = time.monotonic()
    _ip([f"netns add {name}" for name in names])
    _network(names)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(start, range(COUNT)))
        up = time.monotonic()
        list(pool.map(stop, range(COUNT)))
    _ip([f"netns del {name}" for name in names] + [f"link del {MARK}"])
    return up - began, time.monotonic() - up


def _docker(folder: Path) -> Times:
    def start(number: int) -> str:
        name = f"n{number}"
        _run("docker", "run", "-d", "--network=none", f"--name={name}", IMAGE, *REST)
        return _run("docker", "inspect", "-f", "{{.State.Pid}}", name).strip()

    def stop(number: int) -> None:
        _run("docker", "rm", "-f", f"n{number}")

    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        _network(list(pool.map(start, range(COUNT))))
        up = time.monotonic()
        list(pool.map(stop, range(COUNT)))
    _ip([f"link del {MARK}"])
    return up - began, time.monotonic() - up


def _network(namespaces: list[str]) -> None:
    """A bridge, and a cable from it to each namespace (a name, or a process that is in it)."""
    lines = [f"link add {MARK} type bridge", f"link set {MARK} up"]
    for number, namespace in enumerate(namespaces):
        vif = f"{MARK}v{number}"
        lines.append(f"link add {vif} type veth peer name eth0 netns {namespace}")
        lines.append(f"link set {vif} master {MARK} up")
    _ip(lines)
    for number, namespace in enumerate(namespaces):
        enter = (
            ("ip", "-n", namespace)
            if namespace.startswith(MARK)
            else (*("nsenter", "--net", "--target", namespace), "ip")
        )
        inside = f"address add 10.99.0.{number + 1}/24 dev eth0\nlink set eth0 up\n"
        subprocess.run([*enter, "-batch", "-"], input=inside.encode(), check=True)


def _ip(lines: list[str]) -> None:
    text = "\n".join(lines).encode()
    subprocess.run(["ip", "-batch", "-"], input=text, check=True, capture_output=True)


def _run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
