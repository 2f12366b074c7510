"""Models of a study file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from delaylab.spec.base import Name, Spec
from delaylab.spec.lab import IpVersion, LabSpec
from delaylab.units import Duration, Multiple, Share

Protocol = Literal["icmp", "udp"]
Direction = Literal["both-ways", "send", "receive"]
LevelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,40}$")]
STRESSORS = ("cpu", "io", "disk", "memory")
ON_THE_NETWORK = ("network", "frames")
LOADS = (*STRESSORS, *ON_THE_NETWORK)
MOST_WORKERS = 10_000
MOST_PACKETS = 100_000_000
CHECK_SEQUENCE = 4
"""Bytes of the check sequence of a frame, which programs never see; RFC 2544 sizes include them."""
SMALLEST_FRAME, LARGEST_FRAME = 64, 9018


def _listed(given: object) -> object:
    return [given] if isinstance(given, str) else given


_LISTED = BeforeValidator(_listed, json_schema_input_type=Name | list[Name])


class LoadSpec(Spec):
    """A load on one node: workers of a stressor, bulk TCP, or frames at a rate."""

    cpu: int | None = Field(None, gt=0, le=MOST_WORKERS, description="workers that compute")
    io: int | None = Field(None, gt=0, le=MOST_WORKERS, description="workers that call sync()")
    disk: int | None = Field(
        None, gt=0, le=MOST_WORKERS, description="workers that write and unlink a file"
    )
    memory: int | None = Field(
        None, gt=0, le=MOST_WORKERS, description="workers that map and unmap memory"
    )
    network: Direction | None = Field(None, description="bulk TCP flows, as seen from `on`")
    frames: Annotated[float, Field(gt=0, le=20e6)] | Literal["max", "held"] | None = Field(
        None,
        description="UDP frames a second, one way, that nobody answers; max: as fast as can be; "
        "held: the highest rate that arrives, found before the load",
    )
    lost: Share = Field(
        Share(500_000), description="of `frames: held`: a rate is held if no more than this is lost"
    )
    at: Multiple = Field(
        Multiple(Share.WHOLE), description="of `frames: held`: so much of that rate is sent"
    )
    size: int = Field(
        64,
        ge=SMALLEST_FRAME,
        le=LARGEST_FRAME,
        description="bytes of such a frame, Ethernet's header and check sequence counted",
    )
    realtime: bool = Field(
        False, description="frames are sent in real time, as by a machine of its own, where allowed"
    )
    on: Name
    to: Name | None = Field(None, description="the other end of a load on the network")
    over: Annotated[list[Name], _LISTED] | None = Field(
        None, description="the link by which frames reach `to`; of several, each in turn"
    )

    @model_validator(mode="after")
    def _one_load(self) -> LoadSpec:
        given = [name for name in LOADS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"a load is exactly one of {', '.join(LOADS)}")
        if (given[0] in ON_THE_NETWORK) != (self.to is not None):
            raise ValueError("a load of network or frames needs `to`, and no other has it")
        if self.frames is None and (self.over is not None or self.realtime):
            raise ValueError("only a load of frames has `over` and `realtime`")
        if self.frames != "held" and self.model_fields_set & {"lost", "at"}:
            raise ValueError("only a load of `frames: held` has `lost` and `at`")
        if self.at.value == 0:
            raise ValueError("`at` is more than 0%")
        return self

    @property
    def what(self) -> str:
        """Return the kind of the load, one of LOADS."""
        return next(name for name in LOADS if getattr(self, name) is not None)

    @property
    def workers(self) -> int:
        """Return the number of workers of a stressor; 0 for a load on the network."""
        return getattr(self, self.what) if self.what in STRESSORS else 0


class ProbeSpec(Spec):
    """A schedule of packets from one node to another."""

    sender: Name = Field(alias="from")
    to: Name
    over: Name | None = Field(None, description="the link by which packets reach `to`")
    protocol: Protocol = "icmp"
    ip: IpVersion = 4
    count: int = Field(200, gt=0, le=MOST_PACKETS, description="packets under load")
    interval: Duration = Field(Duration(5_000_000), description="between intended send times")
    held: bool = Field(
        False, description="if `interval` is not held: the shortest that is, found before the load"
    )
    size: int = Field(100, ge=24, le=65000, description="bytes behind the ICMP or UDP header")
    at_rest: int = Field(
        20, ge=0, le=MOST_PACKETS, description="packets at rest, before and after the load each"
    )
    at_rest_interval: Duration | None = Field(None, description="left out: as `interval`")
    late: Duration = Field(Duration(1_000_000_000), description="a reply after this is late")
    realtime: bool = Field(True, description="real-time scheduling, where the machine allows it")


Level = list[LoadSpec] | dict[str, object]
Change = dict[str, object]


class StudySpec(Spec):
    """A study: factors × levels -> trials, and the claims to test on them."""

    study: Name
    title: str = ""
    source: str = Field("", description="the paper, if this repeats one")
    lab: LabSpec | str = Field(description="a lab, or the path of its file")
    factors: dict[Name, dict[LevelName, Level]] = Field(
        default_factory=dict,
        description="factor -> level -> loads, or changes such as nodes.probe.kind: netns",
    )
    probe: ProbeSpec
    scales: dict[Name, Change] = Field(
        default_factory=dict,
        description="scale -> changes such as probe.count: 200, factors.FACTOR.LEVEL: the level "
        "said anew, repeat: N, design: blocks {factor: [levels]} to run instead of every "
        "combination",
    )
    repeat: int = Field(1, gt=0, description="trials of each combination, one per block")
    seed: int = 1
    claims: list[str] = Field(default_factory=list)
