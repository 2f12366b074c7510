"""Conditions of the frames that a link's member sends, as a lab file gives them. All are one way.

`ConditionsSpec.named()` converts the named fields to the link engine's form (`link_conditions`).
Fields that were left out have the engine's defaults, or stay as they are when conditions are
changed.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from delaylab.spec.base import FromFile, NoneRemoves, Shorthand, Spec, TracksNamedFields
from delaylab.spec.conditions import bounds, engine
from delaylab.spec.conditions.parts import (
    Correlation,
    Framing,
    Time,
    at_most,
    default_share,
    named_parts,
)
from delaylab.spec.conditions.profiles import check_name
from delaylab.spec.conditions.queue import QueueSpec
from delaylab.spec.conditions.trace import TraceSpec
from delaylab.units import Duration, Rate, Share, Size

Shape = Literal["uniform", "normal", "pareto", "paretonormal"]
MOST_VALUES = 100_000
"""The most values of a distribution table in a file."""


Values = Annotated[list[engine.Value], Field(min_length=1, max_length=MOST_VALUES)]


class DistributionSpec(Shorthand):
    """The distribution of delays: a named shape, or a file's equally likely values in spreads."""

    MAIN: ClassVar[str] = "shape"
    shape: Shape | None = Field(None, description="The name of a distribution.")
    table: Annotated[Values | None, FromFile] = Field(
        None,
        description="Equally likely values, in multiples of the spread; or the name of a file "
        "that holds them.",
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.shape is None) == (self.table is None):
            raise ValueError("a distribution is a name or a `table`")
        return self


def _some_time(time: Duration | None) -> Duration | None:
    if time is not None and not time.ns:
        raise ValueError("a half-life of 0 is no correlation: leave it out")
    return time


class JitterSpec(Shorthand):
    """The variation of a one-way delay."""

    MAIN: ClassVar[str] = "spread"
    spread: Time = Field(
        description="The width of the distribution: of `uniform` the largest deviation, of the "
        "others the standard deviation, of a table its unit."
    )
    distribution: DistributionSpec = Field(
        DistributionSpec.model_validate(engine.Jitter.model_fields["distribution"].default),
        description="The distribution of the jitter.",
    )
    correlation: Correlation = Field(
        default_share(engine.Jitter, "correlation"),
        description="The rank correlation of the jitter of successive packets.",
    )
    half_life: Annotated[Time | None, AfterValidator(_some_time)] = Field(
        None,
        description="The time after which the correlation of the jitter has halved, at any rate of "
        "packets; in place of `correlation`. Packets stay in order.",
    )

    @model_validator(mode="after")
    def _one_correlation(self) -> Self:
        if self.half_life is not None and self.correlation.value:
            raise ValueError("`correlation` is of packets, `half_life` of time: leave one out")
        return self

    def built(self) -> engine.Jitter:
        """Return the jitter in the link engine's form."""
        table = self.distribution.table
        shape = engine.Table(table=table) if table else self.distribution.shape
        return named_parts(
            engine.Jitter,
            self,
            spread=("spread_ns", self.spread.ns),
            distribution=("distribution", shape),
            correlation=("correlation", float(self.correlation)),
            half_life=("half_life_ns", None if self.half_life is None else self.half_life.ns),
        )


class GilbertElliottSpec(TracksNamedFields):
    """Gilbert-Elliott loss: two states with a loss each, and the chances to change state."""

    to_bad: Share = Field(
        description="The probability of changing from the good to the bad state, per packet."
    )
    to_good: Share = Field(
        description="The probability of changing from the bad to the good state, per packet."
    )
    lost_in_bad: Share = Field(
        default_share(engine.GilbertElliott, "lost_in_bad"),
        description="The share of packets lost in the bad state.",
    )
    lost_in_good: Share = Field(
        default_share(engine.GilbertElliott, "lost_in_good"),
        description="The share of packets lost in the good state.",
    )


