"""Record in `trial.json`: one lab, one load, one run of the probe or of work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, PrivateAttr, StringConstraints, model_validator

from delaylab.api.records import (
    MOST_LISTED,
    MOST_POINTS,
    ClosedWay,
    Count,
    Difference,
    Doubt,
    EngineReport,
    Listed,
    MeasuredUnderlay,
    Nanoseconds,
    Number,
    Point,
    Record,
    TapRecord,
    Text,
    TrialId,
    Word,
)
from delaylab_study.dataset.records.comparisons import ClockComparison, TimeSync
from delaylab_study.dataset.records.events import EventRecord
from delaylab_study.dataset.records.feedback import Feedback
from delaylab_study.dataset.records.rates import Flow, HeldRate, Search
from delaylab_study.dataset.records.ways import MOST_WAYS, Way, of_earlier
from delaylab_study.dataset.records.work import DomainTime, WorkDone

OUTSIDE = "outside"
"""The kind of a responder that is a real host outside of the lab, and its host's name."""
START = "sender.app"
"""Point at which a request begins and a reply ends."""
ECHO_REPLIES, ECHO_REPLIES_6 = "OutEchoReps", "OutEchoReplies"
"""Counters of the echo replies that a kernel sent, by IPv4 and by IPv6."""


class Endpoint(Record):
    """The node at one end of the probe, its host and its kind."""

    node: Word = Field(description="The name of the node.")
    host: Word = Field(description="The host that carries it.")
    kind: Word = Field(description="The kind of the node.")


class Load(Record):
    """Competing work: what was configured and what it achieved.

    `flows` are set for loads of frames. `rate` is set if the rate of frames was found by search,
    and says how.
    """

    load: Text = Field(description="The kind of load, such as `cpu` or `frames`.")
    on: Text = Field(description="The node that the load ran on.")
    to: Text | None = Field(None, description="The node at the other end of a load on the network.")
    configured: object = Field(
        None,
        alias="asked",
        description="The configured amount: workers, a direction, or a rate of frames.",
    )
    achieved: dict[Text, Number] = Field(
        {},
        description="The amount of work that was done, by name.",
    )
    flows: Listed[Flow] = Field([], description="The frames of each flow, for a load of frames.")
    rate: HeldRate | None = Field(
        None, description="The search for the rate of frames; null if the rate was given."
    )


class ClockReading(Record):
    """A reading of two clocks at one moment: the reference, the other, the reference; in ns."""

    clock: Text = Field(description="The clock of the guest.")
    reference: Text = Field(description="The clock that it is compared with.")
    before_ns: Nanoseconds = Field(description="The reference, read first.")
    other_ns: Nanoseconds = Field(description="The guest's clock, read second.")
    after_ns: Nanoseconds = Field(description="The reference, read again.")


class PointPlace(Record):
    """The place where the stamps of a point were taken.

    `at` is the name of an agent: `node.NAME`, `host.NAME`, `wire`, or `xen.HOST` for the machine
    that Xen runs in. `interface` is null if a socket stamped.
    """

    at: Word = Field(description="The agent that stamped: `node.NAME`, `host.NAME` or `wire`.")
    interface: Text | None = Field(
        None, description="The interface that its tap was on; null if a socket stamped."
    )


class PhaseTime(Record):
    """The time of one phase of a trial without a probe, by this machine's clock."""

    phase: Literal["before", "load", "after"] = Field(
        description="The phase: at rest `before` the work, `load` while nodes work, and at rest "
        "`after` it."
    )
    start_ns: Nanoseconds = Field(description="When it began, since the Unix epoch.")
    end_ns: Nanoseconds = Field(description="When it ended, since the Unix epoch.")


class RestBlock(Record):
    """Consecutive packets at rest that were all sent with the taps on, or all with the taps off.

    Two neighbouring blocks, one of each, are a pair.
    """

    pair: Count = Field(description="The number of the pair, from 0 on.")
    tapped: bool = Field(description="True if the taps were on.")
    first_seq: Count = Field(description="The sequence number of the block's first packet.")
    packets: Count = Field(description="The number of packets sent.")


class Repeats(Record):
    """Further sightings of packets at one point, on one leg and in one phase."""

    phase: Word = Field(description="The phase of the trial.")
    leg: Literal["request", "reply"] = Field(description="The leg: `request` or `reply`.")
    point: Text = Field(description="The point of the tap.")
    packets: Count = Field(description="The number of sightings beyond each packet's first.")


class ReservedCpus(Record):
    """CPUs that only these nodes of a lab may use."""

    cpus: Annotated[list[Count], Field(max_length=MOST_LISTED)] = Field(
        description="The numbers of the CPUs."
    )
    nodes: Annotated[list[Word], Field(max_length=MOST_LISTED)] = Field(
        description="The nodes that they are reserved for."
    )


