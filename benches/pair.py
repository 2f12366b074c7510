"""Two nodes on one cable, and programs in them, for the packet benchmarks."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from delaylab.agent.measuring_requests import Probe
from delaylab.agent.result import Result
from delaylab.agent.wire import measuring
from delaylab.errors import DelaylabError, NotHere
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.resolve import lab_from_data

NEAR, FAR = "near", "far"


def need(*programs: str) -> None:
    """Raise NotHere, with the remedy, if a peer's program is missing."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise NotHere(f"the benchmark's peers are missing: {', '.join(missing)}", fix="apt-get")


@contextmanager
def pair(cpus: list[int] | None = None) -> Iterator[tuple[LiveLab, str]]:
    """Bring up a lab of two nodes on one cable; the block gets it and the far node's address."""
    spec = lab_from_data(
        {
            "lab": "bench",
            "nodes": {NEAR: {"cpus": cpus}, FAR: {"cpus": cpus}},
            "links": [{"between": [NEAR, FAR]}],
        }
    )
    with temporary(spec, accounting=False) as lab:
        yield lab, lab.plan.nodes[FAR].attachments[0].address


def probe(
    lab: LiveLab, to: str, *, sender: str = NEAR, **fields: Any
) -> Result[measuring.ProbeDone]:
    """Run the agent's probe in a node to its end."""
    session = lab.node_session(sender)
    defaults: dict[str, Any] = {
        "probe": 1,
        "protocol": "icmp",
        "to": to,
        "ident": 34567,
        "size": 56,
        "linger_ns": 500_000_000,
        "late_ns": 500_000_000,
        "stamps": ["app", "stack"],
        "realtime": True,
    }
    result = session.call(Probe(**{**defaults, **fields}), timeout=300)
    session.close()
    return result


def run_in(lab: LiveLab, node: str, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a node's network, wait for it, and return its output as text."""
    enter = ["nsenter", "--target", str(lab.pid(f"node.{node}")), "--net"]
    return subprocess.run([*enter, *argv], capture_output=True, text=True, timeout=300, check=False)


def start_in(lab: LiveLab, node: str, *argv: str) -> subprocess.Popen[bytes]:
    """Start a program in a node's network."""
    enter = ["nsenter", "--target", str(lab.pid(f"node.{node}")), "--net"]
    return subprocess.Popen([*enter, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def said(stream: IO[bytes] | None, what: bytes) -> None:
    """Wait until a program's output has this text; DelaylabError if the program ends before."""
    assert stream is not None
    if not any(what in line for line in iter(stream.readline, b"")):
        raise DelaylabError(f"a program ended before it said {what.decode()!r}")


@contextmanager
def running(
    process: subprocess.Popen[bytes], stream: IO[bytes] | None, what: bytes
) -> Iterator[None]:
    """Wait until a started program's output has this text, run the block, then end the program."""
    try:
        said(stream, what)
        yield
    finally:
        process.terminate()
        process.wait()


@contextmanager
def irtt_server(lab: LiveLab, address: str) -> Iterator[None]:
    """Run an irtt server in the far node; it listens when the block begins."""
    server = start_in(lab, FAR, "irtt", "server", "-i", "1us", "-b", f"{address}:2112")
    with running(server, server.stdout, b"starting IPv4 listener"):
        yield
