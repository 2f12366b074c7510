"""Models of routing daemons: the protocols that a lab's routers speak, and the program that does.

Terms and defaults are those of the protocols: OSPF (RFC 2328, RFC 5340), IS-IS (ISO 10589,
RFC 1195) and BGP (RFC 4271).
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic_core import CoreSchema

from delaylab.errors import Unexpected
from delaylab.spec.base import Name, Spec, no_items
from delaylab.spec.programs import MOST_TEXT
from delaylab.spec.routing.advertisements import Advertisements
from delaylab.spec.routing.expect import Expect
from delaylab.spec.routing.ospf_settings import (
    SECOND,
    Area,
    AreaSpec,
    Bfd,
    DefaultSpec,
    Imports,
    NetworkType,
    OspfLinkSpec,
    Seconds,
)
from delaylab.spec.routing.static_routes import RouteSpec
from delaylab.units import Duration

Daemons = Literal["frr", "bird"]
PACKAGES: dict[Daemons, str] = {"frr": "frr", "bird": "bird2"}
"""The package of the distribution that has each daemon."""
PROTOCOLS = ("ospf", "isis", "bgp")
"""The fields of the protocols; one of them alone stands for the protocol with its defaults."""
BACKBONE = "0.0.0.0"
"""The area that joins all others (RFC 2328, section 3.1)."""


def _router_id(given: str) -> str:
    try:
        found = IPv4Address(given)
    except ValueError:
        raise Unexpected(f"expected a router ID such as 192.0.2.1, got {given!r}") from None
    if found == IPv4Address(0):
        raise ValueError("a router ID is not 0.0.0.0")
    return str(found)


RouterId = Annotated[str, AfterValidator(_router_id)]


def seconds(duration: Duration) -> int:
    """Return a duration in whole seconds."""
    return duration.ns // SECOND


def _duration(text: str) -> Duration:
    return Duration.parse(text)


MOST_LSA_INTERVAL = _duration("5s")
"""The longest interval that FRR takes, which is that of RFC 2328 (appendix B)."""

MOST_HOLD = _duration("10min")
"""The longest hold between two computations of routes that FRR takes."""
MOST_ISIS = 120
"""The most seconds of an interval of IS-IS that FRR takes."""


def _isis_interval(given: Duration) -> Duration:
    if given.ns % SECOND or not 1 <= given.ns // SECOND <= MOST_ISIS:
        raise Unexpected(f"expected whole seconds from 1s to {MOST_ISIS}s, got {given}")
    return given


IsisInterval = Annotated[Duration, AfterValidator(_isis_interval)]


class OspfSpec(Spec):
    """OSPF: version 2 for IPv4, version 3 for IPv6, on all links of the router."""

    hello: Seconds = Field(_duration("10s"), description="The time between two hello packets.")
    dead: Seconds = Field(
        _duration("40s"),
        description="The time without a hello packet after which a neighbour is given up.",
    )
    retransmit: Seconds = Field(
        _duration("5s"), description="The time after which an unanswered packet is sent again."
    )
    spf_delay: Duration = Field(
        _duration("0s"),
        description="The time between a change and the computing of new routes. FRR only.",
    )
    spf_hold: Duration = Field(
        _duration("50ms"),
        description="The least time between two computations of routes. With FRR it grows while "
        "changes go on, to `spf_hold_most`; BIRD rounds it up to whole seconds.",
    )
    spf_hold_most: Duration | None = Field(
        None,
        description="The most that `spf_hold` grows to: FRR doubles it with each computation that "
        "comes within it. Left out, a hundredfold; the same as `spf_hold`, it does not grow. FRR "
        "only.",
    )
    lsa_interval: Duration = Field(
        _duration("5s"),
        description="The least time between two versions of one LSA of a router (MinLSInterval), "
        "at most 5s. A router announces a second failure within this time only at its end. FRR and "
        "OSPF version 2 only; BIRD has 5s.",
    )
    area: Area = Field(BACKBONE, description="The area of links that `areas` does not name.")
    areas: dict[Name, Area] = Field(
        default_factory=dict, description="The areas of links, by the link's name."
    )
    nbma: list[Name] = Field(
        default_factory=no_items,
        description="The links with `join` on which routers find each other by their configured "
        "addresses and not by multicast (non-broadcast multi-access).",
    )
    network: NetworkType | None = Field(
        None,
        description="The type of network of all links of which neither `links` nor `nbma` says it; "
        "left out, point-to-point of a link with `between`, broadcast of one with `join`.",
    )
    poll: Seconds | None = Field(
        None,
        description="The time between two hello packets to a neighbour that is down, on "
        "non-broadcast links. Left out, that of the daemon: 60 s of FRR, 20 s of BIRD.",
    )
    prefix_suppression: bool = Field(
        False,
        description="Do not announce the network of a link with `between` that joins two routers "
        "(RFC 6860): routers are then reached by their loopbacks alone, and tables are shorter. "
        "BIRD only.",
    )
    loopback: bool = Field(
        True,
        description="`false`: the router has no address on its loopback, and is known by those on "
        "its links. The networks of links alone are then in the tables.",
    )
    loopback_cost: int = Field(
        1,
        ge=0,
        le=65_535,
        description="The cost of the router's loopback. The OSPF version 3 of FRR 8.4 has 1 at "
        "least.",
    )
    links: dict[Name, OspfLinkSpec] = Field(
        default_factory=dict,
        description="Settings of single links, by the link's name; in a node's own `routing` those "
        "of its end.",
    )
    area_settings: dict[Area, AreaSpec] = Field(
        default_factory=dict,
        description="Settings of areas: stub areas, not-so-stubby areas, ranges.",
    )
    default: DefaultSpec | None = Field(
        None, description="Announce a default route (`default-information originate`). FRR only."
    )
    imports: Imports = Field(
        default_factory=dict,
        description="Routes from elsewhere to announce (`redistribute`): `[bgp, static]`, or each "
        "with its metric. By FRR also `isis` and `kernel`, which has the `routes:` of the node.",
    )

    def link(self, name: str) -> OspfLinkSpec:
        """Return the settings of a link."""
        return self.links.get(name) or OspfLinkSpec()

    def network_of(self, link: str, *, is_pair: bool) -> NetworkType:
        """Return the type of network of a link; `is_pair` is True of one with `between`."""
        own = self.link(link).network
        if own is not None:
            return own
        if link in self.nbma and not is_pair:
            return "non-broadcast"
        return self.network or ("point-to-point" if is_pair else "broadcast")

    def hides(self, link: str, *, is_pair: bool) -> bool:
        """Return True if a link's network is not announced, where all on it do the same."""
        network = self.network_of(link, is_pair=is_pair)
        return self.prefix_suppression and is_pair and network == "point-to-point"

    def times(self, link: str) -> tuple[Duration, Duration]:
        """Return the times `hello` and `dead` on a link."""
        own = self.link(link)
        return own.hello or self.hello, own.dead or self.dead

    @property
    def longest_hold(self) -> Duration:
        """Return the most that the time between two computations of routes grows to."""
        return self.spf_hold_most or Duration(min(100 * self.spf_hold.ns, MOST_HOLD.ns))

    def area_of(self, link: str) -> str:
        """Return the area of a link."""
        return self.areas.get(link, self.area)

    def area_of_loopback(self, links: Iterable[str]) -> str:
        """Return the area of a router's loopback: `area` if one of its links is in it.

        Otherwise it is that of its first link.
        """
        areas = [self.area_of(link) for link in links]
        return self.area if self.area in areas or not areas else areas[0]

    @model_validator(mode="after")
    def _possible_interval(self) -> Self:
        if self.lsa_interval.ns > MOST_LSA_INTERVAL.ns:
            raise ValueError(
                f"`lsa_interval` is {MOST_LSA_INTERVAL} at most, got {self.lsa_interval}"
            )
        return self

    @model_validator(mode="after")
    def _possible_hold(self) -> Self:
        most = self.longest_hold
        if max(self.spf_hold.ns, most.ns) > MOST_HOLD.ns:
            raise ValueError(f"a hold between computations of routes is {MOST_HOLD} at most")
        if most.ns < self.spf_hold.ns:
            raise ValueError(f"`spf_hold_most` ({most}) is shorter than `spf_hold`")
        return self

    @model_validator(mode="after")
    def _dead_after_hello(self) -> Self:
        for each in (None, *self.links):
            hello, dead = (self.hello, self.dead) if each is None else self.times(each)
            if dead.ns <= hello.ns:
                on = "" if each is None else f" on link {each!r}"
                raise ValueError(f"`dead` ({dead}) has to be longer than `hello` ({hello}){on}")
        return self


