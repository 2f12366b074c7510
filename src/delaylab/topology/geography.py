"""Delays of distances: on the earth along a great circle, at a set delay for each kilometre."""

from __future__ import annotations

from math import asin, cos, radians, sin, sqrt

from delaylab.topology.model import Position
from delaylab.units import Duration

EARTH_KM = 6371.0
"""The mean radius of the earth."""
ROUNDED_NS = 1_000
"""Delays of distances are rounded to a microsecond, some 200 m of fibre."""


def great_circle_km(one: Position, other: Position) -> float:
    """Return the length of the shortest way over the surface of a sphere (haversine formula)."""
    east, north = radians(other.x - one.x), radians(other.y - one.y)
    across = cos(radians(one.y)) * cos(radians(other.y)) * sin(east / 2) ** 2
    return 2 * EARTH_KM * asin(min(1.0, sqrt(sin(north / 2) ** 2 + across)))


def delay_ns(km: float, km_delay: Duration) -> int:
    """Return the one-way delay of a distance."""
    return round(km * km_delay.ns / ROUNDED_NS) * ROUNDED_NS


def formula(km_delay: Duration) -> str:
    """Return how delays were made from coordinates, as a sentence."""
    return (
        f"delays are one-way, of great-circle distances (haversine, a sphere of {EARTH_KM:.0f} km) "
        f"at {km_delay} a km, without detours of the cable"
    )
