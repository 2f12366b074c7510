"""Record of what a node got done of a work that several nodes began together."""

from __future__ import annotations

from pydantic import Field

from delaylab.dataset.records.base import Count, Nanoseconds, Number, Record, Text, Word


class WorkDone(Record):
    """Work of one node in a trial: its rate and its times, or why it failed."""

    work: Word = Field(description="The name of the work.")
    node: Word = Field(description="The node that did it.")
    kind: Word | None = Field(
        None, description="The kind of the node; null in records of versions that did not say it."
    )
    quota: Number | None = Field(
        None, description="The CPU quota of the node, in CPUs; null if it has none."
    )
    unit: Text = Field("", description="The unit of `rate`, such as `units/s` or `bit/s`.")
    failed: Text | None = Field(
        None, description="The reason why the node did not finish; null if it did."
    )
    began_ns: Nanoseconds | None = Field(
        None, description="When all nodes began, by this machine's clock, since the Unix epoch."
    )
    rate: Number | None = Field(None, description="The work that was done per second.")
    wall_ns: Count | None = Field(
        None, description="The time that the work took, as the node's own clock says."
    )
    user_ns: Count | None = Field(
        None, description="The CPU time in user mode, as the node's own kernel says (getrusage)."
    )
    system_ns: Count | None = Field(
        None, description="The CPU time in the kernel, as the node's own kernel says (getrusage)."
    )
    host_cpu_ns: Count | None = Field(
        None,
        description="The CPU time of the node's control group meanwhile, as this machine's kernel "
        "says; null if the node has none.",
    )
