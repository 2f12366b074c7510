"""Running labs on this machine, with one keeper process per lab."""

from delaylab.agent.binary import agent_path, kernel_parts, local_session
from delaylab.hosts.directory import NotTrusted, TrustedDirectory
from delaylab.hosts.fabric import Keeper, build
from delaylab.hosts.process import started_at
from delaylab.hosts.registry import LabRecord, Running, find, prepare, run_directory, running, stop
from delaylab.hosts.sweep import SweepResult, sweep

__all__ = [
    "Keeper",
    "LabRecord",
    "NotTrusted",
    "Running",
    "SweepResult",
    "TrustedDirectory",
    "agent_path",
    "build",
    "find",
    "kernel_parts",
    "local_session",
    "prepare",
    "run_directory",
    "running",
    "started_at",
    "stop",
    "sweep",
]