class Measurement(Record):
    """The measurement of a trial, apart from its tables.

    A trial without a probe has no sender, no responder and no ways; its `phases` are recorded, of
    which the packets of a probe tell. `ways` have the recorded points of each leg, `absent` the
    reason for each point that is missing. `clock` is the sender's. `responder_icmp` are differences
    of the kernel's ICMP counters.
    """

    sender: Endpoint | None = Field(
        None, description="The node that sends the requests; null if there is no probe."
    )
    responder: Endpoint | None = Field(None, description="The node that answers them.")
    protocol: Text | None = Field(
        None,
        description="The protocol of the probe: `icmp`, `udp`, `tcp`, `http`, `https` or `dns`.",
    )
    answered_by: Text | None = Field(
        None,
        description="Who answered: `own` (a service of the study's author) or `delaylab` (its "
        "responder); null for the kernel, and in datasets of earlier versions.",
    )
    port: Count | None = Field(
        None, description="The port that packets were sent to; null for ICMP and earlier versions."
    )
    size_bytes: Count | None = Field(
        None, description="The payload after the ICMP or UDP header; 0 for other protocols."
    )
    interval_ns: Count | None = Field(
        None,
        description="The interval between packets, as used under load; 0 for a closed loop.",
    )
    timeout_ns: Count | None = Field(
        None,
        description="The time without a reply after which a closed loop sent the next packet; "
        "null if the packets under load had an interval.",
    )
    rate_search: Search | None = Field(
        None, description="The search for the shortest interval; null if the probe has no `held`."
    )
    ways: Annotated[list[Way], Field(max_length=MOST_WAYS)] = Field(
        [],
        description="The ways that the packets went: one, unless they were seen to go several. "
        "Records of earlier versions have one, as `path` (its points) and `hops`.",
    )
    live_ways: bool = Field(
        False,
        description="True if routing daemons decided the ways: taps stood at all routers, `ways` "
        "has what packets were seen to go beside the planned ways, and the table `stamps` has all "
        "sightings of a packet at a router.",
    )
    hosts: Annotated[dict[Word, Word], Field(max_length=MOST_LISTED)] = Field(
        {},
        description="The machine of each host of the lab, by the host's name; empty in records of "
        "versions that knew one machine.",
    )
    places: Annotated[dict[Point, PointPlace], Field(max_length=MOST_LISTED)] = Field(
        {},
        description="The place of each point of `ways`; empty in records of versions that did not "
        "write it.",
    )
    absent: Annotated[dict[Text, Text], Field(max_length=MOST_POINTS)] = Field(
        {},
        description="The points that were not recorded, and why. A point that is absent on one "
        "leg only is named with it: `sender.stack (request)`.",
    )
    clock: Text | None = Field(None, description="The name of the sender's clock.")
    warnings: Listed[Doubt] = Field([], description="The doubts raised while the trial ran.")
    loads: Listed[Load] = Field([], description="The loads of the trial.")
    work: Listed[WorkDone] = Field(
        [], description="What each node got done of the work of the trial."
    )
    domains: Listed[DomainTime] = Field(
        [],
        description="The CPU time of Xen's domains, from just before the nodes of a work began "
        "until all had ended.",
    )
    reserved: Listed[ReservedCpus] = Field(
        [], description="The CPUs that the lab reserves for some of its nodes."
    )
    images: Annotated[dict[Text, Word], Field(max_length=MOST_LISTED)] = Field(
        {},
        description="The image layers that the lab's containers and virtual machines booted, each "
        "with the hash of all that went into it.",
    )
    tcp_congestion_control: Text | None = Field(
        None,
        description="The TCP congestion control in the lab's networks: that of the lab's "
        "`sysctls`, else this machine's when the trial began. A virtual machine whose lab sets "
        "none has its own kernel's. It is null in records of versions that did not read it.",
    )
    taps: Listed[TapRecord] = Field([], description="The taps of the trial.")
    rest_blocks: Listed[RestBlock] = Field(
        [],
        description="The blocks of phases `untapped` and `before`, in the order of sending; empty "
        "if the packets of one phase were all sent before those of the other.",
    )
    clean: Feedback | None = Field(None, description="What `clean` of the probe did, if it did.")
    repeats: Listed[Repeats] | None = Field(
        None,
        description="The packets that taps saw more than once; null in records of versions that "
        "did not count them.",
    )
    responder_icmp: dict[Text, Difference] = Field(
        {},
        description="The increase of the responder's ICMP counters, such as `OutErrors`, by name.",
    )
    clock_readings: Listed[ClockReading] = Field(
        [],
        description="Readings of two clocks at one moment, at the start and the end of the trial; "
        "empty if there is only one clock.",
    )
    comparisons: Listed[ClockComparison] = Field(
        [],
        description="The comparisons of clocks between machines; empty if all have one clock.",
    )
    ahead_ns: dict[Word, Nanoseconds] = Field(
        {},
        description="How far the clock of each other machine was ahead of that of `local` when the "
        "trial began, by exchanges over ssh: at most half of a round trip wrong.",
    )
    time_sync: Listed[TimeSync] = Field(
        [],
        description="What time synchronisation says on each machine whose clock was compared, if "
        "there is any.",
    )
    underlays: Listed[MeasuredUnderlay] = Field(
        [],
        description="The network between each two machines during the trial; empty on one machine "
        "and in records of versions that measured it before the lab was up only.",
    )
    closed: Listed[ClosedWay] = Field(
        [],
        description="The ways between machines that did not take the links' frames when the trial "
        "ended.",
    )
    links: Listed[EngineReport] = Field(
        [], description="The report of each host's link engine, counted under load."
    )
    events: Listed[EventRecord] = Field(
        [], description="The events of the lab's timeline, by time."
    )
    phases: Annotated[list[PhaseTime], Field(max_length=3)] = Field(
        [],
        description="The phases of a trial without a probe, in their order; empty with one, whose "
        "packets each tell their phase.",
    )

    @model_validator(mode="before")
    @classmethod
    def _of_earlier(cls, given: object) -> object:
        return of_earlier(given) if isinstance(given, Mapping) else given

    @property
    def way(self) -> Way:
        """Return the one way of all packets, an empty one without a probe.

        Raise ValueError if there are several: each packet then has its own (`analysis.packets`).
        """
        if len(self.ways) > 1:
            raise ValueError(f"the packets of this trial went {len(self.ways)} ways")
        return self.ways[0] if self.ways else Way()

    @property
    def machine(self) -> str | None:
        """Return the name of the sender's machine, or without a probe that of all hosts.

        It is None if the record does not say it, and without a probe if there are several.
        """
        if self.sender:
            return self.hosts.get(self.sender.host)
        machines = set(self.hosts.values())
        return machines.pop() if len(machines) == 1 else None

    @property
    def echo_replies(self) -> int | None:
        """Return how many echo replies the responder's kernel sent; None if it did not count."""
        counted = [self.responder_icmp.get(name) for name in (ECHO_REPLIES, ECHO_REPLIES_6)]
        known = [count for count in counted if count is not None]
        return sum(known) if self.protocol == "icmp" and len(known) == len(counted) else None

    @property
    def probed(self) -> bool:
        """Return True if packets were sent."""
        return self.sender is not None


