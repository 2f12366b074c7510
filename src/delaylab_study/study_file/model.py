"""Models of a study file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from delaylab.api.documents import outside
from delaylab.api.lab_files import IpVersion, LabSpec
from delaylab.api.models import NAME, Name, Spec, spelled
from delaylab.api.units import Duration
from delaylab_study.study_file.claims import ClaimSpec, LevelName
from delaylab_study.study_file.loads import LoadSpec
from delaylab_study.study_file.series import SeriesSpec, levels_of
from delaylab_study.study_file.work import WorkSpec

Protocol = Literal["icmp", "udp", "tcp", "http"]
CLOSED_LOOP: Final = "closed-loop"
MOST_PACKETS = 100_000_000
FIRST_SOURCE_PORT, SOURCE_PORTS = 10_240, 22_528
"""The source ports of a probe by TCP or HTTP, one for each packet of a trial: up to 32767, below
those that the kernel gives to other programs."""
PHASES_AT_REST = 3


@dataclass(frozen=True)
class ClosedLoop:
    """A probe that sends a packet when the last one has its reply, or has had none for a time."""

    timeout: Duration


Pace = Duration | ClosedLoop
"""Time between packets, or that each waits for the reply to the last one."""


def _node_or_address(text: str) -> str:
    address = outside(text)
    if address is None and not re.fullmatch(NAME, text):
        raise ValueError(f"{text!r} is neither a node's name nor an address")
    return text if address is None else str(address)


LATE = Duration(1_000_000_000)
"""The time after which a reply is late, unless a study says so or the path is longer."""


class ProbeSpec(Spec):
    """A schedule of packets from one node to another, or to a host outside of the lab."""

    sender: Name = Field(alias="from", description="The node that sends the requests.")
    to: Annotated[str, AfterValidator(_node_or_address)] = Field(
        description="The node that answers them, or the IP address of a real host outside of the "
        "lab. Of the way to such a host the points of the sender's side are stamped; the sender is "
        "in this machine's own stack (`native` without a host), which has routes there."
    )
    over: Name | None = Field(None, description="The link by which packets arrive at `to`.")
    protocol: Protocol = Field(
        "icmp",
        description="`icmp` sends echo requests, `udp` sends datagrams to a reflector, `tcp` opens "
        "connections: the packets are a SYN and its answer. `http` sends a GET request of HTTP/1.1 "
        "on a connection of its own: the packets are the request and the first of its answer.",
    )
    port: Annotated[int, Field(gt=0, le=65535)] | None = Field(
        None,
        description="For `protocol: tcp` and `http`: the port to connect to; left out, it is 8462.",
    )
    path: Annotated[str, spelled(r"^/[!-~]{0,799}$", "a path from / on")] = Field(
        "/", description="For `protocol: http`: the path to request."
    )
    ip: IpVersion = Field(4, description="The IP version of the packets.")
    count: int = Field(
        200, gt=0, le=MOST_PACKETS, description="The number of packets sent under load."
    )
    interval: Duration | Literal["closed-loop"] = Field(
        Duration(5_000_000),
        description="The time between two intended send times. `closed-loop`: the next packet is "
        "sent as soon as the last one has its reply, so that one is under way at a time.",
    )
    timeout: Duration | None = Field(
        None,
        description="For `interval: closed-loop`: the time after which the next packet is sent "
        "although the last one has no reply; left out, it is `late`.",
    )
    held: bool = Field(
        False,
        description="If the lab does not hold `interval`, use the shortest interval that it "
        "holds, found by search before the load.",
    )
    size: int = Field(
        100,
        ge=24,
        le=65000,
        description="The payload after the ICMP or UDP header, in bytes; TCP and HTTP have none.",
    )
    at_rest: int = Field(
        20,
        ge=0,
        le=MOST_PACKETS,
        description="The number of packets sent in each phase at rest: `untapped`, `before` and "
        "`after`. The first two alternate in blocks; the taps' cost needs 8 packets or more.",
    )
    at_rest_interval: Duration | None = Field(
        None, description="The interval of the packets at rest; left out, it is `interval`."
    )
    late: Duration = Field(
        LATE,
        description="A reply that takes longer than this counts as late. Left out, it is 0.5 s "
        "more than the longest round trip that the links on the path are configured for, and at "
        "least 1 s.",
    )
    realtime: bool = Field(
        True, description="Send with real-time scheduling, if the machine allows it."
    )

    @model_validator(mode="after")
    def _ports(self) -> ProbeSpec:
        if self.protocol != "http" and self.path != "/":
            raise ValueError("only a probe of `protocol: http` has `path`")
        if not self.connects:
            if self.port is not None:
                raise ValueError("only a probe of `protocol: tcp` or `http` has `port`")
            return self
        if self.held:
            raise ValueError(f"a probe of `protocol: {self.protocol}` has no `held`")
        if self.packets > SOURCE_PORTS:
            raise ValueError(
                f"a probe of `protocol: {self.protocol}` sends at most {SOURCE_PORTS} packets in a "
                f"trial, each from a port of its own; `count` and {PHASES_AT_REST} times `at_rest` "
                f"are {self.packets}"
            )
        return self

    @model_validator(mode="after")
    def _loop(self) -> ProbeSpec:
        if self.interval != CLOSED_LOOP:
            if self.timeout is not None:
                raise ValueError("only a probe of `interval: closed-loop` has `timeout`")
        elif self.held:
            raise ValueError("a probe of `interval: closed-loop` has no `held`")
        elif (self.timeout or self.late).ns == 0:
            raise ValueError("a probe of `interval: closed-loop` has a `timeout` of more than 0")
        return self

    @model_validator(mode="after")
    def _outside(self) -> ProbeSpec:
        address = outside(self.to)
        if address is None:
            return self
        if self.over is not None:
            raise ValueError("a probe to a host outside of the lab has no `over`")
        if self.protocol == "udp":
            raise ValueError(f"nobody at {self.to} sends UDP packets back: say icmp, tcp or http")
        if self.connects and self.port is None:
            raise ValueError(f"`port` is missing: the one to connect to at {self.to}")
        if self.ip != address.version:
            raise ValueError(f"{self.to} is an IPv{address.version} address, `ip` is {self.ip}")
        return self

    @property
    def pace(self) -> Pace:
        """Return what decides when the packets under load are sent."""
        if isinstance(self.interval, Duration):
            return self.interval
        return ClosedLoop(self.timeout or self.late)

    @property
    def packets(self) -> int:
        """Return how many packets it sends in a trial, in all phases."""
        return self.count + PHASES_AT_REST * self.at_rest

    @property
    def pace_at_rest(self) -> Pace:
        """Return what decides when the packets at rest are sent."""
        return self.at_rest_interval or self.pace

    @property
    def outside(self) -> bool:
        """Return True if `to` is the address of a host outside of the lab."""
        return outside(self.to) is not None

    @property
    def connects(self) -> bool:
        """Return True if each packet has a TCP connection of its own."""
        return self.protocol in ("tcp", "http")


Level = list[LoadSpec] | dict[str, object]
Levels = Annotated[
    dict[LevelName, Level],
    BeforeValidator(levels_of, json_schema_input_type=SeriesSpec | dict[LevelName, Level]),
]
"""The levels of a factor by name; a file may have them as the values of one setting."""
Change = dict[str, object]


class StudySpec(Spec):
    """A study: factors × levels -> trials, and the claims to test on them."""

    study: Name = Field(description="The name of the study.")
    title: str = Field("", description="The title that reports print.")
    source: str = Field("", description="The name of the paper that the study repeats, if any.")
    lab: LabSpec | str = Field(
        description="The lab that every trial runs in: its content, the path of a lab file or of a "
        "map that `delaylab import` reads, a map of a collection (`topohub:backbone/europe`), or a "
        "generated network: `{generate: {fat-tree: {k: 4, delay: 1ms}}}`. A level of a factor may "
        "have a `lab:` of the last three kinds, whose nodes and links then replace the study's, or "
        "change a parameter of the study's generated network: `lab.generate.k: 8`."
    )
    factors: dict[Name, Levels] = Field(
        default_factory=dict,
        description="The factors by name. A factor has levels by name. A level is a list of loads, "
        "or changes of the study such as `nodes.probe.kind: netns`, among which `loads:` may be "
        "its loads. A factor may also be the values of one setting: "
        "`{set: links.wan.delay, values: [1ms, 5ms, 20ms]}`, or "
        "`{set: links.wan.delay, range: {from: 1ms, to: 100ms, steps: 5, scale: log}}`. Figures "
        "then have an axis of these numbers.",
    )
    probe: ProbeSpec | None = Field(
        None,
        description="The packets that every trial sends. Left out, nothing is sent: a trial is the "
        "machine at rest, the work with its loads, and the machine at rest again.",
    )
    work: list[WorkSpec] = Field(
        default_factory=list,
        description="The work that nodes do while the packets under load are sent. All begin at "
        "once, with the first packet if there is a probe. A level changes it by its name: "
        "`work.NAME.cpu: 5000`.",
    )
    scales: dict[Name, Change] = Field(
        default_factory=dict,
        description="The sizes of the study by name. A scale is changes of the study: "
        "`probe.count: 200`; `factors.FACTOR.LEVEL:` with a level's new content; `repeat: N`; "
        "`design:` with blocks `{factor: [levels]}` that run instead of every combination.",
    )
    repeat: int = Field(
        1, gt=0, description="The number of trials of each combination of levels, one per block."
    )
    seed: int = Field(1, description="The seed of the random order of trials.")
    claims: list[ClaimSpec | str] = Field(
        default_factory=list,
        description="The claims to test on the trials: names of the paper's claims, and claims of "
        "your own.",
    )
