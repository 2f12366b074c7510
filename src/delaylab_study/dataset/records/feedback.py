"""Record of packets that were sent again, since the machine's use may have biased others."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from delaylab.api.records import Count, Listed, Record, Word
from delaylab_study.dataset.records.rates import Rate


class Feedback(Record):
    """Packets of the phase `again`, and what says which packets the machine's use may have biased.

    A packet is judged by the table `hosts`: by the samples of `machine`, of its CPUs `cpus` (all if
    that is empty), and by the interfaces of `places`.
    """

    asked: Count = Field(description="The number of clean packets that were wanted.")
    budget: Count = Field(description="The most packets that could be sent again.")
    sent: Count = Field(description="The number of packets that were sent again.")
    waited_ns: Count = Field(description="The time in which the machine was waited for.")
    ended_by: Literal["enough", "budget", "deadline", "unknown"] = Field(
        description="The reason why no more packets were sent again: there were `enough` clean "
        "ones, the `budget` was used up, the `deadline` had come, or the use of the machine was "
        "`unknown`."
    )
    machine: Word = Field(description="The sender's machine.")
    cpus: Listed[Count] = Field([], description="The CPUs of the sender's host; empty if all.")
    places: Listed[Word] = Field([], description="The places of the sender's interfaces.")
    own_bps: Rate | None = Field(
        None,
        description="The most traffic of the probe itself in bit/s; null if it is not known.",
    )
