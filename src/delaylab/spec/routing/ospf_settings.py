"""Settings of OSPF beyond its times: those of one link, of areas, and routes from elsewhere.

Terms are those of RFC 2328 and of FRR's configuration.
"""

from __future__ import annotations

from ipaddress import IPv4Address, ip_network
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from delaylab.errors import Unexpected
from delaylab.spec.base import Spec, no_items, spelled
from delaylab.units import Duration

SECOND = 1_000_000_000
MOST_SECONDS = 65_535
SECRET = r"^[A-Za-z0-9.,:/+=@%^*_!-]+$"
IN_WORDS_OF_SECRETS = "a secret of letters, digits and . , : / + = @ % ^ * _ ! -"
Password = Annotated[str, spelled(SECRET, IN_WORDS_OF_SECRETS, 8)]
Digest = Annotated[str, spelled(SECRET, IN_WORDS_OF_SECRETS, 16)]
KeyId = Annotated[int, Field(ge=1, le=255)]
Cost = Annotated[int, Field(ge=0, le=16_777_214)]
RouteMap = Annotated[
    str,
    spelled(r"^[A-Za-z0-9_.-]{1,64}$", "a name of letters, digits, `_`, `.` and `-`, at most 64"),
]
NetworkType = Literal["point-to-point", "broadcast", "non-broadcast", "point-to-multipoint"]
Source = Literal["bgp", "connected", "isis", "kernel", "static"]
"""The routes that OSPF may import, by where they come from."""


def _area(given: object) -> object:
    """Return an area as an address; it may be written as a number."""
    text = str(given)
    try:
        return str(IPv4Address(int(text) if text.isdecimal() else text))
    except ValueError:
        raise Unexpected(f"expected an area such as 0 or 0.0.0.1, got {text!r}") from None


Area = Annotated[str, BeforeValidator(_area, json_schema_input_type=str | int)]


def _whole_seconds(given: Duration) -> Duration:
    if given.ns % SECOND or not 1 <= given.ns // SECOND <= MOST_SECONDS:
        raise Unexpected(f"expected whole seconds from 1s to {MOST_SECONDS}s, got {given}")
    return given


Seconds = Annotated[Duration, AfterValidator(_whole_seconds)]


def _prefix(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError:
        raise Unexpected(f"expected a network such as 10.9.0.0/16, got {text!r}") from None


Prefix = Annotated[str, AfterValidator(_prefix)]


class OspfLinkSpec(Spec):
    """Settings of OSPF on one link. In a node's own `routing` they are of its end alone."""

    hello: Seconds | None = Field(None, description="As `hello` of `ospf`, on this link.")
    dead: Seconds | None = Field(None, description="As `dead` of `ospf`, on this link.")
    priority: int | None = Field(
        None,
        ge=0,
        le=255,
        description="The priority by which a designated router is elected; 0: never this one.",
    )
    password: Password | None = Field(
        None, description="The password in each packet, in clear text. OSPF version 2 only."
    )
    digest: dict[KeyId, Digest] = Field(
        default_factory=dict,
        description="The secret that signs packets, by its key ID: `{1: secret}`. Version 2 signs "
        "by MD5 (RFC 2328, D.3), version 3 by HMAC-SHA-256 (RFC 7166).",
    )
    network: NetworkType | None = Field(
        None,
        description="The type of network; left out, point-to-point of a link with `between`, "
        "broadcast of one with `join`.",
    )
    bfd: bool | None = Field(
        None, description="Have BFD watch the neighbours here; left out, if the router has `bfd`."
    )
    mtu_ignore: bool = Field(
        False,
        description="Take neighbours whose MTU differs, which else stay in ExStart. FRR only.",
    )

    @model_validator(mode="after")
    def _one_authentication(self) -> Self:
        if self.password is not None and self.digest:
            raise ValueError("a link has either `password` or `digest`")
        if len(self.digest) > 1:
            raise ValueError("`digest` has one key: `{1: secret}`")
        return self


class ImportSpec(Spec):
    """An import of routes from elsewhere, with the metric they get."""

    metric: Cost | None = Field(None, description="The metric; left out, that of the daemon, 20.")
    type: Literal[1, 2] = Field(
        2, description="The type of external metric: 1 adds the cost of the way, 2 does not."
    )
    route_map: RouteMap | None = Field(
        None, description="The route map that chooses them, which `added:` defines. FRR only."
    )


class DefaultSpec(ImportSpec):
    """A default route that OSPF announces. FRR only."""

    always: bool = Field(
        False, description="Announce it whether the router has one or not; else only with one."
    )


def _by_source(value: object) -> object:
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return {each: {} for each in value}
    return value


Imports = Annotated[
    dict[Source, ImportSpec],
    BeforeValidator(_by_source, json_schema_input_type=dict[Source, ImportSpec] | list[Source]),
]


class AreaRangeSpec(Spec):
    """A range of an area, under which its networks are announced as one to other areas."""

    prefix: Prefix = Field(description="The network that stands for those within it.")
    cost: Cost | None = Field(None, description="Its cost; left out, the largest of those within.")
    announced: bool = Field(
        True, description="`false`: neither it nor the networks within are announced."
    )


class AreaSpec(Spec):
    """Settings of an area, on the routers that are in it."""

    kind: Literal["normal", "stub", "nssa"] = Field(
        "normal",
        description="`stub`: no external routes, `nssa`: only those of its own routers (RFC 3101).",
    )
    summaries: bool = Field(
        True,
        description="`false`: other areas' routes stay out, too; a default route stands for "
        "them. Of the kinds `stub` and `nssa`, on routers at the area's border.",
    )
    default_cost: Cost | None = Field(
        None, description="The cost of the default route into the area, of `stub` and `nssa`."
    )
    ranges: list[AreaRangeSpec] = Field(
        default_factory=no_items,
        max_length=100,
        description="Ranges, on routers at the area's border.",
    )
    external_ranges: list[AreaRangeSpec] = Field(
        default_factory=no_items,
        max_length=100,
        description="Ranges of the external routes of an `nssa`: its border announces those within "
        "as one to other areas. By FRR 8.4 of IPv6 alone.",
    )

    @model_validator(mode="after")
    def _of_stubs(self) -> Self:
        if self.kind == "normal" and (not self.summaries or self.default_cost is not None):
            raise ValueError("`summaries` and `default_cost` are of `kind: stub` and `kind: nssa`")
        if self.external_ranges and self.kind != "nssa":
            raise ValueError("`external_ranges` are of `kind: nssa`")
        return self


def _on(value: object) -> object:
    return {} if value is True else value


class BfdSpec(Spec):
    """BFD (RFC 5880): packets that find a silent neighbour within milliseconds."""

    interval: Duration = Field(
        Duration.parse("300ms"), description="The time between two packets, 10ms to 60s."
    )
    multiplier: int = Field(
        3, ge=2, le=255, description="The packets missed until a neighbour is given up."
    )

    @model_validator(mode="after")
    def _possible_interval(self) -> Self:
        ms = 1_000_000
        if self.interval.ns % ms or not 10 <= self.interval.ns // ms <= 60_000:
            raise ValueError(f"`interval` is whole ms from 10ms to 60s, got {self.interval}")
        return self


Bfd = Annotated[BfdSpec, BeforeValidator(_on, json_schema_input_type=BfdSpec | Literal[True])]
