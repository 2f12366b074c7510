"""Claims of one's own in a study file: a quantity of some groups, and the limits that it must keep.

The limits are written before the study runs, and are kept with the dataset.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, GetCoreSchemaHandler, model_validator
from pydantic_core import CoreSchema, core_schema

from delaylab.api.errors import Unexpected
from delaylab.api.models import Name, Spec, spelled
from delaylab.api.units import Duration

Unit = Literal["µs", "share", "times"]
LevelName = Annotated[
    str,
    spelled(
        r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,40}$",
        "a name of letters, digits, `_`, `.` and `-`, at most 41 characters",
    ),
]
Of = Literal[
    "rtt.app",
    "rtt.stack",
    "rtt.vif",
    "rtt.uplink",
    "rtt.wire",
    "rtt.without-links",
    "rtt.service",
    "added.total",
    "added.kernel",
    "added.user",
    "added.overhead",
    "one-way.sending",
    "one-way.receiving",
    "lost",
    "detected",
    "converged",
    "outage",
]
OF_EVENTS = ("detected", "converged", "outage")
"""The quantities of events, of which each trial has one value."""
STATISTICS = ("median", "mean", "p90", "p99", "share")
_NUMBER = r"(?P<sign>[+-]?)\s*(?P<number>[0-9]{1,12}(?:\.[0-9]{1,9})?)"
_SHARE = re.compile(rf"\s*{_NUMBER}\s*%\s*")
_TIMES = re.compile(rf"\s*{_NUMBER}\s*x\s*")
_SIGN = re.compile(r"\s*([+-]?)\s*(.*)", re.DOTALL)
EXAMPLES = "a time (+50us), a share (20%), or a multiple (1.5x)"


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of an effect, which may be negative: µs, a share (0.2 is 20 %), or a multiple."""

    value: float
    unit: Unit
    text: str

    @classmethod
    def parse(cls, given: object) -> Self:
        """Read text such as `+50us`, `20%` or `1.5x`; raise ValueError if it is none of these."""
        text = str(given).strip()
        for pattern, unit, factor in ((_SHARE, "share", 0.01), (_TIMES, "times", 1.0)):
            match = pattern.fullmatch(text)
            if match is not None:
                value = float(match["number"]) * factor
                return cls(-value if match["sign"] == "-" else value, unit, text)  # type: ignore[arg-type]
        match = _SIGN.fullmatch(text)
        sign, rest = match.groups() if match else ("", text)
        try:
            us = Duration.parse(rest).ns / 1000
        except ValueError:
            raise Unexpected(f"expected {EXAMPLES}, got {text!r}") from None
        return cls(-us if sign == "-" else us, "µs", text)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def __get_pydantic_core_schema__(cls, _: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: object) -> Limit:
            return value if isinstance(value, cls) else cls.parse(value)

        return core_schema.no_info_plain_validator_function(
            read, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: object) -> dict[str, object]:
        return {"type": "string", "examples": ["+50us", "20%", "1.5x"]}


class LimitsSpec(Spec):
    """The limits that a quantity must keep: one, or one from below and one from above."""

    less_than: Limit | None = Field(
        None, alias="less-than", description="The quantity is smaller than this."
    )
    at_most: Limit | None = Field(
        None, alias="at-most", description="The quantity is this or smaller."
    )
    more_than: Limit | None = Field(
        None, alias="more-than", description="The quantity is larger than this."
    )
    at_least: Limit | None = Field(
        None, alias="at-least", description="The quantity is this or larger."
    )

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.less_than and self.at_most:
            raise ValueError("`less-than` and `at-most` exclude each other")
        if self.more_than and self.at_least:
            raise ValueError("`more-than` and `at-least` exclude each other")
        limits = self.limits
        if not limits:
            raise ValueError("a limit is missing: less-than, at-most, more-than or at-least")
        if len({limit.unit for limit in limits}) > 1:
            both = " and ".join(map(str, limits))
            raise ValueError(f"limits of one quantity have one unit; here are {both}")
        if self.lower and self.upper and self.lower.value >= self.upper.value:
            raise ValueError(f"nothing is above {self.lower} and below {self.upper}")
        return self

    @property
    def lower(self) -> Limit | None:
        """Return the limit from below."""
        return self.more_than or self.at_least

    @property
    def upper(self) -> Limit | None:
        """Return the limit from above."""
        return self.less_than or self.at_most

    @property
    def limits(self) -> list[Limit]:
        """Return the limits that are given."""
        return [limit for limit in (self.lower, self.upper) if limit is not None]

    @property
    def unit(self) -> Unit:
        """Return the unit of the limits."""
        return self.limits[0].unit


