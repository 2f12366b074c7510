"""What a link does to what one of its members sends, as a file says it. All of it is one way."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from delaylab.spec.base import FromFile, Removable, Short, Spec
from delaylab.spec.profiles import check_name
from delaylab.spec.trace import TraceSpec
from delaylab.units import Duration, Rate, Share, Size

ETHERNET_OVERHEAD = Size(24)
"""Preamble 8, frame check sequence 4, gap 12: what a frame takes on Ethernet beside itself."""
ETHERNET_MINIMUM = Size(84)
"""The shortest frame with them: 64 bytes with its check sequence, and 20 around it."""
Shape = Literal["uniform", "normal", "pareto", "paretonormal"]
Discipline = Literal["droptail", "codel", "red"]
FIELDS_OF_DISCIPLINES = {
    "target": "codel",
    "interval": "codel",
    "min": "red",
    "max": "red",
    "probability": "red",
}


class DistributionSpec(Short):
    """How delays spread: a shape, or a file's values in spreads, each as likely as the others."""

    MAIN: ClassVar[str] = "shape"
    shape: Shape | None = None
    table: Annotated[list[float] | None, Field(min_length=2, max_length=100_000), FromFile] = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.shape is None) == (self.table is None):
            raise ValueError("a distribution is a name or a `table`")
        return self


class JitterSpec(Short):
    """By how much delays differ."""

    MAIN: ClassVar[str] = "spread"
    spread: Duration = Field(description="of `uniform` the bound, of `normal` the deviation")
    distribution: DistributionSpec = DistributionSpec.model_validate("uniform")
    correlation: Share = Share(0)

    def message(self) -> dict[str, Any]:
        """In the form that the link engine reads."""
        shape = self.distribution
        return {
            "spread_ns": self.spread.ns,
            "distribution": shape.shape or {"table": shape.table},
            "correlation": float(self.correlation),
        }


class GilbertElliottSpec(Spec):
    """Two states with a loss of their own, and the shares of packets that change them."""

    to_bad: Share
    to_good: Share
    lost_in_bad: Share = Share(Share.WHOLE)
    lost_in_good: Share = Share(0)


class PatternSpec(Spec):
    """How many packets are kept, lost, kept, lost …; then from the start again."""

    runs: list[Annotated[int, Field(ge=0)]] = Field(min_length=2, max_length=1_000_000)


class LossSpec(Short):
    """Which packets are lost: a share of them, bursts of two states, or a file's pattern."""

    MAIN: ClassVar[str] = "share"
    share: Share | None = None
    correlation: Share | None = None
    gilbert_elliott: GilbertElliottSpec | None = Field(None, alias="gilbert-elliott")
    pattern: Annotated[PatternSpec | None, FromFile] = None

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        models = (self.share, self.gilbert_elliott, self.pattern)
        if sum(model is not None for model in models) != 1:
            raise ValueError("a loss is one of `share`, `gilbert-elliott` and `pattern`")
        if self.correlation is not None and self.share is None:
            raise ValueError("`correlation` is for a loss by `share`")
        return self

    def message(self) -> dict[str, Any]:
        """In the form that the link engine reads."""
        if self.gilbert_elliott is not None:
            shares = {name: float(share) for name, share in self.gilbert_elliott}
            return {"model": "gilbert-elliott", **shares}
        if self.pattern is not None:
            return {"model": "pattern", "runs": self.pattern.runs}
        assert self.share is not None
        correlation = float(self.correlation or 0)
        return {"model": "independent", "share": float(self.share), "correlation": correlation}


class ReorderSpec(Short):
    """Which packets go without the delay, past those that wait: every `gap`-th, by a share."""

    MAIN: ClassVar[str] = "share"
    share: Share
    correlation: Share = Share(0)
    gap: int = Field(1, ge=1, le=1_000_000)

    def message(self) -> dict[str, Any]:
        """In the form that the link engine reads."""
        correlation = float(self.correlation)
        return {"share": float(self.share), "correlation": correlation, "gap": self.gap}


class RateSpec(Short):
    """Bits per second, with what the link's framing adds to each frame."""

    MAIN: ClassVar[str] = "limit"
    limit: Rate
    overhead: Size = Field(ETHERNET_OVERHEAD, description="added to each frame")
    minimum: Size = Field(ETHERNET_MINIMUM, description="what a frame takes at least")

    @model_validator(mode="after")
    def _more_than_nothing(self) -> Self:
        if self.limit.bps == 0:
            raise ValueError("a rate of 0 lets nothing pass; `loss: 100%` does the same")
        return self

    def message(self) -> dict[str, Any]:
        """In the form that the link engine reads."""
        framing = {"overhead_bytes": self.overhead.bytes, "minimum_bytes": self.minimum.bytes}
        return {"bps": self.limit.bps, **framing}


