"""Cells of the earth: places that are near have numbers whose first bits are the same. Pure.

With `addresses: places` a cell decides the first bits of an address. Paths of the least delay lead
most packets for one region over one link, so that a router then needs few routes: as on the
Internet, where addresses follow networks. With addresses that are spread at random, two near
networks have nothing in common by which one route could be of both.
"""

from __future__ import annotations

from collections.abc import Iterable

from delaylab.spec.places import PlaceSpec

WINDOW = (64.0, 40.0)
"""Degrees of longitude and latitude after which numbers repeat. A map of one continent then has
addresses of the whole pool; on a map of several, cells of each have the same numbers."""
BITS = 10
"""The bits of a cell's number: cells of 2° by 1.25°, each with 32 networks of links."""

HALF = BITS // 2
STEPS = 1 << HALF


def cell_of(places: Iterable[PlaceSpec | None]) -> int | None:
    """Return the cell in the middle of some places; None if one is not known on the earth."""
    longitudes, latitudes = list[float](), list[float]()
    for place in places:
        if place is None or place.longitude is None or place.latitude is None:
            return None
        longitudes.append(place.longitude)
        latitudes.append(place.latitude)
    middle = sum(longitudes) / len(longitudes), sum(latitudes) / len(latitudes)
    x, y = (_step(at, degrees) for at, degrees in zip(middle, WINDOW, strict=True))
    # The bits of both in turn (a Morton code): each pair of them quarters the cell.
    return sum((x >> bit & 1) << 2 * bit + 1 | (y >> bit & 1) << 2 * bit for bit in range(HALF))


def _step(at: float, degrees: float) -> int:
    """Return the number of the step of a coordinate in its window."""
    return int(at % degrees / degrees * STEPS) % STEPS
