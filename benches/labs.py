"""Benchmark of labs up and down, beside Mininet and `ip -batch`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benches import cleanup, ip_batch
from benches.command import Pairs, command_line, fastest, ring_with_chords
from benches.pair import need
from benches.section import Section
from delaylab.lab.start import temporary
from delaylab.resolve.resolve import lab_from_data

ROUNDS = 3
SIZES = ((87, 161), (500, 1000), (1000, 3000))
SYSTEM_PYTHON = "/usr/bin/python3"
MININET = """
import sys, time
from mininet.node import Node
from mininet.link import Link
pairs = [tuple(map(int, line.split())) for line in sys.stdin]
began = time.monotonic()
nodes = [Node(f"m{n}") for n in range(int(sys.argv[1]))]
for number, (a, b) in enumerate(pairs):
    link = Link(nodes[a], nodes[b])
    base = 0x0A000000 + 4 * number
    for node, interface, last in ((nodes[a], link.intf1, 1), (nodes[b], link.intf2, 2)):
        address = base + last
        text = ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))
        interface.setIP(text, 30)
up = time.monotonic()
for node in nodes:
    node.terminate()
print(up - began, time.monotonic() - up)
"""


def run() -> Section:
    """Measure each size with each tool, in turn: Mininet once, the others three times."""
    need("ip", "mn")
    section = Section(
        "labs",
        "A lab up and down",
        "Namespaces, veth pairs, addresses, all up. `delaylab up` is the command as a user types "
        "it, from the start of the program, with its reading and checking of the file, its plan, "
        "its agents (one process per node), their readiness, and the printed table; `from Python` "
        "is the same without the program's start, the file and the table. Mininet's and "
        "`ip -batch`'s figures begin when their programs run and have read their topology. Each "
        "begins once the kernel has torn down the lab before. The kernel does that in the "
        "background when a tool is done with `down`; a lab that is built meanwhile takes longer. "
        "Goal: the command at least 10 × faster up than Mininet and faster than `ip -batch`, "
        "500 / 1000 in 1.5 s, 1000 / 3000 in 4 s; a delay adds at most 2 ms a link at either time.",
        ("nodes / links", "tool", "up, s", "down, s", "× `delaylab up`"),
    )
    with command_line() as line:
        for nodes, links in SIZES:
            pairs = ring_with_chords(nodes, links)
            lab = line.lab("big", nodes, pairs)
            delayed = line.lab("delayed", nodes, pairs, link="delay: 1ms")
            command = _fastest(partial(line.up_and_down, lab))
            tools = {
                "`delaylab up`": command,
                "`delaylab up`, each link with a delay": _fastest(
                    partial(line.up_and_down, delayed)
                ),
                "delaylab, from Python": _fastest(partial(_in_process, nodes, pairs)),
                "ip -batch": _fastest(partial(ip_batch.up_and_down, nodes, pairs)),
                "Mininet": _after_cleanup(partial(_mininet, nodes, pairs)),
            }
            for tool, (up, down) in tools.items():
                ratio = f"{up / command[0]:.1f}"
                size = f"{nodes} / {links}"
                section.rows.append((size, tool, f"{up:.2f}", f"{down:.2f}", ratio))
    return section


def _fastest(measure: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    return fastest(_after_cleanup(measure) for _ in range(ROUNDS))


def _after_cleanup(measure: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    """Measure once the kernel has torn down the lab before, whichever tool it was of."""
    cleanup.wait()
    return measure()


def _in_process(nodes: int, pairs: Pairs) -> tuple[float, float]:
    spec = lab_from_data(
        {
            "lab": "big",
            "nodes": {f"n{n}": {} for n in range(nodes)},
            "links": [{"between": [f"n{a}", f"n{b}"]} for a, b in pairs],
        }
    )
    began = time.monotonic()
    with temporary(spec, accounting=False):
        up = time.monotonic()
    return up - began, time.monotonic() - up


def _mininet(nodes: int, pairs: Pairs) -> tuple[float, float]:
    text = "\n".join(f"{a} {b}" for a, b in pairs)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "mininet_up.py"
        script.write_text(MININET)
        done = subprocess.run(
            [SYSTEM_PYTHON, str(script), str(nodes)],
            input=text,
            text=True,
            capture_output=True,
            timeout=600,
            check=False,
        )
    if done.returncode:
        sys.stderr.write(done.stderr)
        raise RuntimeError("Mininet failed")
    up, down = map(float, done.stdout.split()[-2:])
    return up, down
