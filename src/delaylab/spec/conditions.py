"""Conditions of the frames that a link's member sends, as a lab file gives them. All are one way.

`ConditionsSpec.named()` converts the named fields to the link engine's form (`link_conditions`).
Fields that were left out have the engine's defaults, or stay as they are when conditions are
changed.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from delaylab.spec import link_conditions as engine
from delaylab.spec.base import FromFile, NoneRemoves, Shorthand, Spec, TracksNamedFields
from delaylab.spec.profiles import check_name
from delaylab.spec.trace import TraceSpec
from delaylab.units import Duration, Quantity, Rate, Share, Size

Shape = Literal["uniform", "normal", "pareto", "paretonormal"]
Discipline = Literal["droptail", "codel", "red"]
FIELDS_OF_DISCIPLINES = {
    "target": "codel",
    "interval": "codel",
    "min": "red",
    "max": "red",
    "probability": "red",
}
MOST_VALUES = 100_000
"""The most values of a distribution table in a file."""


def _at_most(most: Quantity) -> AfterValidator:
    def check(value: Quantity) -> Quantity:
        if value > most:
            raise ValueError(f"{value} is more than {most}")
        return value

    return AfterValidator(check)


def _less_than_all(share: Share) -> Share:
    if share.value == Share.WHOLE:
        raise ValueError("a correlation of 100% would repeat the first packet's fate for ever")
    return share


def _default(kind: type[engine.Part], name: str) -> Any:
    """Return the engine's default of a field."""
    return kind.model_fields[name].default


def _default_share(kind: type[engine.Part], name: str) -> Share:
    return Share.parse(_default(kind, name))


Time = Annotated[Duration, _at_most(Duration(engine.LONGEST_NS))]
Framing = Annotated[Size, _at_most(Size(engine.LARGEST_FRAMING))]
Correlation = Annotated[Share, AfterValidator(_less_than_all)]
Values = Annotated[list[engine.Value], Field(min_length=1, max_length=MOST_VALUES)]


class DistributionSpec(Shorthand):
    """The distribution of delays: a named shape, or a file's equally likely values in spreads."""

    MAIN: ClassVar[str] = "shape"
    shape: Shape | None = None
    table: Annotated[Values | None, FromFile] = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.shape is None) == (self.table is None):
            raise ValueError("a distribution is a name or a `table`")
        return self


class JitterSpec(Shorthand):
    """The variation of a one-way delay."""

    MAIN: ClassVar[str] = "spread"
    spread: Time = Field(description="of `uniform` the bound, of others the standard deviation")
    distribution: DistributionSpec = DistributionSpec.model_validate(
        _default(engine.Jitter, "distribution")
    )
    correlation: Correlation = _default_share(engine.Jitter, "correlation")

    def built(self) -> engine.Jitter:
        """Return the jitter in the link engine's form."""
        table = self.distribution.table
        shape = engine.Table(table=table) if table else self.distribution.shape
        return _named(
            engine.Jitter,
            self,
            spread=("spread_ns", self.spread.ns),
            distribution=("distribution", shape),
            correlation=("correlation", float(self.correlation)),
        )


class GilbertElliottSpec(TracksNamedFields):
    """Gilbert-Elliott loss: two states with a loss each, and the chances to change state."""

    to_bad: Share
    to_good: Share
    lost_in_bad: Share = _default_share(engine.GilbertElliott, "lost_in_bad")
    lost_in_good: Share = _default_share(engine.GilbertElliott, "lost_in_good")


class PatternSpec(Spec):
    """A repeated loss pattern: counts of packets kept, lost, kept, lost and so on."""

    runs: list[engine.Run] = Field(min_length=2, max_length=1_000_000)

    @model_validator(mode="after")
    def _can_be_repeated(self) -> Self:
        if len(self.runs) % 2 or not any(self.runs):
            raise ValueError("`runs` are pairs of counts, kept and lost, and not all 0")
        return self


