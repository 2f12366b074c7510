"""Types of the conditions configured for one direction of a link, as the link engine reads them.

The format is that of docs/protocol.md.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator

from delaylab.dataset.records.base import Chance, Count, Number, Record

Positive = Annotated[int, Field(gt=0, le=2**62)]
Correlation = Annotated[float, Field(ge=0, lt=1)]


class _Condition(Record):
    """Base of the types in this module; unknown keys are an error."""

    model_config = ConfigDict(extra="forbid")


class Table(_Condition):
    """Values of a delay distribution, in multiples of the jitter's spread."""

    table: list[Number] = Field(min_length=1)


class Jitter(_Condition):
    """Variation of the delay: its spread, distribution and correlation."""

    spread_ns: Count
    distribution: Literal["uniform", "normal", "pareto", "paretonormal"] | Table = "uniform"
    correlation: Correlation = 0.0


class Independent(_Condition):
    """Random loss of a share of the frames."""

    model: Literal["independent"]
    share: Chance
    correlation: Correlation = 0.0


class GilbertElliott(_Condition):
    """Loss by the Gilbert-Elliott model: a good and a bad state, each with a share of loss."""

    model: Literal["gilbert-elliott"]
    to_bad: Chance
    to_good: Chance
    lost_in_bad: Chance = 1.0
    lost_in_good: Chance = 0.0


class Pattern(_Condition):
    """Loss of frames in fixed runs: so many kept, so many lost, so many kept, …."""

    model: Literal["pattern"]
    runs: list[Annotated[int, Field(ge=0, lt=2**32)]] = Field(min_length=2)

    @model_validator(mode="after")
    def _of_packets(self) -> Pattern:
        if not any(self.runs):
            raise ValueError("the pattern has no packets")
        return self


Loss = Annotated[Independent | GilbertElliott | Pattern, Field(discriminator="model")]


class Reorder(_Condition):
    """Reordering: the share of frames that overtake others."""

    share: Chance
    correlation: Correlation = 0.0
    gap: Positive = 1


class Rate(_Condition):
    """Bandwidth limit in bit/s, and the framing overhead that counts towards it."""

    bps: Positive
    overhead_bytes: Count = 24
    minimum_bytes: Count = 84


class Discipline(_Condition):
    """Queue discipline: the rule by which a queue drops frames."""

    kind: Literal["droptail", "codel", "red"]
    target_ns: Count | None = None
    interval_ns: Count | None = None
    min_bytes: Count | None = None
    max_bytes: Count | None = None
    probability: Chance | None = None
    weight: Number | None = None


class Queue(_Condition):
    """Queue of frames before the bandwidth limit."""

    packets: Count | None = None
    bytes: Count | None = None
    held: Literal["link", "sender"] | None = None
    discipline: Discipline | None = None

    @model_validator(mode="after")
    def _of_something(self) -> Queue:
        if not self.model_fields_set:
            raise ValueError("the queue says nothing")
        return self


class Trace(_Condition):
    """Trace: a rate or a delay that changes over time."""

    kind: Literal["rate", "delay", "opportunities"]
    points: list[tuple[Count, Count]] = []
    at_ns: list[Count] = []
    period_ns: Count | None = None
    bytes: Count = 1504

    @model_validator(mode="after")
    def _of_some_length(self) -> Trace:
        if not (self.points or self.at_ns):
            raise ValueError("the trace is empty")
        return self


class Asked(_Condition):
    """Conditions configured for one direction of a link."""

    delay_ns: Count = 0
    jitter: Jitter | None = None
    loss: Loss | None = None
    duplicate: Chance = 0.0
    corrupt: Chance = 0.0
    reorder: Reorder | None = None
    rate: Rate | None = None
    queue: Queue | None = None
    trace: Trace | None = None


def check_asked(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the conditions unchanged; raise ValueError if they are invalid."""
    empty = next((key for key, value in _all(asked) if value is None and key != "period_ns"), None)
    if empty is not None:
        raise ValueError(f"{empty} is empty")
    try:
        Asked.model_validate(asked)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise ValueError(f"{field}: {first['msg']}") from None
    return asked


def _all(asked: dict[str, Any]) -> list[tuple[str, Any]]:
    inner = [pair for value in asked.values() if isinstance(value, dict) for pair in _all(value)]
    return [*asked.items(), *inner]
