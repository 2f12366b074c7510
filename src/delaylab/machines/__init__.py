"""Machines that run labs: their facts, their labs, and one keeper process for each lab."""

from delaylab.machines.all_labs import running_labs
from delaylab.machines.directory import NotTrusted, TrustedDirectory
from delaylab.machines.keeper import Keeper
from delaylab.machines.local import LOCAL
from delaylab.machines.machine import ControlGroup, DescribedLab, LabRecord, Machine, find, on
from delaylab.machines.registry import run_directory
from delaylab.machines.sweep import SweepResult

__all__ = [
    "LOCAL",
    "ControlGroup",
    "DescribedLab",
    "Keeper",
    "LabRecord",
    "Machine",
    "NotTrusted",
    "SweepResult",
    "TrustedDirectory",
    "find",
    "on",
    "run_directory",
    "running_labs",
]
