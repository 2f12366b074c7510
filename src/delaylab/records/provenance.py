"""Record of the software and the settings with which a machine measured."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from delaylab.records.base import Record, Text, Word

MOST = 200
"""The most mitigations, and the most programs, that a record names."""


class Provenance(Record):
    """Software and settings with which a machine measured, for those who repeat a study."""

    commit: Text | None = Field(
        None,
        description="The commit of delaylab's code, with `-dirty` if files were changed since. It "
        "is null if the code was not run from a checkout.",
    )
    governor: Text | None = Field(
        None,
        description="The CPUs' frequency governors, joined by commas; null if the kernel has none.",
    )
    congestion_control: Text | None = Field(
        None,
        description="The machine's TCP congestion control, which networks of a lab start with; "
        "null in records of versions that did not read it.",
    )
    mitigations: Annotated[dict[Word, Text], Field(max_length=MOST)] = Field(
        {},
        description="What the kernel does against each of the CPU's vulnerabilities "
        "(`/sys/devices/system/cpu/vulnerabilities`).",
    )
    cgroups: Text | None = Field(
        None, description="The version of control groups: `1`, `2` or `1 and 2`."
    )
    programs: Annotated[dict[Word, Text], Field(max_length=MOST)] = Field(
        {}, description="The versions of programs that labs and loads run, as far as installed."
    )