class TableFile(Record):
    """The file of a table as it was written."""

    bytes: Count = Field(description="The size of the file.")
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] = Field(
        description="The SHA-256 sum of the file, in hexadecimal digits."
    )


Status = Literal["ok", "failed", "skipped"]
"""The end of a trial; one is skipped if this machine cannot have its lab."""


class TrialHead(Record):
    """The place of a trial in its study, and its outcome. Times are ISO 8601."""

    id: TrialId = Field(
        description="The levels joined, such as `environment=netns,load=cpu,repeat=1`; also the "
        "name of the trial's directory."
    )
    index: Count = Field(description="The place of the trial in the order of running.")
    factors: dict[Word, Text] = Field(description="The level of each factor.")
    repeat: Count = Field(description="The number of the repeat, from 1 on.")
    identity: Text | None = Field(
        None,
        description="A hash of all that decides what is measured: the resolved lab, loads, probe "
        "and work, the repeat and the seed. It is null in records of versions without it.",
    )
    status: Status = Field(
        description="`failed` after two failures, `skipped` if the lab did not fit into memory or "
        "names CPUs that the machine lacks. Neither has data."
    )
    reason: Text | None = Field(None, description="The reason for `failed` or `skipped`.")
    lost: Text | None = Field(
        None,
        description="The machine of the lab that could not be reached any more, if the trial "
        "failed by that. `run --resume` measures such a trial again.",
    )
    started: Text | None = Field(None, description="The time when the trial began, in ISO 8601.")
    ended: Text | None = Field(None, description="The time when the trial ended, in ISO 8601.")


class TrialRecord(Measurement, TrialHead):
    """The record in `trial.json`: one lab, one load, one run of the probe or of work."""

    _block: int | None = PrivateAttr(None)
    tables: dict[Word, TableFile] = Field(
        {},
        description="The file of each table, by the table's name; empty in records of versions "
        "that did not write it.",
    )

    @property
    def block(self) -> int:
        """Return the number of its block: the trials of one repeat that ran on one machine.

        It is the repeat, unless a machine was lost while it ran a block (`blocks.numbered`).
        """
        return self.repeat if self._block is None else self._block

    def of_block(self, number: int) -> None:
        """Note the block of a trial that was just read."""
        self._block = number
