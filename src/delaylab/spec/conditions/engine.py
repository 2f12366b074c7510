"""The conditions of one direction of a link, in the link engine's form (docs/protocol.md).

The same types are used from the plan to the dataset. Their meaning is defined once, by the link
engine (`crates/link`): a field that is left out is not configured, and has the engine's default. As
a change, fields that are left out stay as they are, and None removes one.

Bounds and defaults are the engine's, as its agent states them (`bounds.py`). The cases in
`crates/link/tests/cases` hold both sides to the same conditions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeVar, cast

from pydantic import ConfigDict, Field, model_validator

from delaylab.io.values import JsonObject
from delaylab.spec.base import TracksNamedFields, no_items
from delaylab.spec.conditions.bounds import (
    CODEL_INTERVAL_NS,
    CODEL_TARGET_NS,
    FARTHEST,
    FASTEST_BPS,
    LARGEST_FRAMING,
    LONGEST_NS,
    LONGEST_TRACE_NS,
    MINIMUM_BYTES,
    MOST_REFILLS,
    OPPORTUNITY_BYTES,
    OVERHEAD_BYTES,
    RED_WEIGHT,
)

END_OF_COUNTS = 2**32
"""The bound, itself left out, of a gap between overtaking frames and of a loss pattern's runs."""
MOST_OPPORTUNITY_BYTES = 2**32 - 1
MOST_WAITING = 2**64 - 1
"""The largest limit of a queue, in packets or in bytes."""

Time = Annotated[int, Field(ge=0, le=LONGEST_NS)]
PositiveTime = Annotated[int, Field(gt=0, le=LONGEST_NS)]
TraceTime = Annotated[int, Field(ge=0, le=LONGEST_TRACE_NS)]
Period = Annotated[int, Field(gt=0, le=LONGEST_TRACE_NS)]
Framing = Annotated[int, Field(ge=0, le=LARGEST_FRAMING)]
Waiting = Annotated[int, Field(ge=0, le=MOST_WAITING)]
Refills = Annotated[int, Field(ge=1, le=MOST_REFILLS)]
Route = Annotated[int, Field(ge=0, lt=END_OF_COUNTS)]
Value = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST)]
Run = Annotated[int, Field(ge=0, lt=END_OF_COUNTS)]
Gap = Annotated[int, Field(ge=1, lt=END_OF_COUNTS)]
Probability = Annotated[float, Field(ge=0, le=1)]
Correlation = Annotated[float, Field(ge=0, lt=1)]


class EngineForm(TracksNamedFields):
    """The base of the types in this module."""

    model_config = ConfigDict(allow_inf_nan=False, defer_build=True)

    @model_validator(mode="after")
    def _with_tag(self) -> Self:
        """Name the field that tells what the part is, as the engine wants it in any case."""
        fields = type(self).__pydantic_fields__
        self.__pydantic_fields_set__.update(tag for tag in ("model", "kind") if tag in fields)
        return self

    @property
    def named(self) -> dict[str, object]:
        """Return the fields that are named and their values, None for one to remove."""
        said = self.model_fields_set
        return {
            name: getattr(self, name) for name in type(self).__pydantic_fields__ if name in said
        }


class Table(EngineForm):
    """Equally likely values of a delay distribution, in multiples of the jitter's spread."""

    table: list[Value] = Field(min_length=1)


class Jitter(EngineForm):
    """The variation of the delay: its spread, distribution and correlation.

    The correlation is that of successive frames, or one over time, by its half-life.
    """

    spread_ns: Time
    distribution: Literal["uniform", "normal", "pareto", "paretonormal"] | Table = "uniform"
    correlation: Correlation = 0.0
    half_life_ns: PositiveTime | None = None


class Independent(EngineForm):
    """Random loss of a share of the frames."""

    model: Literal["independent"] = "independent"
    share: Probability
    correlation: Correlation = 0.0


class GilbertElliott(EngineForm):
    """Loss by the Gilbert-Elliott model: a good and a bad state, each with a share of loss."""

    model: Literal["gilbert-elliott"] = "gilbert-elliott"
    to_bad: Probability
    to_good: Probability
    lost_in_bad: Probability = 1.0
    lost_in_good: Probability = 0.0


class Pattern(EngineForm):
    """Loss of frames in fixed runs: so many kept, so many lost, so many kept, …."""

    model: Literal["pattern"] = "pattern"
    runs: list[Run] = Field(min_length=2)

    @model_validator(mode="after")
    def _of_packets(self) -> Pattern:
        if not any(self.runs):
            raise ValueError("the pattern has no packets")
        if len(self.runs) % 2:
            raise ValueError("the pattern's runs are not pairs, kept and lost")
        return self


Loss = Annotated[Independent | GilbertElliott | Pattern, Field(discriminator="model")]


