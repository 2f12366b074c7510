"""A pair of network namespaces joined by a veth, and agents in them, over stdio."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import polars as pl

from delaylab.agent.table_schemas import SCHEMAS
from delaylab_study.trial.frames import decode
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
MESSAGE, TABLE, STDOUT = 0, 1, 3
STAMPS = ["app", "qdisc", "stack"]


def agent_binary() -> Path:
    """The agent that was built last; ``DELAYLAB_AGENT`` names another one."""
    named = os.environ.get("DELAYLAB_AGENT")
    if named:
        return Path(named)
    builds = list(ROOT.glob("target/*/*/delaylab-agent"))
    assert builds, "build the agent first: cargo build"
    return max(builds, key=lambda build: build.stat().st_mtime)


@dataclass
class Answer:
    """What an agent answered to one request."""

    done: dict[str, Any] | None = None
    error: dict[str, str] | None = None
    events: list[dict[str, Any]] = field(default_factory=list)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    parts: dict[str, list[bytes]] = field(default_factory=dict)
    output: bytes = b""


class Agent:
    """An agent on the other end of two pipes."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input: IO[bytes] = self.process.stdin
        self.output: IO[bytes] = self.process.stdout

    def close(self) -> None:
        """Hang up, which ends the agent."""
        self.input.close()
        self.process.wait(timeout=PATIENCE_S)
        self.output.close()

    def send(self, message: dict[str, Any]) -> None:
        """Send a request or an order."""
        payload = json.dumps(message).encode()
        self.input.write(struct.pack("<IHB", len(payload), 0, MESSAGE) + payload)
        self.input.flush()

    def frame(self) -> tuple[int, bytes]:
        """Read one frame: its kind and payload."""
        header = self.output.read(7)
        assert len(header) == 7, "the agent hung up"
        length, _, kind = struct.unpack("<IHB", header)
        return kind, self.output.read(length)

    def event(self) -> dict[str, Any]:
        """Read the next event; tables before it are skipped."""
        kind, payload = self.frame()
        while kind == TABLE:
            kind, payload = self.frame()
        message: dict[str, Any] = json.loads(payload) if kind == MESSAGE else {}
        assert "event" in message, message
        event: dict[str, Any] = message["event"]
        return event

    def answer(self) -> Answer:
        """Read up to the end of the running request."""
        answer = Answer()
        while answer.done is None and answer.error is None:
            kind, payload = self.frame()
            if kind == TABLE:
                name = payload[1 : 1 + payload[0]].decode()
                answer.parts.setdefault(name, []).append(payload[1 + payload[0] :])
                part = decode(SCHEMAS[name], payload[1 + payload[0] :])
                known = answer.tables.get(name)
                answer.tables[name] = part if known is None else pl.concat([known, part])
                continue
            if kind == STDOUT:
                answer.output += payload
                continue
            message = json.loads(payload)
            if "event" in message:
                answer.events.append(message["event"])
            answer.done, answer.error = message.get("done"), message.get("error")
        return answer

    def start(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait until it says that it is ready."""
        self.send(message)
        return self.event()

    def stop(self) -> Answer:
        """Stop the running request."""
        self.send({"stop": True})
        return self.answer()

    def run(self, message: dict[str, Any]) -> Answer:
        """Send a request and wait for its end."""
        self.send(message)
        return self.answer()


@dataclass
class Pair:
    """Namespaces ``left`` (10.9.0.1, fd09::1) and ``right`` (10.9.0.2, fd09::2), joined by
    interfaces of the same names."""

    left: str
    right: str

    @contextmanager
    def agent(self, side: str) -> Iterator[Agent]:
        """An agent in a namespace."""
        agent = Agent("ip", "netns", "exec", side, str(agent_binary()), "serve")
        try:
            yield agent
        finally:
            agent.close()


@contextmanager
def pair(name: str) -> Iterator[Pair]:
    """A pair for one test, removed after it."""
    unique = f"{name}{os.getpid()}"
    made = Pair(f"dl-{unique}-l", f"dl-{unique}-r")
    try:
        for side in (made.left, made.right):
            run("ip", "netns", "add", side)
            run("sysctl", "-qw", "net.ipv4.ping_group_range=0 2147483647", namespace=side)
            run("ip", "link", "set", "lo", "up", namespace=side)
        veth = f"link add left address {mac(1)} type veth peer name right address {mac(2)} netns"
        run("ip", *veth.split(), made.right, namespace=made.left)
        for side, device, last in ((made.left, "left", 1), (made.right, "right", 2)):
            for command in (
                f"address add 10.9.0.{last}/24 dev {device}",
                f"address add fd09::{last}/64 dev {device} nodad",
                f"link set {device} up",
                # IPv6 neighbours are not found in the first second after an interface comes up.
                f"neighbour add fd09::{3 - last} lladdr {mac(3 - last)} dev {device}",
            ):
                run("ip", *command.split(), namespace=side)
        yield made
    finally:
        for side in (made.left, made.right):
            subprocess.run(["ip", "netns", "delete", side], check=False, capture_output=True)


def run(*command: str, namespace: str | None = None) -> str:
    """Run a command, in a namespace if one is named; returns its output."""
    prefix = ["ip", "netns", "exec", namespace] if namespace else []
    done = subprocess.run([*prefix, *command], check=True, capture_output=True, text=True)
    return done.stdout


def mac(last: int) -> str:
    """The hardware address of the left (1) or right (2) end."""
    return f"02:00:00:00:00:0{last}"


def address(ip: int, last: int) -> str:
    """The address of the left (1) or right (2) end."""
    return f"10.9.0.{last}" if ip == 4 else f"fd09::{last}"


@contextmanager
def helper(namespace: str, module: str, *argv: str) -> Iterator[None]:
    """Run a module of these tests in a namespace during the block, once it has printed `ready`."""
    inside = ["ip", "netns", "exec", namespace, sys.executable, "-m", f"tests.packets.{module}"]
    with subprocess.Popen([*inside, *argv], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield
        finally:
            process.kill()


def probe(**fields: Any) -> dict[str, Any]:
    """A probe request with the defaults of these tests."""
    request: dict[str, Any] = {
        "op": "probe", "probe": 7, "protocol": "icmp", "to": "10.9.0.2", "count": 50,
        "interval_ns": 2_000_000, "size": 56, "linger_ns": 3_000_000_000,
        "late_ns": 5_000_000_000, "stamps": STAMPS,
    }  # fmt: skip
    return request | fields
