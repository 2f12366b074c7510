"""Base class and field types of all records; they also validate records from untrusted sources."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from delaylab.points import PATTERN

LARGEST = 2**62
"""Largest count, and largest time in ns (the year 2116): the difference of two fits into 64
bits."""
LOCAL_NAME = "local"
"""The name of the machine on which the command ran. It is the only one of earlier versions."""
LONGEST_NAME = 100
"""The most characters of a name in a table."""
MOST_TRIALS = 100_000
MOST_POINTS = 200
"""Largest number of points that a packet passes on one leg."""
MOST_LISTED = 10_000
"""Largest number of links, engines, hops, loads or warnings in one trial."""


Item = TypeVar("Item")


class Record(BaseModel):
    """The immutable base of all records. Unknown fields, as of later versions, are ignored."""

    model_config = ConfigDict(
        defer_build=True, frozen=True, extra="ignore", populate_by_name=True, allow_inf_nan=False
    )

    def complete(self, **fields: object) -> None:
        """Set fields, unchecked, of a record that was just read and that nobody else has yet.

        Copies of a large lab's directions took a twentieth of the CPU time of `ps`.
        """
        self.__dict__.update(fields)
        self.__pydantic_fields_set__.update(fields)


Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@+-]{0,99}$")]
"""Name of a node, host, link, kind or clock; safe as part of a file name."""
TrialId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.,:=@+ -]{0,240}$")]
"""Id of a trial, which is also the name of its directory: no slash, no leading dot."""
Point = Annotated[
    str,
    StringConstraints(pattern=PATTERN),
]
"""Point on a packet's way, as in the catalogue (`delaylab/points.py`)."""
Listed = Annotated[list[Item], Field(max_length=MOST_LISTED)]
Points = Annotated[list[Point], Field(max_length=MOST_POINTS)]
Text = Annotated[str, StringConstraints(max_length=20_000)]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Difference = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
"""Difference of two readings of a counter."""
Nanoseconds = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
Number = Annotated[float, Field(ge=-1e300, le=1e300)]
Chance = Annotated[float, Field(ge=0, le=1)]
