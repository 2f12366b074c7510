"""Record of when the phases of a trial without a probe began and ended."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from delaylab.dataset.records.base import Nanoseconds, Record


class PhaseTime(Record):
    """Time of one phase of a trial without a probe, by this machine's clock."""

    phase: Literal["before", "load", "after"] = Field(
        description="The phase: at rest `before` the work, `load` while nodes work, and at rest "
        "`after` it."
    )
    start_ns: Nanoseconds = Field(description="When it began, since the Unix epoch.")
    end_ns: Nanoseconds = Field(description="When it ended, since the Unix epoch.")