class LossSpec(Shorthand):
    """The loss of packets: a share of them, bursts of two states, or a file's pattern."""

    MAIN: ClassVar[str] = "share"
    share: Share | None = None
    correlation: Correlation = _default_share(engine.Independent, "correlation")
    gilbert_elliott: GilbertElliottSpec | None = Field(None, alias="gilbert-elliott")
    pattern: Annotated[PatternSpec | None, FromFile] = None

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
            return _named(engine.GilbertElliott, states, "model", **shares)
        if self.pattern is not None:
            return engine.Pattern(model="pattern", runs=self.pattern.runs)
        return _named(
            engine.Independent,
            self,
            "model",
            share=("share", float(self.share or Share(0))),
            correlation=("correlation", float(self.correlation)),
        )


class ReorderSpec(Shorthand):
    """The packets that skip the delay and so overtake those that wait."""

    MAIN: ClassVar[str] = "share"
    share: Share
    correlation: Correlation = _default_share(engine.Reorder, "correlation")
    gap: engine.Gap = Field(
        _default(engine.Reorder, "gap"), description="so many after one that did are candidates"
    )

    def built(self) -> engine.Reorder:
        """Return the reordering in the link engine's form."""
        return _named(
            engine.Reorder,
            self,
            share=("share", float(self.share)),
            correlation=("correlation", float(self.correlation)),
            gap=("gap", self.gap),
        )


class RateSpec(Shorthand):
    """A rate in bits per second, and the framing that the link adds to each frame."""

    MAIN: ClassVar[str] = "limit"
    limit: Annotated[Rate, _at_most(Rate(engine.FASTEST_BPS))]
    overhead: Framing = Field(
        Size(engine.OVERHEAD_BYTES),
        description="added to each frame; Ethernet: preamble 8, check 4, gap 12",
    )
    minimum: Framing = Field(
        Size(engine.MINIMUM_BYTES), description="the least that a frame takes with it"
    )

    @model_validator(mode="after")
    def _more_than_nothing(self) -> Self:
        if self.limit.bps == 0:
            raise ValueError("a rate of 0 lets nothing pass; `loss: 100%` does the same")
        return self

    def built(self) -> engine.Rate:
        """Return the rate in the link engine's form."""
        return _named(
            engine.Rate,
            self,
            limit=("bps", self.limit.bps),
            overhead=("overhead_bytes", self.overhead.bytes),
            minimum=("minimum_bytes", self.minimum.bytes),
        )


