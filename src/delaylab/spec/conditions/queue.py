"""Condition `queue` of a link: the queue in which packets wait for the rate."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from delaylab.spec.base import Shorthand
from delaylab.spec.conditions import bounds, engine
from delaylab.spec.conditions.parts import Time, default_share, named_parts
from delaylab.units import Duration, Share, Size

Discipline = Literal["droptail", "codel", "red"]
FIELDS_OF_DISCIPLINES = {
    "target": "codel",
    "interval": "codel",
    "min": "red",
    "max": "red",
    "probability": "red",
    "weight": "red",
}


class QueueSpec(Shorthand):
    """The queue in which packets wait for the rate: its limit, and its drop discipline.

    With `sender`, packets wait at the sender's own interface, which is slowed down to the link's
    rate. A whole number alone is `packets`, a size alone `bytes`, and `sender` alone `held`.
    """

    MAIN: ClassVar[str] = "bytes"
    packets: int | None = Field(
        None, ge=1, le=10_000_000, description="The limit of the queue in packets."
    )
    bytes: Size | None = Field(None, description="The limit of the queue in bytes.")
    held: Literal["sender"] | None = Field(
        None,
        description="`sender`: packets wait at the sender's own interface, which holds back the "
        "program that sends, and the link drops none.",
    )
    discipline: Discipline = Field(
        "droptail", description="The rule by which the queue drops packets."
    )
    target: Time | None = Field(
        None,
        description="CoDel: the waiting time that is aimed at; left out, "
        f"{Duration(bounds.CODEL_TARGET_NS)}.",
    )
    interval: Time | None = Field(
        None,
        description="CoDel: how long packets may wait longer than `target` before drops begin; "
        f"left out, {Duration(bounds.CODEL_INTERVAL_NS)}.",
    )
    min: Size | None = Field(
        None, description="RED: the mean length of the queue from which on packets are dropped."
    )
    max: Size | None = Field(
        None, description="RED: the mean length from which on every packet is dropped."
    )
    probability: Share = Field(
        Share(Share.WHOLE // 10),
        description="RED: the share of packets that are dropped just below `max`.",
    )
    weight: Share = Field(
        default_share(engine.Red, "weight"),
        description="RED: the weight of the current length in the queue's mean length.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_main(cls, value: object) -> object:
        if isinstance(value, dict | cls):
            return value
        if value == "sender":
            return {"held": value}
        return {"packets" if isinstance(value, int) else cls.MAIN: value}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.held and len(self.model_fields_set) > 1:
            raise ValueError("`queue: sender` takes no other field: the queue is its interface's")
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
        return named_parts(
            engine.Queue,
            self,
            packets=("packets", self.packets),
            bytes=("bytes", self.bytes and self.bytes.bytes),
            held=("held", self.held),
            discipline=("discipline", self._discipline()),
        )

    def _discipline(self) -> engine.Discipline:
        if self.discipline == "codel":
            return named_parts(
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
                **({"weight": float(self.weight)} if "weight" in self.model_fields_set else {}),
            )
        return engine.DropTail(kind="droptail")
