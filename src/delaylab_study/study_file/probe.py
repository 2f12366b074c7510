"""Models of a study's probe: what is sent, to whom, and when."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Protocol

from pydantic import AfterValidator, Field, model_validator
from pydantic.fields import FieldInfo

from delaylab.api.documents import outside
from delaylab.api.lab_files import IpVersion
from delaylab.api.models import NAME, Name, Spec, spelled
from delaylab.api.services import PORTS, DnsRecord
from delaylab.api.units import Duration
from delaylab.api.verdicts import BIAS_LEAST_INTERVAL
from delaylab_study.study_file.clean import CleanSpec

ProbeProtocol = Literal["icmp", "udp", "tcp", "http", "https", "dns"]
OF_SERVICES = ("https", "dns")
"""Protocols that delaylab's own responder does not answer."""
STREAMS = ("http", "https")
"""Protocols whose packets are requests on a TCP connection."""
MOST_PAYLOAD = 65_000
"""The largest payload of a datagram, in bytes."""
CLOSED_LOOP: Final = "closed-loop"
MOST_PACKETS = 100_000_000
FIRST_SOURCE_PORT, SOURCE_PORTS = 10_240, 22_528
"""The source ports of packets that are known by them, one for each packet of a trial: up to 32767,
below those that the kernel gives to other programs."""
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


PathOfRequest = Annotated[str, spelled(r"^/[!-~]{0,799}$", "a path from / on")]
NameOfServer = Annotated[str, spelled(r"^[A-Za-z0-9._-]{1,253}$", "a name of a server")]
NameOfQuery = Annotated[str, spelled(r"^[!-~]{1,253}$", "a name of DNS")]
PortOfService = Annotated[int, Field(gt=0, le=65535)]
Responder = Literal["own", "delaylab"]
_FIELDS_OF: dict[str, tuple[str, ...]] = {
    "path": STREAMS,
    "host": STREAMS,
    "connections": STREAMS,
    "trust": ("https",),
    "query": ("dns",),
    "record": ("dns",),
    "payload": ("udp",),
    "answer": ("udp",),
    "port": ("udp", "tcp", "http", "https", "dns"),
    "responder": ("udp", "tcp", "http", "https", "dns"),
}
"""The protocols that have each of these fields."""


class AsksService(Protocol):
    """The request that a probe, or a load, makes of a service."""

    @property
    def to(self) -> str:
        """Return whom it goes to."""

    @property
    def protocol(self) -> ProbeProtocol:
        """Return its protocol."""

    @property
    def path(self) -> str:
        """Return the path of HTTP."""

    @property
    def host(self) -> str | None:
        """Return the name of the server."""

    @property
    def connections(self) -> Literal["new", "keep-alive"]:
        """Return which connections it has."""

    @property
    def trust(self) -> str:
        """Return whose certificates are trusted."""

    @property
    def query(self) -> str | None:
        """Return the name that DNS is asked for."""

    @property
    def record(self) -> DnsRecord:
        """Return the type of DNS record."""

    @property
    def payload(self) -> str | None:
        """Return the payload of a datagram."""

    @property
    def answer(self) -> str | None:
        """Return the pattern of the answer."""


def check_request(asked: AsksService, fields: Mapping[str, FieldInfo], who: str) -> None:
    """Raise ValueError if a request has fields of another protocol, or lacks one of its own."""
    for name, protocols in _FIELDS_OF.items():
        if name not in fields:
            continue
        if asked.protocol not in protocols and getattr(asked, name) != fields[name].default:
            which = " or ".join(f"`{each}`" for each in protocols)
            raise ValueError(f"only {who} of `protocol:` {which} has `{name}`")
    if asked.protocol == "dns" and asked.query is None:
        raise ValueError(f"`query` is missing: the name that {who} of `protocol: dns` asks for")
    if asked.answer is not None and asked.payload is None:
        raise ValueError(f"`answer` is of {who} with `payload`")
    if asked.payload is not None and not 0 < len(asked.payload.encode()) <= MOST_PAYLOAD:
        raise ValueError(f"`payload` has 1 to {MOST_PAYLOAD} bytes")