class IsisSpec(Spec):
    """IS-IS with wide metrics, all routers in one area of level 2. FRR only."""

    hello: Seconds = Field(_duration("3s"), description="The time between two hello packets.")
    multiplier: int = Field(
        10, ge=2, le=100, description="The hello packets missed until a neighbour is given up."
    )
    lsp_interval: IsisInterval = Field(
        _duration("30s"),
        description="The least time between two versions of one LSP of a router "
        "(minimumLSPGenerationInterval), at most 120s. A router announces a second change within "
        "this time only at its end.",
    )
    spf_interval: IsisInterval = Field(
        _duration("1s"), description="The least time between two computations of routes."
    )


class BgpSpec(Spec):
    """BGP: sessions over every link between routers of different AS numbers.

    Routers of one AS number have a session between each two of them, from loopback to loopback.
    """

    as_number: int | None = Field(
        None,
        alias="as",
        ge=1,
        le=2**32 - 2,
        description="The AS number; left out, each router has a private one of its own.",
    )
    keepalive: Seconds = Field(
        _duration("60s"), description="The time between two keepalive messages."
    )
    hold: Seconds = Field(
        _duration("180s"), description="The time without a message after which a session ends."
    )
    imports: list[Literal["ospf", "isis", "static", "kernel"]] = Field(
        default_factory=no_items,
        description="Routes from elsewhere to announce, next to the router's own networks.",
    )

    @model_validator(mode="after")
    def _hold_after_keepalive(self) -> Self:
        if self.hold.ns < 3 * SECOND or self.hold.ns <= self.keepalive.ns:
            raise ValueError(
                f"`hold` ({self.hold}) has to be 3s at least, and longer than `keepalive` "
                f"({self.keepalive})"
            )
        return self