class QueueSpec(Short):
    """What may wait for the rate, in packets or in bytes, and who is dropped."""

    MAIN: ClassVar[str] = "bytes"
    packets: int | None = Field(None, ge=1, le=10_000_000)
    bytes: Size | None = None
    discipline: Discipline = "droptail"
    target: Duration | None = Field(None, description="CoDel: the wait that is aimed at")
    interval: Duration | None = Field(None, description="CoDel: for how long it may be missed")
    min: Size | None = Field(None, description="RED: the mean queue where dropping begins")
    max: Size | None = Field(None, description="RED: the mean queue where all is dropped")
    probability: Share | None = Field(None, description="RED: of a drop just below `max`")

    @model_validator(mode="before")
    @classmethod
    def _from_main(cls, value: Any) -> Any:
        if isinstance(value, dict | cls):
            return value
        return {"packets" if isinstance(value, int) else cls.MAIN: value}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.packets is not None and self.bytes is not None:
            raise ValueError("a queue is limited in `packets` or in `bytes`")
        if self.bytes is not None and self.bytes.bytes == 0:
            raise ValueError("a queue of 0 bytes keeps nothing")
        for field, discipline in FIELDS_OF_DISCIPLINES.items():
            if getattr(self, field) is not None and self.discipline != discipline:
                raise ValueError(f"`{field}` means nothing to {self.discipline!r}")
        if self.discipline == "red" and (self.min is None or self.max is None):
            raise ValueError("`red` needs `min` and `max`")
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise ValueError(f"`min` {self.min} is not below `max` {self.max}")
        return self

    def message(self) -> dict[str, Any]:
        """In the form that the link engine reads."""
        limits = {"packets": self.packets, "bytes": self.bytes and self.bytes.bytes}
        return {k: v for k, v in limits.items() if v is not None} | {"discipline": self._kind()}

    def _kind(self) -> dict[str, Any]:
        if self.discipline == "codel":
            target, interval = self.target or Duration(5_000_000), self.interval
            interval_ns = interval.ns if interval else 100_000_000
            return {"kind": "codel", "target_ns": target.ns, "interval_ns": interval_ns}
        if self.min is not None and self.max is not None:
            probability = float(self.probability or Share(Share.WHOLE // 10))
            sizes = {"min_bytes": self.min.bytes, "max_bytes": self.max.bytes}
            return {"kind": "red", **sizes, "probability": probability}
        return {"kind": "droptail"}


def _known(profile: str | None) -> str | None:
    if profile is not None:
        check_name(profile)
    return profile


class ConditionsSpec(Spec):
    """Conditions; those that are not named stay as they are elsewhere."""

    profile: Annotated[str | None, Removable, AfterValidator(_known)] = Field(
        None, description="conditions by name; what is named beside it counts more"
    )
    delay: Annotated[Duration | None, Removable] = Field(None, description="one way")
    jitter: Annotated[JitterSpec | None, Removable] = None
    loss: Annotated[LossSpec | None, Removable] = None
    duplicate: Annotated[Share | None, Removable] = None
    corrupt: Annotated[Share | None, Removable] = Field(None, description="one bit flipped")
    reorder: Annotated[ReorderSpec | None, Removable] = None
    rate: Annotated[RateSpec | None, Removable] = None
    queue: Annotated[QueueSpec | None, Removable] = None
    trace: Annotated[TraceSpec | None, FromFile, Removable] = None

    @model_validator(mode="after")
    def _one_word_for_one_thing(self) -> Self:
        if self.trace is not None:
            same = self.trace.replaces
            if getattr(self, same) is not None:
                raise ValueError(f"`{same}` and a trace of it: leave one out")
        return self

    @model_serializer(mode="wrap")
    def _only_what_is_named(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is not named: None is what takes a condition away."""
        whole: dict[str, Any] = handler(self)
        unnamed = ConditionsSpec.model_fields.keys() - self.model_fields_set
        return {name: value for name, value in whole.items() if name not in unnamed}

    def named(self) -> dict[str, Any]:
        """What is named, in the form that the link engine reads; None: to be taken away."""
        return {
            key: value
            for field, key in KEYS.items()
            if field in self.model_fields_set
            for value in [_message(getattr(self, field))]
        }


KEYS = {
    "delay": "delay_ns",
    **{name: name for name in ("jitter", "loss", "duplicate", "corrupt", "reorder")},
    **{name: name for name in ("rate", "queue", "trace")},
}
"""Fields of a file and their names in the link engine's form."""


def _message(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, Duration):
        return value.ns
    return float(value) if isinstance(value, Share) else value.message()
