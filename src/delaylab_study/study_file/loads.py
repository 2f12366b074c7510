"""Models of the loads in a study file: competing work, which runs until it is stopped."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from delaylab.api.models import Jobs, Name, Names
from delaylab.api.services import PORTS, DnsRecord
from delaylab.api.units import Duration, Multiple, Share
from delaylab_study.study_file.probe import (
    LATE,
    NameOfQuery,
    NameOfServer,
    PathOfRequest,
    PortOfService,
    check_request,
)

Workers = Annotated[int, Field(gt=0, le=10_000)]
CHECK_SEQUENCE = 4
"""Bytes of the check sequence of a frame, which programs never see; RFC 2544 sizes include them."""
SMALLEST_FRAME, LARGEST_FRAME = 64, 9018
MOST_REQUESTS_PER_S = 20_000


class LoadSpec(Jobs):
    """A load on one node: workers of a stressor, a command, bulk TCP, frames or requests."""

    on: Name = Field(description="The node that the load runs on.")

    @classmethod
    def variant_of(cls, said: Mapping[str, object]) -> type[LoadSpec]:
        """Return the class of the one load."""
        found = LoadSpec.named_in(said, "a load")
        if issubclass(found, PairLoad) != ("to" in said):
            raise ValueError(
                "a load of network, frames or requests needs `to`, and no other has it"
            )
        return HeldFramesLoad if said.get("frames") == "held" else found

    @classmethod
    def refusal(cls, name: str) -> str:
        """Return the sentence for a field of other loads."""
        if name in CommandLoad.model_fields:
            return f"only a load of `command` has `{name}`"
        if name in RequestsLoad.model_fields:
            return f"only a load of `requests` has `{name}`"
        if name not in FramesLoad.model_fields:
            return "only a load of `frames: held` has `lost`, `at` and `once_across`"
        names = "`size`" if name == "size" else "`over` and `realtime`"
        return f"only a load of frames has {names}"

    @property
    def amount(self) -> object:
        """Return the value of the main field."""
        return getattr(self, self.what)

    @property
    def nodes(self) -> list[str]:
        """Return all nodes that the load names."""
        return [self.on]


class StressorLoad(LoadSpec):
    """Workers of a stressor, whose number is the value of the main field."""


class CpuLoad(StressorLoad):
    """Workers that compute."""

    what = "cpu"
    cpu: Workers = Field(description="The number of workers that compute.")


class IoLoad(StressorLoad):
    """Workers that call sync()."""

    what = "io"
    io: Workers = Field(description="The number of workers that call sync().")


class DiskLoad(StressorLoad):
    """Workers that write and delete a file."""

    what = "disk"
    disk: Workers = Field(description="The number of workers that write and delete a file.")


class MemoryLoad(StressorLoad):
    """Workers that map and unmap memory."""

    what = "memory"
    memory: Workers = Field(description="The number of workers that map and unmap memory.")


class CommandLoad(LoadSpec):
    """A command of the study's author."""

    what = "command"
    command: Annotated[str, Field(min_length=1)] | Annotated[list[str], Field(min_length=1)] = (
        Field(
            description="A command that runs from before the first packet under load until after "
            "the last: words, or a line for the node's shell (`sh -c`). It is ended by an "
            "interrupt (SIGINT). One that ends earlier must succeed; a trial of which it ran less "
            "than 90 % counts as without its load."
        )
    )
    prints: Annotated[str, Field(min_length=1)] | None = Field(
        None,
        description="For `command`: the text by whose printing it says that it is active; left "
        "out, it is active once it runs.",
    )

    @property
    def argv(self) -> list[str]:
        """Return the words of the command."""
        return ["sh", "-c", self.command] if isinstance(self.command, str) else self.command

    @property
    def amount(self) -> object:
        """Return the command as a line."""
        return self.command if isinstance(self.command, str) else shlex.join(self.command)


class PairLoad(LoadSpec):
    """A load on the way between two nodes."""

    to: Name = Field(description="For `network` and `frames`: the node at the other end.")

    @property
    def nodes(self) -> list[str]:
        """Return both nodes."""
        return [self.on, self.to]


class NetworkLoad(PairLoad):
    """Bulk TCP."""

    what = "network"
    network: Literal["both-ways", "send", "receive"] = Field(
        description="The direction of bulk TCP flows, as seen from the node `on`."
    )


