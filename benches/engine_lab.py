"""Lab whose link engine has one CPU to itself, and everything else another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benches.frames import discarding
from benches.pair import FAR, NEAR
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.resolve import lab_from_data

NODES_CPU, ENGINE_CPU = 0, 1


def link_names(links: int) -> list[str]:
    """Return the names of this many links."""
    return [f"w{number}" for number in range(links)]


@contextmanager
def engine_lab(
    delays_ns: list[int], cpus: list[int] | None, *, steer: bool = False
) -> Iterator[LiveLab]:
    """Bring up two nodes on these CPUs, with a link of each delay; the engine has its own CPU."""
    links = [
        {"between": [NEAR, FAR], "name": name, "delay": f"{delay_ns}ns"}
        for name, delay_ns in zip(link_names(len(delays_ns)), delays_ns, strict=True)
    ]
    spec = lab_from_data(
        {
            "lab": "links",
            "nodes": {NEAR: {"cpus": cpus}, FAR: {"cpus": cpus}},
            "links": links,
            "engine": {"kind": "own", "cpus": [ENGINE_CPU], "steer": steer},
        }
    )
    with temporary(spec, accounting=False) as lab, discarding(lab):
        yield lab


@contextmanager
def kept_to(cpu: int) -> Iterator[None]:
    """Keep this process, and what it starts meanwhile, on one CPU, away from the engine's."""
    before = os.sched_getaffinity(0)
    _keep_to({cpu})
    try:
        yield
    finally:
        _keep_to(before)


def _keep_to(cpus: set[int]) -> None:
    for thread in Path("/proc/self/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), cpus)