class RoutingSpec(Spec):
    """The routing daemons of routers: the nodes with `forwards: true`.

    `routing: ospf` is OSPF with its defaults. Of a node it overrides what the lab says, field by
    field.
    """

    by: Daemons = Field("frr", description="The program: `frr` or `bird` (BIRD 2).")
    ospf: OspfSpec | None = Field(None, description="Speak OSPF.")
    isis: IsisSpec | None = Field(None, description="Speak IS-IS.")
    bgp: BgpSpec | None = Field(None, description="Speak BGP.")
    bfd: Bfd | None = Field(
        None,
        description="Have BFD watch all neighbours of OSPF, IS-IS and BGP on links: `true`, or its "
        "times.",
    )
    static: list[RouteSpec] = Field(
        default_factory=no_items,
        max_length=10_000,
        description="Static routes that the daemons set (FRR's staticd), and may `imports` from. "
        "Other than a node's `routes:` they go with their next hop. Of one next hop each.",
    )
    router_advertisements: Advertisements = Field(
        default_factory=dict,
        description="The links on which the router sends IPv6 router advertisements, by name: "
        "`[lan]`, or each with its times. FRR only.",
    )
    router_id: RouterId | None = Field(
        None,
        description="The router ID; left out, the address of the loopback, and without IPv4 one "
        "that is made of the name.",
    )
    added: str = Field(
        "",
        max_length=MOST_TEXT,
        description="Lines to add to the configuration that delaylab writes. To replace it, give "
        "the node a file of that path: `/etc/frr/frr.conf`, `/etc/bird/bird.conf`.",
    )
    timeout: Duration = Field(
        _duration("120s"),
        description="The time in which the forwarding tables of all routers have to become right "
        "after the start.",
    )
    expect: Expect | None = Field(
        None,
        description="What the tables become, for `up`, `converge` and events of studies; of the "
        "whole lab. `shortest`: those of the shortest paths, and you vouch for that where "
        "delaylab does not know it. `quiet`: nothing is known of them, and the network has "
        "converged once no table has changed for a time (`quiet:5s`). `none`: the same, and `up` "
        "does not wait. Left out, `shortest` where delaylab knows that, else `quiet`. Without a "
        "protocol the routers' daemons are your own, which `start:` runs.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_protocol(cls, value: object) -> object:
        return {value: {}} if value in PROTOCOLS else value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        whole = handler.resolve_ref_schema(handler(schema))
        return {"anyOf": [whole, {"enum": list(PROTOCOLS)}]}

    @property
    def protocols(self) -> list[str]:
        """Return the names of the protocols, in a fixed order."""
        return [name for name in PROTOCOLS if getattr(self, name) is not None]


NodeRouting = RoutingSpec | Literal["none"] | None


def merged(general: RoutingSpec | None, own: NodeRouting) -> RoutingSpec | None:
    """Return the routing of a node: the lab's, with the fields that the node's own names."""
    if own == "none":
        return None
    if general is None:
        return own
    said = {name: value for name, value in _said(general).items() if name != "expect"}
    found = RoutingSpec.model_validate(said if own is None else _over(said, _said(own)))
    # A lab that only says what it expects has daemons of the user's own.
    is_empty = own is None and not found.protocols and general.expect is not None
    return None if is_empty else found


def _said(spec: Spec) -> dict[str, object]:
    return spec.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _over(general: dict[str, object], own: dict[str, object]) -> dict[str, object]:
    found = dict(general)
    for name, value in own.items():
        below = found.get(name)
        both = isinstance(below, dict) and isinstance(value, dict)
        found[name] = _over(below, value) if both else value  # type: ignore[arg-type]
    return found
