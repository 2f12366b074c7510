"""Comparisons of machines' clocks in `trial.json`, and what time synchronisation says of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from delaylab.api.records import Count, Number, Record, Text, Word


class ClockComparison(Record):
    """A comparison of two machines' clocks by probes between them, which both machines stamp.

    The stamps are in the table `comparisons`.
    """

    machine: Word = Field(description="The machine that sent the probes.")
    other: Word = Field(description="The machine that answered them.")
    reference: Text = Field(description="The clock of the machine that sent.")
    clock: Text = Field(description="The clock of the machine that answered.")
    sent: Count = Field(description="The number of probes sent.")
    symmetric_ns: Count | None = Field(
        None,
        description="The largest difference of the two one-way delays, as the lab file states it "
        "(`symmetric`); null if it states nothing.",
    )


class TimeSync(Record):
    """The state of a machine's time synchronisation before the trial: a witness, not a bound."""

    machine: Word = Field(description="The machine.")
    program: Literal["chrony", "ptp4l"] = Field(description="The program that was asked.")
    source: Text = Field(description="The reference that it follows, by its own name.")
    offset_us: Number = Field(description="The clock's offset from the reference, as it says.")
    bound_us: Number | None = Field(
        None,
        description="The largest error that it states: of chrony half of the root delay, plus the "
        "root dispersion, plus the offset (RFC 5905); null for ptp4l, which states none.",
    )
