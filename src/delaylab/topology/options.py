"""The user's answers to questions that a source leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from delaylab.units import Duration

FIBRE = Duration(5_000)
"""The one-way delay of a kilometre of fibre, in which light is a third slower than in vacuum."""


class Costs(StrEnum):
    """The origin of links' costs."""

    SOURCE = "source"
    DELAY = "delay"
    HOPS = "hops"


class Shape(StrEnum):
    """The lab that a latency matrix becomes."""

    MESH = "mesh"
    STAR = "star"


class Coordinates(StrEnum):
    """The kinds of coordinates."""

    DEGREES = "degrees"
    PLANE = "plane"


@dataclass(frozen=True)
class Options:
    """The user's options of an import; None is what the source says, or the usual."""

    km_delay: Duration = FIBRE
    """The one-way delay of a kilometre."""
    delay_unit: Duration | None = None
    """The unit of delays that the source gives as bare numbers."""
    delay: Duration | None = None
    """The delay of links that have none."""
    rate: bool = False
    """Also enforce capacities as rates."""
    cost: Costs | None = None
    kind: str = "netns"
    one_way: bool | None = None
    """True if a latency matrix counts one-way delays, False if it counts round trips."""
    shape: Shape = Shape.MESH
    coordinates: Coordinates | None = None