class ProbeSpec(Spec):
    """A schedule of packets from one node to another, or to a host outside of the lab."""

    sender: Name = Field(alias="from", description="The node that sends the requests.")
    to: Annotated[str, AfterValidator(_node_or_address)] = Field(
        description="The node that answers them, or the IP address of a real host outside of the "
        "lab. Of the way to such a host the points of the sender's side are stamped; the sender is "
        "in this machine's own stack (`native` without a host), which has routes there."
    )
    over: Name | None = Field(None, description="The link by which packets arrive at `to`.")
    protocol: ProbeProtocol = Field(
        "icmp",
        description="`icmp` sends echo requests, `udp` sends datagrams, `tcp` opens connections: "
        "the packets are a SYN and its answer. `http` sends GET requests of HTTP/1.1, `https` the "
        "same over TLS: the packets are the request and the first of its answer. `dns` sends "
        "queries by UDP.",
    )
    responder: Responder | None = Field(
        None,
        description="Who answers. `own`: a service of yours that listens at `port` of `to`, such "
        "as a program of its `start:`. `delaylab`: delaylab's own responder, which runs during the "
        "trial. Left out, it is `own` where a program of `to` says `ready: {tcp: PORT}` or `{udp: "
        "PORT}` for the probe's port, for a host outside of the lab, and where only a service can "
        "answer: `https`, `dns`, and `udp` with `payload`. To `icmp` the kernel answers.",
    )
    port: PortOfService | None = Field(
        None,
        description="The port to send to. Left out, that of delaylab's responder is 8462; that of "
        "a service is 80 for `http`, 443 for `https` and 53 for `dns`.",
    )
    path: PathOfRequest = Field(
        "/", description="For `protocol: http` and `https`: the path to request."
    )
    host: NameOfServer | None = Field(
        None,
        description="For `protocol: http` and `https`: the name of the server, which requests "
        "state and a certificate is for. Left out, it is the name of the node, or the address.",
    )
    connections: Literal["new", "keep-alive"] = Field(
        "new",
        description="For `protocol: http` and `https`: `new` opens a connection for each request; "
        "the round trip begins with the request. With `keep-alive` requests follow each other on "
        "a connection; a request that is due before the last answer is whole gets another one.",
    )
    trust: str = Field(
        "system",
        description="For `protocol: https`: whose certificates are trusted. `system`: those of the "
        "authorities that this machine trusts. `any`: any, without a check. Or the certificates of "
        "authorities as text (PEM), which `from: FILE` reads.",
    )
    query: NameOfQuery | None = Field(None, description="For `protocol: dns`: the name to ask for.")
    record: DnsRecord = Field(
        "A", description="For `protocol: dns`: the type of the record to ask for."
    )
    payload: str | None = Field(
        None,
        description="For `protocol: udp`: the payload of each datagram, as text, for a service of "
        "yours. The packets are then known by their source port.",
    )
    answer: str | None = Field(
        None,
        description="For `protocol: udp` with `payload`: the pattern of the answer, as text in "
        "which `*` stands for any bytes. Left out, any datagram is the answer.",
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
        description="The payload after the ICMP or UDP header, in bytes; others have none.",
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

    clean: CleanSpec | None = Field(
        None,
        description="Refuse packets that the use of the sender's machine may have biased, and send "
        "others when it is not in use ([rule](method.md#clean-and-biased-packets)): `clean: {}`, "
        "or with a budget and a deadline. The packets on schedule stay as they are; reports show "
        "the estimate of clean packets next to theirs.",
    )

    causes: bool = Field(
        False,
        description="Record what the CPUs of the lab's machines do, so that `delaylab why` can "
        "say why packets were late ([how](why.md)).",
    )

    @model_validator(mode="after")
    def _feedback(self) -> ProbeSpec:
        if self.clean is None:
            return self
        if self.interval == CLOSED_LOOP or self.held:
            raise ValueError("a probe with `clean` has an `interval` of its own, and no `held`")
        if isinstance(self.interval, Duration) and self.interval < BIAS_LEAST_INTERVAL:
            raise ValueError(
                f"a probe with `clean` has an `interval` of {BIAS_LEAST_INTERVAL} at least: it "
                "looks at the use of the machine, to which packets that are closer together add"
            )
        return self

    @model_validator(mode="after")
    def _of_protocol(self) -> ProbeSpec:
        check_request(self, type(self).model_fields, "a probe")
        if self.payload is not None and "size" in self.model_fields_set:
            raise ValueError("a probe with `payload` has no `size`: the payload has its own")
        if self.needs_service and self.responder == "delaylab":
            what = "`payload`" if self.payload is not None else f"`protocol: {self.protocol}`"
            raise ValueError(f"delaylab's responder does not answer a probe of {what}: say own")
        return self

    @model_validator(mode="after")
    def _ports(self) -> ProbeSpec:
        if not self.by_port:
            return self
        if self.held:
            raise ValueError(f"a probe of `protocol: {self.protocol}` has no `held`")
        if self.packets > SOURCE_PORTS:
            raise ValueError(
                f"a probe of `protocol: {self.protocol}` sends at most {SOURCE_PORTS} packets in a "
                f"trial, each from a port of its own; `count`, {PHASES_AT_REST} times `at_rest` "
                f"and the budget of `clean` are {self.packets}"
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
        if self.protocol == "udp" and self.payload is None and self.responder is None:
            raise ValueError(
                f"nobody at {self.to} sends delaylab's datagrams back: say `payload`, or another "
                "protocol; `responder: own` if an echo service is there"
            )
        if self.responder == "delaylab":
            raise ValueError(f"delaylab's responder does not run at {self.to}: say own")
        if self.protocol not in ("icmp", *PORTS) and self.port is None:
            raise ValueError(f"`port` is missing: the one to send to at {self.to}")
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
        """Return how many packets it sends in a trial at most, in all phases."""
        again = 0 if self.clean is None else self.clean.most(self.count)
        return self.count + PHASES_AT_REST * self.at_rest + again

    @property
    def pace_at_rest(self) -> Pace:
        """Return what decides when the packets at rest are sent."""
        return self.at_rest_interval or self.pace

    @property
    def outside(self) -> bool:
        """Return True if `to` is the address of a host outside of the lab."""
        return outside(self.to) is not None

    @property
    def by_port(self) -> bool:
        """Return True if packets are known by their source port: they have no probe header."""
        return self.protocol not in ("icmp", "udp") or self.payload is not None

    @property
    def needs_service(self) -> bool:
        """Return True if only a service can answer, and not delaylab's responder."""
        return self.protocol in OF_SERVICES or self.payload is not None

    @property
    def answered_by_service(self) -> bool:
        """Return True if a service answers, which takes no stamps itself."""
        return self.protocol != "icmp" and (
            self.needs_service or self.outside or self.responder == "own"
        )

    @property
    def is_stream(self) -> bool:
        """Return True if packets are requests and answers in TCP streams."""
        return self.protocol in STREAMS
