"""Record of CPUs that a lab reserves for some of its nodes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from delaylab.dataset.records.base import MOST_LISTED, Count, Record, Word


class ReservedCpus(Record):
    """CPUs that only these nodes of a lab may use."""

    cpus: Annotated[list[Count], Field(max_length=MOST_LISTED)] = Field(
        description="The numbers of the CPUs."
    )
    nodes: Annotated[list[Word], Field(max_length=MOST_LISTED)] = Field(
        description="The nodes that they are reserved for."
    )