class QueueSpec(Shorthand):
    """The queue that waits for the rate: its limit in packets or bytes, and its drop discipline.

    With `sender`, packets wait at the sender's own interface, which is slowed down to the link's
    rate.
    """

    MAIN: ClassVar[str] = "bytes"
    packets: int | None = Field(None, ge=1, le=10_000_000)
    bytes: Size | None = None
    held: Literal["sender"] | None = Field(
        None, description="at the sender's own interface, whose programs then wait"
    )
    discipline: Discipline = "droptail"
    target: Time | None = Field(
        None,
        description=f"CoDel: the wait that is aimed at; {Duration(engine.CODEL_TARGET_NS)}",
    )
    interval: Time | None = Field(
        None,
        description=f"CoDel: for how long more is accepted; {Duration(engine.CODEL_INTERVAL_NS)}",
    )
    min: Size | None = Field(None, description="RED: the mean queue where dropping begins")
    max: Size | None = Field(None, description="RED: the mean queue where all is dropped")
    probability: Share = Field(Share(Share.WHOLE // 10), description="RED: of a drop below `max`")

    @model_validator(mode="before")
    @classmethod
    def _from_main(cls, value: Any) -> Any:
        if isinstance(value, dict | cls):
            return value
        if value == "sender":
            return {"held": value}
        return {"packets" if isinstance(value, int) else cls.MAIN: value}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.held and len(self.model_fields_set) > 1:
            raise ValueError("a queue that the sender has is its interface's: say no more of it")
        if self.packets is not None and self.bytes is not None:
            raise ValueError("a queue is limited in `packets` or in `bytes`")
        if 0 in (value.value for value in (self.bytes, self.target, self.interval) if value):
            raise ValueError("a queue's bytes, its target and its interval are more than 0")
        for field, discipline in FIELDS_OF_DISCIPLINES.items():
            if field in self.model_fields_set and self.discipline != discipline:
                raise ValueError(f"`{field}` means nothing to {self.discipline!r}")
        if self.discipline == "red" and (self.min is None or self.max is None):
            raise ValueError("`red` needs `min` and `max`")
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise ValueError(f"`min` {self.min} is not below `max` {self.max}")
        return self

    def built(self) -> engine.Queue:
        """Return the queue in the link engine's form."""
        return _named(
            engine.Queue,
            self,
            packets=("packets", self.packets),
            bytes=("bytes", self.bytes and self.bytes.bytes),
            held=("held", self.held),
            discipline=("discipline", self._discipline()),
        )

    def _discipline(self) -> engine.Discipline:
        if self.discipline == "codel":
            return _named(
                engine.Codel,
                self,
                "kind",
                target=("target_ns", self.target and self.target.ns),
                interval=("interval_ns", self.interval and self.interval.ns),
            )
        if self.discipline == "red" and self.min is not None and self.max is not None:
            return engine.Red(
                kind="red",
                min_bytes=self.min.bytes,
                max_bytes=self.max.bytes,
                probability=float(self.probability),
            )
        return engine.DropTail(kind="droptail")


def _known(profile: str | None) -> str | None:
    if profile is not None:
        check_name(profile)
    return profile


class ConditionsSpec(TracksNamedFields):
    """The conditions of a link or of one direction; fields that are not named stay unchanged."""

    profile: Annotated[str | None, NoneRemoves, AfterValidator(_known)] = Field(
        None, description="conditions by name; what is named beside it counts more"
    )
    delay: Annotated[Time | None, NoneRemoves] = Field(None, description="one way")
    jitter: Annotated[JitterSpec | None, NoneRemoves] = None
    loss: Annotated[LossSpec | None, NoneRemoves] = None
    duplicate: Annotated[Share | None, NoneRemoves] = None
    corrupt: Annotated[Share | None, NoneRemoves] = Field(None, description="one bit flipped")
    reorder: Annotated[ReorderSpec | None, NoneRemoves] = None
    rate: Annotated[RateSpec | None, NoneRemoves] = None
    queue: Annotated[QueueSpec | None, NoneRemoves] = None
    trace: Annotated[TraceSpec | None, FromFile, NoneRemoves] = None

    @model_validator(mode="after")
    def _one_word_for_one_thing(self) -> Self:
        if self.trace is not None:
            same = self.trace.replaces
            if getattr(self, same) is not None:
                raise ValueError(f"`{same}` and a trace of it: leave one out")
        return self

    def named(self) -> engine.Conditions:
        """Return the named conditions in the link engine's form, None for one to remove."""
        named = {
            key: _built(getattr(self, field))
            for field, key in KEYS.items()
            if field in self.model_fields_set
        }
        return engine.made_of(engine.Conditions, named)


KEYS = {
    "delay": "delay_ns",
    **{name: name for name in ("jitter", "loss", "duplicate", "corrupt", "reorder")},
    **{name: name for name in ("rate", "queue", "trace")},
}
"""Field names of a lab file -> their names in the link engine's form."""


def _built(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, Duration):
        return value.ns
    return float(value) if isinstance(value, Share) else value.built()


def _named(
    kind: type[engine.Model], model: TracksNamedFields, *tags: str, **parts: tuple[str, Any]
) -> engine.Model:
    """Return the engine's form of those fields that the file names.

    `parts` maps a file's field to its name and value in the engine's form. `tags` are fields of the
    engine's form that are always named, such as the model of a loss.
    """
    named = {tag: kind.model_fields[tag].default for tag in tags}
    named |= {key: value for name, (key, value) in parts.items() if name in model.model_fields_set}
    return engine.made_of(kind, named)
