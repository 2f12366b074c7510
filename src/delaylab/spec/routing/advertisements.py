"""Model of router advertisements: by them hosts find a router, and their IPv6 addresses."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from delaylab.spec.base import Name, Spec
from delaylab.spec.routing.ospf_settings import SECOND
from delaylab.units import Duration

MOST_INTERVAL, MOST_LIFETIME = 1800, 9000
"""The most seconds between two advertisements, and of a default router (RFC 4861, 6.2.1)."""


class AdvertisementSpec(Spec):
    """Router advertisements on a link (RFC 4861), with its IPv6 networks as prefixes."""

    interval: Duration = Field(
        Duration.parse("10s"),
        description="The most time between two of them, in whole seconds from 1s to 30min. A host "
        "that asks has its answer at once.",
    )
    lifetime: Duration = Field(
        Duration.parse("30min"),
        description="How long hosts take the router as their default router; `0s`: they do not. "
        "Else at least `interval`, at most 9000s.",
    )
    autoconf: bool = Field(
        True,
        description="Hosts make themselves addresses of the link's networks (SLAAC, RFC 4862).",
    )

    @model_validator(mode="after")
    def _possible(self) -> AdvertisementSpec:
        seconds = self.interval.ns // SECOND
        if self.interval.ns % SECOND or not 1 <= seconds <= MOST_INTERVAL:
            raise ValueError(
                f"`interval` is whole seconds from 1s to {MOST_INTERVAL}s, got {self.interval}"
            )
        lifetime = self.lifetime.ns // SECOND
        if self.lifetime.ns % SECOND or not (lifetime == 0 or seconds <= lifetime <= MOST_LIFETIME):
            raise ValueError(
                f"`lifetime` is 0s, or whole seconds from `interval` ({self.interval}) to "
                f"{MOST_LIFETIME}s, got {self.lifetime}"
            )
        return self


def _by_link(value: object) -> object:
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return {each: {} for each in value}
    return value


Advertisements = Annotated[
    dict[Name, AdvertisementSpec],
    BeforeValidator(_by_link, json_schema_input_type=dict[Name, AdvertisementSpec] | list[Name]),
]
