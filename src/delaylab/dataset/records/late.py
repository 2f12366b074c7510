"""Record of how late frames were sent."""

from __future__ import annotations

from pydantic import Field

from delaylab.dataset.records.base import Count, Nanoseconds, Number, Record


class Late(Record):
    """Lateness: how long after its due time the engine sent each frame, in ns."""

    count: Count = Field(0, description="The number of frames.")
    mean_ns: Nanoseconds | Number | None = Field(None, description="The mean lateness.")
    min_ns: Nanoseconds | Number | None = Field(None, description="The smallest lateness.")
    p50_ns: Nanoseconds | Number | None = Field(None, description="The median lateness.")
    p99_ns: Nanoseconds | Number | None = Field(
        None, description="The lateness that one frame in 100 exceeds."
    )
    max_ns: Nanoseconds | Number | None = Field(None, description="The largest lateness.")
