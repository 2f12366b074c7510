"""Factors whose levels are numbers: a setting, with a list or a range of its values.

Several settings may move together; the first one's values are then the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from delaylab.api.documents import sentences
from delaylab.api.models import Spec
from delaylab.api.units import Amount, amount_of, text_of

MOST_VALUES = 1000
DIGITS = 3
"""The significant digits of values within a range."""
Value = int | float | str


class RangeSpec(Spec):
    """A range of values, both ends included."""

    start: Value = Field(alias="from", description="The first value, such as `1ms` or 10.")
    end: Value = Field(alias="to", description="The last value, in the same unit.")
    steps: int = Field(
        ge=2,
        le=MOST_VALUES,
        description="The number of values. Those between the ends have three significant digits.",
    )
    scale: Literal["linear", "log"] = Field(
        "linear",
        description="`linear`: neighbours have the same difference; `log`: the same ratio.",
    )

    @property
    def values(self) -> list[Value]:
        """Return the values; raise ValueError if the ends do not fit together."""
        start, end = amount_of(str(self.start)), amount_of(str(self.end))
        if start is None or end is None or start.unit != end.unit:
            raise ValueError(f"{self.start} and {self.end} are not two numbers of one unit")
        if start.value == end.value:
            raise ValueError(f"a range from {self.start} to {self.end} has one value")
        if self.scale == "log" and min(start.value, end.value) <= 0:
            raise ValueError("a range on a `log` scale is above 0")
        return [self.start, *self._between(start, end), self.end]

    def _between(self, start: Amount, end: Amount) -> Iterator[Value]:
        for step in range(1, self.steps - 1):
            share = step / (self.steps - 1)
            if self.scale == "log":
                value = start.value * (end.value / start.value) ** share
            else:
                value = start.value + (end.value - start.value) * share
            yield text_of(Amount(float(f"{value:.{DIGITS}g}"), start.unit))


class SeriesSpec(Spec):
    """A factor whose levels are the values of one setting, or of several that move together."""

    set: str | list[str] = Field(
        description="The setting, as in a level: `links.wan.delay`; or several that move together."
    )
    values: list[Value | list[Value]] | None = Field(
        None,
        max_length=MOST_VALUES,
        description="Its values; with several settings a list for each level, `[1s, 4s]`, whose "
        "first value names the level and is its number on an axis.",
    )
    range: RangeSpec | None = Field(None, description="The range of the values of one setting.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.values is None) == (self.range is None):
            raise ValueError("a factor with `set` has `values` or `range`")
        several = isinstance(self.set, list)
        if several and not 2 <= len(set(self.set)) == len(self.set):
            raise ValueError("`set` is one setting, or a list of different ones")
        if several and self.range:
            raise ValueError("`range` is of one setting; several have `values`, a list each")
        for each in self.values or []:
            given = len(each) if isinstance(each, list) else None
            if given != (len(self.set) if several else None):
                wanted = f"a list of {len(self.set)} values" if several else "one value"
                raise ValueError(f"a level of `set` has {wanted}; here: {each}")
        return self

    @property
    def levels(self) -> dict[str, dict[str, object]]:
        """Return the factor's levels by name; raise ValueError if two have one name."""
        found: dict[str, dict[str, object]] = {}
        paths = self.set if isinstance(self.set, list) else [self.set]
        for given in self.range.values if self.range else self.values or []:
            values = given if isinstance(given, list) else [given]
            name = _name(values[0])
            if name in found:
                raise ValueError(f"two values are called {name!r}")
            found[name] = dict(zip(paths, values, strict=True))
        return found


def levels_of(factor: Any) -> Any:
    """Return the levels of a factor as a file has them, those of a series written out.

    Raise ValueError for an invalid series.
    """
    if not isinstance(factor, dict) or not isinstance(factor.get("set"), str | list):
        return factor
    try:
        return SeriesSpec.model_validate(factor).levels
    except ValidationError as error:
        (_, text), *_ = sentences(error, SeriesSpec, (), ())
        raise ValueError(text) from None


def _name(value: Value) -> str:
    """Return the name of a value's level: its text, as far as a file's name may have it."""
    text = format(Decimal(str(value)), "f") if isinstance(value, float) else str(value)
    return text.replace("µ", "u").replace("%", "pct").replace(" ", "")
