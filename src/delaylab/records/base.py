"""What all records share: their fields' types, which hold also for records of strangers."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

LARGEST = 2**62
"""Of counts and of times in ns (the year 2116), so that differences are 64-bit numbers, too."""
MOST_TRIALS = 100_000
MOST_POINTS = 200
"""Points that a packet passes on one leg."""
MOST_LISTED = 10_000
"""Links, engines, hops, loads, warnings and the like of one trial."""


class Record(BaseModel):
    """Never changed once it is made. Fields that a later version wrote are passed over."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", populate_by_name=True, allow_inf_nan=False
    )


Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@+-]{0,99}$")]
"""A name of a node, host, link, kind or clock: it may become a part of a file's name."""
TrialId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.,:=@+ -]{0,240}$")]
"""A trial's id is the name of its directory: no slash, no dot in front."""
Point = Annotated[
    str,
    StringConstraints(
        pattern=r"^(wire|(sender|responder)\.(app|qdisc|stack|dom0|vif|uplink)"
        r"|hop[1-9][0-9]{0,3}\.(near|far))$"
    ),
]
"""A point of a packet's way (docs/architecture.md)."""
Text = Annotated[str, StringConstraints(max_length=20_000)]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Nanoseconds = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
Number = Annotated[float, Field(ge=-1e300, le=1e300)]
Chance = Annotated[float, Field(ge=0, le=1)]
