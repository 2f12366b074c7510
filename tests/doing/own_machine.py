"""A network namespace that stands for this machine: its `eth1` leads to a computer behind it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command import delaylab

HERE, BEHIND = "192.168.7.1", "192.168.7.20"


def ip(*argv: str) -> str:
    done = subprocess.run(["ip", *argv], capture_output=True, text=True, check=True)
    return done.stdout


@dataclass(frozen=True)
class Machine:
    """The namespace that stands for this machine, and that of the computer behind its `eth1`."""

    here: str
    behind: str
    folder: Path

    def run(self, *argv: str, code: int = 0) -> str:
        """Run the command line on this machine; return what it prints."""
        network = network_of(self.here)
        done = delaylab(*argv, folder=self.folder, environment=os.environ, network=network)
        assert done.code == code, done.out + done.err
        return done.out + done.err

    def up(self, text: str, code: int = 0) -> str:
        file = self.folder / "lab.yaml"
        file.write_text(text)
        return self.run("up", str(file), code=code)

    def state(self) -> dict[str, Any]:
        """Return what `ps` says of the only lab."""
        (found,) = json.loads(self.run("ps", "--json"))["labs"]
        return dict(found)

    def pings(self, *argv: str) -> float:
        """Return the fastest round trip from the computer behind the interface, in ms."""
        ping = [*within(self.behind), "ping", "-q", "-c", "10", "-i", "0.02", *argv]
        return fastest_ms(subprocess.run(ping, capture_output=True, text=True, check=True).stdout)

    def eth1(self) -> dict[str, Any]:
        """Return what the kernel says of the interface, but for its counters."""
        (found,) = json.loads(ip("-n", self.here, "-4", "-d", "-j", "addr", "show", "eth1"))
        return dict(found)


def network_of(namespace: str) -> Path:
    return Path("/run/netns") / namespace


def within(namespace: str) -> list[str]:
    return ["nsenter", f"--net={network_of(namespace)}"]


def fastest_ms(shown: str) -> float:
    found = re.search(r"= ([\d.]+)/", shown)
    assert found, shown
    return float(found[1])


@pytest.fixture
def machine(tmp_path: Path, run_directory: Path) -> Iterator[Machine]:
    here, behind = (f"dltest-{name}-{os.getpid()}" for name in ("here", "behind"))
    made = Machine(here, behind, tmp_path)
    try:
        for each in (here, behind):
            ip("netns", "add", each)
            ip("-n", each, "link", "set", "lo", "up")
        ip("link", "add", "eth1", "netns", here, "type", "veth", "peer", "eth0", "netns", behind)
        for each, name, address in ((here, "eth1", HERE), (behind, "eth0", BEHIND)):
            ip("-n", each, "addr", "add", f"{address}/24", "dev", name)
            ip("-n", each, "link", "set", name, "up")
        ip("-n", behind, "route", "add", "default", "via", "192.168.7.10")
        yield made
        made.run("down", "--all")
    finally:
        for each in (here, behind):
            subprocess.run(["ip", "netns", "del", each], check=False)
