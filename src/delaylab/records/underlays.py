"""Records of the network between two machines during a trial, as `trial.json` keeps them."""

from __future__ import annotations

from pydantic import Field

from delaylab.records.base import Count, Listed, Nanoseconds, Record, Word


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


class ClosedWay(Record):
    """A way from one machine to another that did not take the frames of its links.

    It was tried by frames of the smallest and of the full size.
    """

    machine: Word = Field(description="The machine that sent the frames.")
    other: Word = Field(description="The machine where they did not arrive.")
    hosts: Listed[Word] = Field([], description="The lab's hosts on the machine that sent.")
    links: Listed[Word] = Field([], description="The links whose frames take this way.")
    mtu: Count = Field(description="The bytes of the links' longest packets.")
    small: bool = Field(description="True if the smallest frames did arrive.")

    def why(self, when: str) -> str:
        """Return in words what did not pass."""
        way = f"from machine {self.machine} to {self.other} {when}"
        if self.small:
            return f"packets of {self.mtu} bytes did not pass {way}; the smallest did"
        return f"no frame passed {way}"