class PatternSpec(Spec):
    """A repeated loss pattern: counts of packets kept, lost, kept, lost and so on."""

    runs: list[engine.Run] = Field(
        min_length=2,
        max_length=1_000_000,
        description="Numbers of packets that are kept, lost, kept, lost and so on, repeated.",
    )

    @model_validator(mode="after")
    def _can_be_repeated(self) -> Self:
        if len(self.runs) % 2 or not any(self.runs):
            raise ValueError("`runs` are pairs of counts, kept and lost, and not all 0")
        return self


class LossSpec(Shorthand):
    """The loss of packets: a share of them, bursts of two states, or a file's pattern."""

    MAIN: ClassVar[str] = "share"
    share: Share | None = Field(None, description="The share of packets that are lost at random.")
    correlation: Correlation = Field(
        default_share(engine.Independent, "correlation"),
        description="The correlation of the losses of successive packets.",
    )
    gilbert_elliott: GilbertElliottSpec | None = Field(
        None, alias="gilbert-elliott", description="Loss in bursts, by the Gilbert-Elliott model."
    )
    pattern: Annotated[PatternSpec | None, FromFile] = Field(
        None, description="A fixed pattern of losses: the name of a file, or its content."
    )

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        models = (self.share, self.gilbert_elliott, self.pattern)
        if sum(model is not None for model in models) != 1:
            raise ValueError("a loss is one of `share`, `gilbert-elliott` and `pattern`")
        if self.correlation.value and self.share is None:
            raise ValueError("`correlation` is for a loss by `share`")
        return self

    def built(self) -> engine.Loss:
        """Return the loss in the link engine's form."""
        if self.gilbert_elliott is not None:
            states = self.gilbert_elliott
            shares = {name: (name, float(share)) for name, share in states}
            return named_parts(engine.GilbertElliott, states, "model", **shares)
        if self.pattern is not None:
            return engine.Pattern(model="pattern", runs=self.pattern.runs)
        return named_parts(
            engine.Independent,
            self,
            "model",
            share=("share", float(self.share or Share(0))),
            correlation=("correlation", float(self.correlation)),
        )


class ReorderSpec(Shorthand):
    """The packets that skip the delay and so overtake those that wait."""

    MAIN: ClassVar[str] = "share"
    share: Share = Field(
        description="The share of packets that skip delay and jitter, and so overtake others."
    )
    correlation: Correlation = Field(
        default_share(engine.Reorder, "correlation"),
        description="The correlation of successive packets in overtaking or not.",
    )
    gap: engine.Gap = Field(
        engine.Reorder.model_fields["gap"].default,
        description="The smallest distance of two overtaking packets, in packets: with 5, at most "
        "every fifth packet overtakes.",
    )

    def built(self) -> engine.Reorder:
        """Return the reordering in the link engine's form."""
        return named_parts(
            engine.Reorder,
            self,
            share=("share", float(self.share)),
            correlation=("correlation", float(self.correlation)),
            gap=("gap", self.gap),
        )


class RateSpec(Shorthand):
    """A rate in bits per second, and the framing that the link adds to each frame."""

    MAIN: ClassVar[str] = "limit"
    limit: Annotated[Rate, at_most(Rate(bounds.FASTEST_BPS))] = Field(
        description="The rate of the link, which the framing of each frame uses up as well."
    )
    overhead: Framing = Field(
        Size(bounds.OVERHEAD_BYTES),
        description="The framing that is added to each frame. Ethernet's is 24 bytes: preamble 8, "
        "check sequence 4, gap 12.",
    )
    minimum: Framing = Field(
        Size(bounds.MINIMUM_BYTES),
        description="The smallest size that a frame counts with, framing included. Ethernet's is "
        "84 bytes.",
    )
    refills: engine.Refills | None = Field(
        None,
        description="Shape by a budget of bytes that is set anew so many times per second, as V-eM "
        "does (100): packets pass at once while a byte is left, others wait for the next budget. "
        "Left out, each packet takes its own time.",
    )

    @model_validator(mode="after")
    def _more_than_nothing(self) -> Self:
        if self.limit.bps == 0:
            raise ValueError("a rate of 0 lets nothing pass; `loss: 100%` does the same")
        return self

    def built(self) -> engine.Rate:
        """Return the rate in the link engine's form."""
        return named_parts(
            engine.Rate,
            self,
            limit=("bps", self.limit.bps),
            overhead=("overhead_bytes", self.overhead.bytes),
            minimum=("minimum_bytes", self.minimum.bytes),
            refills=("refills", self.refills),
        )


