"""What a lab file may say."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from delaylab.units import Rate, Size

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
"""Names end up in interface names, file names and cgroups: lower case, digits, hyphens."""
NodeKind = Literal["native", "shared", "netns"]
IpVersion = Literal[4, 6]


class Spec(BaseModel):
    """The base of everything a file may say: unknown fields are refused, nothing changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class UplinkSpec(Spec):
    """What a host's own interface can send: a token bucket with a bounded queue behind it."""

    rate: Rate = Field(description="bits per second on the link, Ethernet framing excluded")
    queue: int = Field(1000, gt=0, description="packets that may wait, of a full frame each")
    burst: Size = Field(Size(16 * 1024), description="bytes that may leave at once")


class HostSpec(Spec):
    """A machine that carries nodes: here, a network namespace that stands for one."""

    uplink: UplinkSpec | None = None
    cpus: list[int] | None = Field(None, description="CPUs that the host and its nodes may use")


class NodeSpec(Spec):
    """An emulated system."""

    kind: NodeKind = "netns"
    host: Name | None = None
    cpus: list[int] | None = Field(None, description="CPUs that the node may use")


class LinkSpec(Spec):
    """Joins two nodes (`between`) or many (`join`)."""

    join: list[Name] | None = Field(None, min_length=2, description="broadcast: its members")
    between: tuple[Name, Name] | None = Field(None, description="point-to-point: its two ends")
    name: Name | None = None
    mtu: int = Field(1500, ge=1280, le=65535)
    addresses: dict[Name, str] = Field(
        default_factory=dict, description="node -> address with prefix, e.g. 10.1.0.1/24"
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> LinkSpec:
        if (self.join is None) == (self.between is None):
            raise ValueError("a link has either `join` (many nodes) or `between` (two nodes)")
        return self

    @property
    def members(self) -> list[str]:
        """The nodes at the link's ends."""
        return list(self.join or self.between or ())


class LabSpec(Spec):
    """Hosts, nodes and links."""

    lab: Name
    hosts: dict[Name, HostSpec] = Field(
        default_factory=dict, description="left out: one host, this machine"
    )
    nodes: dict[Name, NodeSpec] = Field(min_length=1)
    links: list[LinkSpec] = Field(default_factory=list)
    ip: list[IpVersion] = Field(default=[4], min_length=1, description="address families")
