"""Record of what a node got done of a work that several nodes began together."""

from __future__ import annotations

from pydantic import Field

from delaylab.api.records import MOST_LISTED, Count, Nanoseconds, Number, Record, Text, Word


class Latency(Record):
    """The latency of one operation of MPI at one size of messages."""

    operation: Word = Field(
        description="`round-trip`: from MPI_Send until as many bytes are back (MPI_Recv). "
        "`exchange`: MPI_Sendrecv, by which two ranks send to each other at once. `barrier`: "
        "MPI_Barrier of all ranks."
    )
    size_bytes: Count = Field(description="The size of a message; 0 for a barrier.")
    repeats: Count = Field(description="The number of repetitions, after a warm-up.")
    median_ns: Number = Field(description="The median of the repetitions.")
    least_ns: Number = Field(description="The least of the repetitions.")


class Figure(Record):
    """A figure that a program found, such as a time one way, a rate, or the size of its problem."""

    name: Word = Field(description="The name of the figure, such as `random-ring`.")
    value: Number = Field(description="Its value.")
    unit: Text = Field(
        description="Its unit, such as `ns`, `B/s`, `flop/s`, `updates/s` or `equations`; of a "
        "command's figure that of the study file."
    )


class DomainTime(Record):
    """The CPU time of a Xen domain while the nodes worked, as its hypervisor accounts for it."""

    host: Word = Field(description="The host whose hypervisor it is.")
    domain: Word = Field(description="The name of the domain; the driver domain is `Domain-0`.")
    cpu_ns: Count = Field(description="Its CPU time; Xen tells it in steps of 0.1 s.")


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
        None,
        description="The time that the work took, as the node's own clock says; of work that nodes "
        "do `together`, as this machine's does.",
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
    vcpu_ns: Count | None = Field(
        None,
        description="The part of `host_cpu_ns` that the virtual CPUs of a machine of `qemu` took; "
        "the rest is its hypervisor's. Null if the node has none.",
    )
    together: bool = Field(
        False, description="True if the nodes of the work did one job together (`mpi`)."
    )
    latencies: list[Latency] = Field(
        [],
        max_length=MOST_LISTED,
        description="The latencies that a program of MPI measured; in the record of its first "
        "node.",
    )
    figures: list[Figure] = Field(
        [],
        max_length=MOST_LISTED,
        description="What else a program of MPI found, in the record of its first node; of a "
        "command the `figures` that it printed.",
    )
