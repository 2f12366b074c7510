"""The place of a node: on the earth or on a plane, for drawings and for delays of distance."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from delaylab.spec.base import Spec

FARTHEST = 1e9
"""The largest coordinate on a plane."""


class PlaceSpec(Spec):
    """The place of a node: `longitude` and `latitude` in degrees, or `x` and `y` on a plane."""

    longitude: float | None = Field(
        None, ge=-180, le=180, allow_inf_nan=False, description="Degrees east of Greenwich."
    )
    latitude: float | None = Field(
        None, ge=-90, le=90, allow_inf_nan=False, description="Degrees north of the equator."
    )
    x: float | None = Field(
        None,
        ge=-FARTHEST,
        le=FARTHEST,
        allow_inf_nan=False,
        description="The distance to the right, in any unit.",
    )
    y: float | None = Field(
        None,
        ge=-FARTHEST,
        le=FARTHEST,
        allow_inf_nan=False,
        description="The distance downwards, in the same unit.",
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        given = {name for name in type(self).model_fields if getattr(self, name) is not None}
        if given not in ({"longitude", "latitude"}, {"x", "y"}):
            raise ValueError("a place is `longitude` and `latitude`, or `x` and `y`")
        return self
