"""Record of packets that taps saw more than once."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from delaylab.dataset.records.base import Count, Record, Text, Word


class Repeats(Record):
    """Further sightings of packets at one point, on one leg and in one phase."""

    phase: Word = Field(description="The phase of the trial.")
    leg: Literal["request", "reply"] = Field(description="The leg: `request` or `reply`.")
    point: Text = Field(description="The point of the tap.")
    packets: Count = Field(description="The number of sightings beyond each packet's first.")
