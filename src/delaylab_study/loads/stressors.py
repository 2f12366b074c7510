"""Loads by stress-ng's stressors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import yaml

from delaylab.api.kinds import QemuNode
from delaylab.api.running import LiveLab
from delaylab_study.loads.programs import end, start
from delaylab_study.loads.state import Achieved, RunningLoads
from delaylab_study.study_file.loads import StressorLoad

_STRESSORS = {
    "cpu": ("--cpu", "{n}", "--cpu-method", "sqrt"),
    "io": ("--io", "{n}"),
    "disk": ("--hdd", "{n}", "--hdd-bytes", "64m", "--temp-path", "/var/tmp"),
    "memory": ("--vm", "{n}", "--vm-bytes", "256m"),
}
_IN_A_MACHINE = {"--vm-bytes": "40%", "--hdd-bytes": "16m", "--temp-path": "/tmp"}
"""Options for a virtual machine, which has little memory, and its disk as a part of it."""
_WITH_A_DISK = {"--vm-bytes": "40%", "--hdd-bytes": "256m"}
"""Options for a virtual machine with a scratch disk. Its files are larger than its memory, so that
they are written to the disk."""
_IN_A_CONTAINER = {"--temp-path": "/tmp"}
NO_CACHE = ("--cache-level", "1")
"""stress-ng makes a buffer as large as the last cache before anything else, and ends if a small
machine has no room for it (260 MiB on some processors). None of the stressors here uses it."""
_LASTED = "seconds"
_DISPATCHED = re.compile(rb"dispatching hogs")


@contextmanager
def stressor(lab: LiveLab, load: StressorLoad, state: RunningLoads) -> Iterator[None]:
    """Run the workers of one stressor for the length of a block."""
    session = lab.node_session(load.on)
    argv = ["stress-ng", *_options(lab, load), *NO_CACHE, "--metrics", "--yaml", "/dev/stdout"]
    output = start(session, argv, (_DISPATCHED,))
    state.sessions.append(session)
    yield
    state.sessions.remove(session)
    end(session)
    found = _achieved(bytes(output.stdout), output.result.done.written_bytes)
    if load.what == "cpu":
        found["cpus"] = float(len(lab.spec.cpus_of(load.on) or range(os.cpu_count() or 1)))
    state.achieved.append(Achieved(load, found))
    session.close()


def _options(lab: LiveLab, load: StressorLoad) -> list[str]:
    """Return a stressor's options, within its node's means."""
    options = [part.format(n=load.amount) for part in _STRESSORS[load.what]]
    node = lab.spec.nodes[load.on]
    machine = _WITH_A_DISK if isinstance(node, QemuNode) and node.scratch else _IN_A_MACHINE
    own = machine if node.virtual_machine else _IN_A_CONTAINER if node.container else {}
    for position, option in enumerate(options[:-1]):
        options[position + 1] = own.get(option, options[position + 1])
    return options


def _achieved(output: bytes, written: int | None) -> dict[str, float]:
    """Return what a stressor achieved; `written` is what it wrote to storage, in bytes."""
    found = metrics(output)
    lasted = found.pop(_LASTED, 0.0)
    if written is not None and lasted > 0:
        found["written_bytes_per_s"] = written / lasted
    return found


def metrics(output: bytes) -> dict[str, float]:
    """Return operations, CPU use and time from the YAML at the end of stress-ng's output."""
    start = output.find(b"metrics:")
    if start < 0:
        return {}
    try:
        document = yaml.safe_load(output[start:].split(b"\n...")[0].decode(errors="replace"))
    except yaml.YAMLError:
        return {}
    metrics = (document or {}).get("metrics") or [{}]
    wanted = {
        "bogo-ops": "operations",
        "bogo-ops-per-second-real-time": "operations_per_s",
        "cpu-usage-per-instance": "cpu_percent_per_worker",
        "wall-clock-time": _LASTED,
    }
    found = metrics[0]
    return {ours: float(found[theirs]) for theirs, ours in wanted.items() if theirs in found}