class Reorder(EngineForm):
    """Reordering: the share of frames that overtake others."""

    share: Probability
    correlation: Correlation = 0.0
    gap: Gap = 1


class Rate(EngineForm):
    """A bandwidth limit in bit/s, and the framing that counts towards it.

    With `refills` it is a budget of bytes that is set anew so often per second.
    """

    bps: Annotated[int, Field(gt=0, le=FASTEST_BPS)]
    overhead_bytes: Framing = OVERHEAD_BYTES
    minimum_bytes: Framing = MINIMUM_BYTES
    refills: Refills | None = None


class DropTail(EngineForm):
    """A queue that drops frames which find it full."""

    kind: Literal["droptail"] = "droptail"


class Codel(EngineForm):
    """Controlled delay (RFC 8289)."""

    kind: Literal["codel"] = "codel"
    target_ns: PositiveTime = CODEL_TARGET_NS
    interval_ns: PositiveTime = CODEL_INTERVAL_NS


class Red(EngineForm):
    """Random early detection (Floyd and Jacobson 1993)."""

    kind: Literal["red"] = "red"
    min_bytes: Waiting
    max_bytes: Waiting
    probability: Probability
    weight: Probability = RED_WEIGHT


Discipline = Annotated[DropTail | Codel | Red, Field(discriminator="kind")]


class Queue(EngineForm):
    """The queue of frames before the bandwidth limit: in packets, in bytes, or at the sender."""

    packets: Waiting | None = None
    bytes: Waiting | None = None
    held: Literal["link", "sender"] | None = None
    discipline: Discipline | None = None

    @model_validator(mode="after")
    def _of_something(self) -> Queue:
        if not self.model_fields_set:
            raise ValueError("the queue says nothing")
        return self


class RateTrace(EngineForm):
    """A rate over time: pairs of a time in ns and the rate in bit/s from then on."""

    kind: Literal["rate"] = "rate"
    points: list[tuple[TraceTime, Annotated[int, Field(ge=0, le=FASTEST_BPS)]]] = Field(
        min_length=1
    )
    period_ns: Period | None = None


class DelayTrace(EngineForm):
    """A one-way delay over time: pairs of a time and the delay from then on, both in ns.

    `routes` has the route from each point on: frames of two routes may overtake each other.
    """

    kind: Literal["delay"] = "delay"
    points: list[tuple[TraceTime, Time]] = Field(min_length=1)
    routes: list[Route] = Field(default_factory=no_items)
    period_ns: Period | None = None


class Opportunities(EngineForm):
    """The times in ns at which so many bytes may leave, as in mahimahi's files."""

    kind: Literal["opportunities"] = "opportunities"
    at_ns: list[TraceTime] = Field(min_length=1)
    bytes: Annotated[int, Field(gt=0, le=MOST_OPPORTUNITY_BYTES)] = OPPORTUNITY_BYTES
    period_ns: Period


Trace = Annotated[RateTrace | DelayTrace | Opportunities, Field(discriminator="kind")]


LinkState = Literal["up", "down", "silent"]
"""The state of a sender's end of a link: `down` has no carrier, `silent` loses what it sends."""


class Conditions(EngineForm):
    """The conditions of one direction of a link, or a change of them. All are one way."""

    delay_ns: Time | None = None
    jitter: Jitter | None = None
    loss: Loss | None = None
    duplicate: Probability | None = None
    corrupt: Probability | None = None
    reorder: Reorder | None = None
    rate: Rate | None = None
    queue: Queue | None = None
    trace: Trace | None = None
    state: LinkState | None = None

    def message(self) -> JsonObject:
        """Return the conditions as JSON values, as the link engine reads and writes them."""
        return self.model_dump(mode="json")

    def __bool__(self) -> bool:
        """Return True if any field is named."""
        return bool(self.model_fields_set)


Model = TypeVar("Model", bound=EngineForm)


def made_of(kind: type[Model], named: Mapping[str, object]) -> Model:
    """Return a model of values that are valid already; fields that are not named stay unnamed."""
    return cast(Model, kind.model_construct(_fields_set=set(named), **named))


# Made without a check, which would need the schemas of all types above: 15 ms for every lab.
NOTHING = made_of(Conditions, {})
"""No conditions; as a change, none."""


def check_configured(conditions: Conditions) -> None:
    """Raise ValueError if the conditions hold None, which only a change may."""
    for name, value in conditions.named.items():
        empty = [name] if value is None else _empty(value)
        if empty:
            raise ValueError(f"{empty[0]} is empty")


def _empty(value: object) -> list[str]:
    if not isinstance(value, EngineForm):
        return []
    named = [(name, part) for name, part in value if name in value.model_fields_set]
    inner = [name for name, part in named if part is None and name != "period_ns"]
    return inner + [name for _, part in named for name in _empty(part)]
