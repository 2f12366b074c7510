"""Description of this machine, as a study records it."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable
from pathlib import Path

from delaylab.agent.session import Session
from delaylab.agent.wire.sessions import Hello
from delaylab.machines.provenance import provenance
from delaylab.records.machine import MachineRecord
from delaylab.version import VERSION


def describe(open_session: Callable[[], Session]) -> MachineRecord:
    """Return the `machine` entry of study.json; memory in bytes.

    `open_session` opens a session with an agent of this machine.
    """
    session = open_session()
    try:
        agent = session.call(Hello()).done
    finally:
        session.close()
    return MachineRecord(
        hostname=platform.node(),
        kernel=f"{platform.system()} {platform.release()}",
        cpu=cpu_name(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        python=platform.python_version(),
        delaylab=VERSION,
        agent=agent.version,
        clock=agent.clock,
        provenance=provenance(),
    )


def cpu_name() -> str:
    """Return the processor's model name from /proc/cpuinfo, or else the architecture."""
    text = Path("/proc/cpuinfo").read_text(errors="replace")
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.machine()
