"""Set of all lines that the offset of two clocks can follow, from two-sided convex hulls.

A packet is stamped before it is sent and after it is received, whatever the clocks. On the way to
the other clock the difference of its stamps is therefore at least the offset, on the way back at
most. The line of the offset lies below the lower hull of the former and above the upper hull of the
latter (Moon, Skelly, Towsley 1999, INFOCOM; Zhang, Liu, Xia 2002, INFOCOM). All such lines form a
convex polygon. Its widest spread at a time is the bound there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from delaylab_study.analysis.clocks.line import ClockLine, Nanoseconds
from delaylab_study.analysis.statistics.runs import Floats, Numbers

# A stamp is a whole number of ns, and its clock may be read a little early.
RESOLUTION_NS = 1.0
# With fewer points than this left, the hull is walked point by point.
_WALKED = 256


@dataclass(frozen=True, slots=True)
class Feasible:
    """The set of lines that violate no causality between two times of the reference.

    `corners` are the extreme lines, each as its offset at `start_ns` and at `end_ns`, less
    `base_ns`.
    """

    start_ns: int
    end_ns: int
    base_ns: int
    corners: Floats

    def line(self) -> ClockLine:
        """Return the line halfway between the bounds at both ends.

        The line is feasible: the middle of a convex polygon's bounding box lies in the polygon.
        """
        first, last = (self.corners.min(axis=0) + self.corners.max(axis=0)) / 2
        drift = (last - first) / (self.end_ns - self.start_ns)
        return ClockLine(self.start_ns, self.base_ns, float(first), float(drift))

    def shared(self, least_ns: int) -> Feasible:
        """Return the lines if the two ways share `least_ns` in any proportion.

        These lines are those for a way there without delay. If it takes more, and the way back as
        much less, all lines are lower by so much.
        """
        if least_ns == 0:
            return self
        return replace(self, corners=np.concatenate((self.corners, self.corners - least_ns)))

    def drifts(self) -> tuple[float, float]:
        """Return the smallest and the largest feasible drift, in ns per ns."""
        rates = (self.corners[:, 1] - self.corners[:, 0]) / (self.end_ns - self.start_ns)
        return float(rates.min()), float(rates.max())

    def bound(self, reference_ns: Numbers) -> Floats:
        """Return the largest error of the middle line in ns at these times of the reference."""
        share = np.asarray(reference_ns - self.start_ns, dtype=np.float64)
        share /= self.end_ns - self.start_ns
        spread = self.corners - (self.corners.min(axis=0) + self.corners.max(axis=0)) / 2
        widest = np.zeros(len(share))
        for first, last in spread:
            np.maximum(widest, np.abs(first + (last - first) * share), out=widest)
        return widest


def feasible(
    upper: tuple[Nanoseconds, Nanoseconds],
    lower: tuple[Nanoseconds, Nanoseconds],
    max_drift: float,
) -> Feasible | None:
    """Return the feasible lines, or None if there is none of at most `max_drift` (ns per ns).

    `upper` and `lower` are times of the reference, each with the differences that limit the offset
    from above (`upper`) or from below (`lower`); neither may be empty.
    """
    start = min(int(upper[0].min()), int(lower[0].min()))
    end = max(int(upper[0].max()), int(lower[0].max()), start + 1)
    base = int(upper[1][0])
    span = float(end - start)
    above = _lower_hull((upper[0] - start) / span, (upper[1] - base).astype(np.float64))
    below = _lower_hull((lower[0] - start) / span, (base - lower[1]).astype(np.float64))
    reach = max_drift * span
    high = float(above[1].min()) + RESOLUTION_NS + reach
    low = -float(below[1].min()) - RESOLUTION_NS - reach
    if low > high:
        return None
    polygon = [(low, low), (high, low), (high, high), (low, high)]
    limits = [(-1.0, 1.0, reach), (1.0, -1.0, reach)]
    limits += [(1 - s, s, u + RESOLUTION_NS) for s, u in zip(*map(list, above), strict=True)]
    limits += [(s - 1, -s, u + RESOLUTION_NS) for s, u in zip(*map(list, below), strict=True)]
    for limit in limits:
        polygon = _cut(polygon, *limit)
        if not polygon:
            return None
    return Feasible(start, end, base, np.array(polygon))


def _cut(
    polygon: list[tuple[float, float]], a: float, b: float, limit: float
) -> list[tuple[float, float]]:
    """Return the part of a convex polygon where a x + b y <= limit."""
    over = [a * x + b * y - limit for x, y in polygon]
    if max(over) <= 0:
        return polygon
    kept: list[tuple[float, float]] = []
    for index, (x, y) in enumerate(polygon):
        previous, before = polygon[index - 1], over[index - 1]
        now = over[index]
        if (before > 0) != (now > 0):
            share = before / (before - now)
            kept.append(
                (previous[0] + share * (x - previous[0]), previous[1] + share * (y - previous[1]))
            )
        if now <= 0:
            kept.append((x, y))
    return kept


def _lower_hull(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the lower convex hull of points, from left to right.

    A point on or above the chord between its neighbours is no corner of the hull, whether or not
    the neighbours are. All such points are dropped at once, until few are left.
    """
    if (x[1:] < x[:-1]).any():
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
    first = np.flatnonzero(np.concatenate(([True], x[1:] > x[:-1])))
    x, y = x[first], np.minimum.reduceat(y, first)
    while len(x) > _WALKED:
        chord = (y[2:] - y[1:-1]) * (x[1:-1] - x[:-2]) > (y[1:-1] - y[:-2]) * (x[2:] - x[1:-1])
        kept = np.concatenate(([True], chord, [True]))
        if kept.mean() > 0.95:
            break
        x, y = x[kept], y[kept]
    return _walk(x, y)


def _walk(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the lower hull of points sorted by x (Andrew 1979)."""
    hull: list[tuple[float, float]] = []
    for point in zip(x.tolist(), y.tolist(), strict=True):
        while len(hull) > 1 and not _turns_up(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    corners = np.array(hull)
    return corners[:, 0], corners[:, 1]


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (c[1] - b[1]) * (b[0] - a[0]) > (b[1] - a[1]) * (c[0] - b[0])
