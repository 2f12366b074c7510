"""Routes of a node that its file gives, in the terms of `ip route`."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from delaylab.errors import Unexpected
from delaylab.spec.base import INTERFACE, NAME, Spec, no_items, spelled

DEFAULT = "default"
Device = Annotated[
    str, spelled(f"{NAME}|{INTERFACE}", "the name of a link or of one of the node's interfaces")
]


def _destination(text: str) -> str:
    """Return a destination: `default`, a node's name, or a network, with its prefix."""
    if text == DEFAULT or is_name(text):
        return text
    try:
        return str(ip_network(text))
    except ValueError:
        what = "expected `default`, a network such as 10.9.0.0/16, an address, or a node's name"
        raise Unexpected(f"{what}; got {text!r}") from None


def _hop(text: str) -> str:
    if is_name(text.partition(".")[0]) and text.count(".") <= 1:
        return text
    try:
        return str(ip_address(text))
    except ValueError:
        what = "expected an address, a node (`r1`) or its end of a link (`r1.sea`)"
        raise Unexpected(f"{what}; got {text!r}") from None


def is_name(text: str) -> bool:
    """Return True if a destination or a next hop is meant as a node's name."""
    return bool(text) and text[0].isalpha() and ":" not in text and "." not in text


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class RouteSpec(Spec):
    """A route of a node, in the terms of `ip route`. It comes before those that the lab sets."""

    to: Annotated[str, AfterValidator(_destination)] = Field(
        description="The destination: `default`, a network, an address, or a node."
    )
    via: Annotated[
        list[Annotated[str, AfterValidator(_hop)]],
        BeforeValidator(_listed, json_schema_input_type=list[str] | str),
    ] = Field(
        default_factory=no_items,
        max_length=64,
        description="The next hop: a node on one of this node's links (`r1`, or `r1.sea` if "
        "several links join them), or an address. Of several, the kernel takes one for each flow.",
    )
    dev: Device | None = Field(
        None,
        description="The link by which packets leave, where `via` does not say it; or the name "
        "that the link gives the node's interface.",
    )
    metric: int | None = Field(
        None, ge=0, le=2**32 - 1, description="The metric: of equal routes the least one is taken."
    )
    type: Literal["unicast", "blackhole", "unreachable", "prohibit"] = Field(
        "unicast",
        description="What becomes of the packets: they are sent on, dropped without a word, or "
        "refused with an ICMP error.",
    )

    @model_validator(mode="after")
    def _next_hop(self) -> Self:
        onward = bool(self.via) or self.dev is not None
        if self.type == "unicast" and not onward:
            raise ValueError("a route needs `via` or `dev`, or a `type` that sends nothing on")
        if self.type != "unicast" and onward:
            raise ValueError(f"a `{self.type}` route sends nothing on: leave `via` and `dev` out")
        return self
