"""The command line as a user types it, timed, with labs of its own."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from delaylab.errors import DelaylabError

DELAYLAB = Path(sys.executable).parent / "delaylab"
Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Times:
    """Seconds from a command's start to its end, and CPU seconds of its own process."""

    seconds: float
    cpu: float


@dataclass(frozen=True)
class CommandLine:
    """The program `delaylab` with a run directory and a folder for lab files."""

    folder: Path

    def seconds(self, *argv: str) -> float:
        """Run a command to its end; return its seconds, raise DelaylabError if it fails."""
        return self.times(*argv).seconds

    def times(self, *argv: str) -> Times:
        """Run a command to its end; return its times, raise DelaylabError if it fails."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        run_to_end([str(DELAYLAB), *argv], {**os.environ, "DELAYLAB_RUN": str(self.folder)})
        took = time.monotonic() - began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        return Times(took, cpu)

    def up_and_down(self, lab: Path) -> tuple[float, float]:
        """Return the seconds of `up` and of `down`."""
        return self.seconds("up", str(lab)), self.seconds("down", "--all")

    def lab(
        self, name: str, nodes: int, pairs: Pairs, *, forwards: bool = False, link: str = ""
    ) -> Path:
        """Write a lab file of point-to-point links between nodes by number; return its path.

        `link` holds fields that all links have, such as `delay: 1ms`.
        """
        path = self.folder / f"{name}.yaml"
        path.write_text("\n".join(_lines(name, nodes, pairs, forwards, link)), encoding="utf-8")
        return path


def run_to_end(argv: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run a command to its end; raise DelaylabError with what it says if it fails."""
    done = subprocess.run(
        argv,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise DelaylabError(done.stderr.strip())


def _lines(name: str, nodes: int, pairs: Pairs, forwards: bool, link: str) -> Iterator[str]:
    yield f"lab: {name}"
    # This machine's own stack does not forward, so routers are on a host of their own.
    yield from ["hosts: {one: {}}"] if forwards else []
    yield "nodes:"
    fields = "forwards: true" if forwards else ""
    yield from (f"  n{number}: {{{fields}}}" for number in range(nodes))
    yield "links:"
    more = f", {link}" if link else ""
    yield from (f"  - {{between: [n{a}, n{b}]{more}}}" for a, b in pairs)
    yield ""


@contextmanager
def command_line() -> Iterator[CommandLine]:
    """Yield a command line whose labs are down, and whose files are gone, after the block."""
    with tempfile.TemporaryDirectory(prefix="dlb-") as name:
        one = CommandLine(Path(name))
        try:
            yield one
        finally:
            one.seconds("down", "--all")


def ring_with_chords(nodes: int, links: int) -> Pairs:
    """Return a ring with random chords, the same every time."""
    choose = random.Random(nodes)
    pairs = {(n, (n + 1) % nodes) for n in range(nodes)}
    while len(pairs) < links:
        a, b = sorted(choose.sample(range(nodes), 2))
        if (b, a) not in pairs:
            pairs.add((a, b))
    return sorted(pairs)


def fastest(times: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return the smallest of each figure: disturbances only add."""
    ups, downs = zip(*times, strict=True)
    return min(ups), min(downs)
