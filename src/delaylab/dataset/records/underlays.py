"""Record of the network between two machines during a trial, as `trial.json` keeps it."""

from __future__ import annotations

from pydantic import Field

from delaylab.dataset.records.base import Count, Listed, Nanoseconds, Record, Word


class MeasuredUnderlay(Record):
    """The network between two machines during a trial, by the probes that compare clocks.

    A round trip is without the time that the other machine took to answer. The figures are null if
    no probe was answered, as behind a firewall.
    """

    machine: Word = Field(description="The machine that sent the probes.")
    other: Word = Field(description="The machine that answered them.")
    hosts: Listed[Word] = Field([], description="The lab's hosts on these two machines.")
    links: Listed[Word] = Field(
        [], description="The links with conditions that have a node on each of the two."
    )
    sent: Count = Field(description="The probes sent; without those under way at the end.")
    lost: Count = Field(description="The probes without an answer.")
    least_rtt_ns: Nanoseconds | None = Field(None, description="The least round trip.")
    p1_rtt_ns: Nanoseconds | None = Field(
        None,
        description="The round trip that 99 of 100 exceed: that of `up` is the least of 100 pings.",
    )
    p50_rtt_ns: Nanoseconds | None = Field(None, description="The median round trip.")
    p99_rtt_ns: Nanoseconds | None = Field(
        None, description="The round trip that one of 100 exceeds."
    )