def _known(profile: str | None) -> str | None:
    if profile is not None:
        check_name(profile)
    return profile


class ConditionsSpec(TracksNamedFields):
    """The conditions of a link or of one direction; fields that are not named stay unchanged."""

    profile: Annotated[str | None, NoneRemoves, AfterValidator(_known)] = Field(
        None,
        description="The name of a set of conditions, such as `lte`; conditions given with "
        "it take precedence.",
    )
    delay: Annotated[Time | None, NoneRemoves] = Field(
        None, description="The one-way delay that every packet gets."
    )
    jitter: Annotated[JitterSpec | None, NoneRemoves] = Field(
        None, description="The random variation of the one-way delay."
    )
    loss: Annotated[LossSpec | None, NoneRemoves] = Field(
        None, description="The packets that are lost, by chance or by a pattern."
    )
    duplicate: Annotated[Share | None, NoneRemoves] = Field(
        None, description="The share of packets that arrive twice."
    )
    corrupt: Annotated[Share | None, NoneRemoves] = Field(
        None, description="The share of packets in which one bit is flipped."
    )
    reorder: Annotated[ReorderSpec | None, NoneRemoves] = Field(
        None, description="The packets that overtake others."
    )
    rate: Annotated[RateSpec | None, NoneRemoves] = Field(
        None, description="The bit rate of the link, framing included."
    )
    queue: Annotated[QueueSpec | None, NoneRemoves] = Field(
        None, description="The queue in which packets wait for the rate."
    )
    trace: Annotated[TraceSpec | None, FromFile, NoneRemoves] = Field(
        None, description="A file with the rate or the delay over time."
    )

    state: Annotated[engine.LinkState | None, NoneRemoves] = Field(
        None,
        description="`down`: the end of each sender has no carrier, and nothing passes. `silent`: "
        "what is sent vanishes, and the carrier stays. `up` ends both; a link that has only this "
        "can be set down later.",
    )

    @model_validator(mode="after")
    def _one_word_for_one_thing(self) -> Self:
        if self.trace is not None:
            same = self.trace.replaces
            if getattr(self, same) is not None:
                raise ValueError(f"`{same}` and a trace of it: leave one out")
        return self

    def says_conditions(self) -> bool:
        """Return True if a condition or a profile is named."""
        return not _CONDITIONS.isdisjoint(self.model_fields_set)

    def named(self) -> engine.Conditions:
        """Return the named conditions in the link engine's form, None for one to remove."""
        if not self.says_conditions():
            return engine.NOTHING
        named = {
            key: _built(self, field)
            for field, key in KEYS.items()
            if field in self.model_fields_set
        }
        return engine.made_of(engine.Conditions, named)


KEYS = {
    "delay": "delay_ns",
    **{name: name for name in ("jitter", "loss", "duplicate", "corrupt", "reorder")},
    **{name: name for name in ("rate", "queue", "trace", "state")},
}
"""Field names of a lab file -> their names in the link engine's form."""
UP = "up"
"""The state of a link that nothing has set down; the engine's default."""
_CONDITIONS = frozenset({"profile", *KEYS})


def _built(conditions: ConditionsSpec, field: str) -> object:
    value = getattr(conditions, field)
    if value is None or value == UP:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, Duration):
        return value.ns
    return float(value) if isinstance(value, Share) else value.built()