class PublishedSpec(Spec):
    """A number that others published, to stand next to what is measured here."""

    value: Limit = Field(description="The number, in the unit of the claim's limits.")
    source: str = Field(
        min_length=1, max_length=200, description="Where it stands: `Moy 1998, figure 3`."
    )


class ClaimSpec(Spec):
    """A claim of one's own: it holds, does not hold, is open or not testable here."""

    claim: Name = Field(description="The name of the claim.")
    text: str = Field("", max_length=300, description="The claim as a sentence, for reports.")
    of: Of = Field(
        description="The quantity: the RTT at a vantage point (`rtt.app`), the user RTT less the "
        "time in links with conditions, both ways (`rtt.without-links`), the time in a service, "
        "from a request at its socket to the answer (`rtt.service`), what a layer adds to it "
        "(`added.total`: user space less wire; where the sender's link has conditions, its delay "
        "on the way out is part of that), a one-way delay, or the share of packets `lost`. Of an "
        "event of a lab with routing daemons: the time until it was `detected` by an adjacency, "
        "until all tables had `converged` to what is right, and the longest `outage` (black hole "
        "or loop), one value for each trial."
    )
    event: int | None = Field(
        None,
        ge=1,
        description="For a quantity of events: the number of the event in the lab's timeline; "
        "left out, it is 1.",
    )
    group: dict[Name, LevelName] = Field(
        default_factory=dict,
        description="The levels of the trials that the claim is about, by factor. Trials that "
        "differ in other factors are scenarios of their own.",
    )
    against: dict[Name, LevelName] | None = Field(
        None,
        description="The levels of the trials to compare with, by factor; all other factors are "
        "alike. A limit in µs is then a difference, one in % a relative change, and one such as "
        "`1.5x` a ratio.",
    )
    median: LimitsSpec | None = Field(None, description="The limits of the median.")
    mean: LimitsSpec | None = Field(None, description="The limits of the mean.")
    p90: LimitsSpec | None = Field(None, description="The limits of the 90th percentile.")
    p99: LimitsSpec | None = Field(None, description="The limits of the 99th percentile.")
    share: LimitsSpec | None = Field(
        None, description="The limits of the share of packets lost; only with `of: lost`."
    )
    published: PublishedSpec | None = Field(
        None, description="The number that others published of this quantity, for reports."
    )
    scenarios: Literal["every", "most", "some"] = Field(
        "every", alias="in", description="The scenarios that must keep the limits."
    )

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        given = [name for name in STATISTICS if getattr(self, name) is not None]
        if len(given) != 1:
            said = " and ".join(given) or "none"
            raise ValueError(
                f"a claim has the limits of one of {', '.join(STATISTICS)}; here: {said}"
            )
        if (self.of == "lost") != (given == ["share"]):
            raise ValueError("`of: lost` takes `share`, and `share` takes `of: lost`")
        self._check_event(given[0])
        unit = self.limits.unit
        if self.published and self.published.value.unit != unit:
            raise ValueError(
                f"`published` is in the unit of the limits, such as {self.limits.limits[0]}; "
                f"here: {self.published.value}"
            )
        if self.against is None and unit != ("share" if self.of == "lost" else "µs"):
            want = "a share such as 1%" if self.of == "lost" else "a time such as 50us"
            raise ValueError(f"without `against`, a limit of {self.of} is {want}")
        if self.of == "lost" and unit == "µs":
            raise ValueError("a limit of `lost` is a share such as 1%, or a multiple such as 2x")
        return self

    def _check_event(self, statistic: str) -> None:
        if self.of not in OF_EVENTS:
            if self.event is not None:
                raise ValueError(f"only a claim of {', '.join(OF_EVENTS)} has `event`")
        elif statistic not in ("median", "mean"):
            raise ValueError(f"a claim of {self.of} has limits of median or mean: trials are few")

    @property
    def of_events(self) -> bool:
        """Return True for a quantity of events, and False for one of packets."""
        return self.of in OF_EVENTS

    @property
    def statistic(self) -> str:
        """Return the statistic that has limits: median, mean, p90, p99 or share."""
        return next(name for name in STATISTICS if getattr(self, name) is not None)

    @property
    def limits(self) -> LimitsSpec:
        """Return the limits of the statistic."""
        found: LimitsSpec = getattr(self, self.statistic)
        return found
