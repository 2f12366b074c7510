"""Record of a machine that measured."""

from __future__ import annotations

from pydantic import Field

from delaylab.records.base import Count, Record, Text
from delaylab.records.provenance import Provenance


class MachineRecord(Record):
    """A machine that ran the study or parts of its labs; memory in bytes."""

    hostname: Text = Field(description="The host name.")
    kernel: Text = Field(description="The release of the running Linux kernel.")
    cpu: Text = Field(description="The model of the CPU.")
    cores: Count = Field(description="The number of CPUs.")
    memory_bytes: Count = Field(description="The machine's memory.")
    python: Text = Field(description="The version of Python.")
    delaylab: Text = Field(description="The version of delaylab.")
    agent: Text = Field(description="The version of the agent.")
    clock: Text = Field(description="The name of the machine's clock, with the kernel's boot id.")
    provenance: Provenance | None = Field(
        None, description="The software and settings; null in datasets of earlier versions."
    )