class FramesLoad(PairLoad):
    """UDP frames, one way."""

    what = "frames"
    frames: Annotated[float, Field(gt=0, le=20e6)] | Literal["max", "held"] = Field(
        description="UDP frames per second, one way, which nobody answers. `max`: as fast as "
        "possible. `held`: the highest rate that arrives, found by search before the load.",
    )
    size: int = Field(
        64,
        ge=SMALLEST_FRAME,
        le=LARGEST_FRAME,
        description="The size of each frame in bytes, with Ethernet's header and check sequence.",
    )
    realtime: bool = Field(
        False,
        description="Send the frames with real-time scheduling, as a separate machine would, if "
        "allowed.",
    )
    over: Names | None = Field(
        None,
        description="The link by which frames arrive at `to`; of several links, each is used in "
        "turn.",
    )

    @property
    def arrivals(self) -> list[str | None]:
        """Return the links by which frames arrive, in turn; None for any."""
        return [*self.over] if self.over else [None]


class FixedFramesLoad(FramesLoad):
    """Frames at a rate that the study gives, or as fast as possible."""


class HeldFramesLoad(FramesLoad):
    """Frames at a rate that a search finds."""

    frames: Literal["held"]
    lost: Share = Field(
        Share(500_000),
        description="For `frames: held`: the largest share of frames that do not arrive, or "
        "arrive out of order, at which a rate counts as held.",
    )
    at: Multiple = Field(
        Multiple(Share.WHOLE), description="For `frames: held`: the share of the held rate to send."
    )
    once_across: Names | None = Field(
        None,
        description="For `frames: held`: the factors whose levels share one rate. Trials that "
        "differ only in these factors use the same rate. The search runs once in each "
        "block of trials, in the lab of the first trial that needs the rate. Left out, each trial "
        "searches.",
    )

    @model_validator(mode="after")
    def _some_share(self) -> Self:
        if self.at.value == 0:
            raise ValueError("`at` is more than 0%")
        return self


class RequestsLoad(PairLoad):
    """Requests to a service at a rate, in an open loop: none waits for the answer to another."""

    what = "requests"
    requests: Annotated[float, Field(gt=0, le=MOST_REQUESTS_PER_S)] = Field(
        description="Requests per second to a service of `to`, one each 1/N s, whether or not "
        "those before are answered. A trial of which less than 90 % of them were sent, or less "
        "than `answered` answered, counts as without its load."
    )
    protocol: Literal["http", "https", "dns", "udp"] = Field(
        "http", description="For `requests`: what they are, as of a probe."
    )
    port: PortOfService | None = Field(
        None,
        description="For `requests`: the port of the service. Left out, it is 80 for `http`, 443 "
        "for `https` and 53 for `dns`.",
    )
    path: PathOfRequest = Field(
        "/", description="For `requests` by `http`, `https`: as of a probe."
    )
    host: NameOfServer | None = Field(
        None, description="For `requests` by `http`, `https`: as of a probe."
    )
    connections: Literal["new", "keep-alive"] = Field(
        "new", description="For `requests` by `http`, `https`: as of a probe."
    )
    trust: str = Field("system", description="For `requests` by `https`: as of a probe.")
    query: NameOfQuery | None = Field(
        None, description="For `requests` by `dns`: the name to ask for."
    )
    record: DnsRecord = Field("A", description="For `requests` by `dns`: the type of the record.")
    payload: str | None = Field(
        None, description="For `requests` by `udp`: the payload of each datagram, as text."
    )
    answer: str | None = Field(
        None, description="For `requests` by `udp`: the pattern of the answer, as of a probe."
    )
    late: Duration = Field(
        LATE,
        description="For `requests`: one that has no answer after this time counts as not "
        "answered.",
    )
    answered: Share = Field(
        Share(900_000_000),
        description="For `requests`: the smallest share that must have a good answer.",
    )

    @model_validator(mode="after")
    def _of_protocol(self) -> Self:
        check_request(self, type(self).model_fields, "a load of requests")
        if self.protocol == "udp" and self.payload is None:
            raise ValueError("`payload` is missing: what a load of requests by `udp` sends")
        if self.protocol == "udp" and self.port is None:
            raise ValueError("`port` is missing: the one that the service listens at")
        if self.late.ns == 0:
            raise ValueError("`late` is more than 0")
        if self.on == self.to:
            raise ValueError("`to` is another node than `on`")
        return self

    @property
    def to_port(self) -> int:
        """Return the port that requests are sent to."""
        return self.port or PORTS[self.protocol]


LOADS = tuple(dict.fromkeys(each.what for each in LoadSpec.variants()))
"""The names of all loads."""
