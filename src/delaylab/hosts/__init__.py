"""Applying a plan: on this machine, by one keeper process per lab."""

from delaylab.hosts.binary import agent_path, connect, kernel_parts, local_session
from delaylab.hosts.fabric import Keeper, build, sweep
from delaylab.hosts.registry import Running, find, prepare, run_directory, running, stop

__all__ = [
    "Keeper",
    "Running",
    "agent_path",
    "build",
    "connect",
    "find",
    "kernel_parts",
    "local_session",
    "prepare",
    "run_directory",
    "running",
    "stop",
    "sweep",
]
