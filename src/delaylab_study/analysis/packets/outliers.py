"""Flagging of outliers; none is ever dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from delaylab_study.analysis.statistics.runs import Floats, Numbers

# Iglewicz and Hoaglin 1993, How to Detect and Handle Outliers: |modified z| above 3.5.
THRESHOLD = 3.5
_MAD_TO_SIGMA = 1.4826
_MEAN_DEVIATION_TO_SIGMA = 1.2533
MAD = "median absolute deviation"
MEAN_DEVIATION = "mean absolute deviation, as more than half of the values are equal"


@dataclass(frozen=True, slots=True)
class Scale:
    """The robust standard deviation in the values' unit, their median, and the method used."""

    median: float
    sigma: float
    by: str

    @property
    def usual(self) -> bool:
        """Return True if the scale is the median absolute deviation."""
        return self.by == MAD

    def scores(self, values: Numbers) -> Floats:
        """Return each value's distance from the median in standard deviations."""
        distance = np.asarray(values - self.median, dtype=np.float64)
        return distance / self.sigma if self.sigma else np.zeros(len(values))

    def flags(self, values: Numbers) -> NDArray[np.bool_]:
        """Return a mask of the values that are outliers."""
        return np.abs(self.scores(values)) > THRESHOLD


@dataclass(frozen=True, slots=True)
class OutlierShare:
    """The number of outliers among a scenario's packets, and their share of all outliers."""

    levels: dict[str, str]
    n: int
    outliers: int
    of_all: float


def robust_scale(values: Numbers) -> Scale:
    """Return the scale of values by their median absolute deviation.

    If that is 0, because more than half of the values are equal (clocks that tick coarsely), the
    mean absolute deviation is used instead; it is 0 if all values are equal.
    """
    if len(values) == 0:
        return Scale(0.0, 0.0, MAD)
    median = float(np.median(values))
    distance = np.abs(values - median)
    sigma, by = _MAD_TO_SIGMA * float(np.median(distance)), MAD
    if sigma == 0:
        sigma, by = _MEAN_DEVIATION_TO_SIGMA * float(np.mean(distance)), MEAN_DEVIATION
    return Scale(median, sigma, by)


def outliers(values: Numbers) -> NDArray[np.bool_]:
    """Return a mask of the values over `THRESHOLD` robust standard deviations from the median."""
    return robust_scale(values).flags(values)


def outlier_shares(
    series: Iterable[tuple[Mapping[str, str], Numbers]], factors: Iterable[str]
) -> tuple[Scale, list[OutlierShare]]:
    """Return the scale of all series together, and each scenario's share of their outliers.

    Each series comes with its levels. A scenario is one combination of the levels of `factors`.
    Scenarios are in the order of their share, the largest first.
    """
    given = list(series)
    values = [delays for _, delays in given]
    scale = robust_scale(np.concatenate(values) if values else np.zeros(0))
    together: dict[tuple[str, ...], list[int]] = {}
    names = [name for name in factors if any(name in levels for levels, _ in given)]
    for levels, delays in given:
        counts = together.setdefault(tuple(levels.get(name, "") for name in names), [0, 0])
        counts[0] += len(delays)
        counts[1] += int(scale.flags(delays).sum())
    total = sum(flagged for _, flagged in together.values())
    found = [
        OutlierShare(
            dict(zip(names, key, strict=True)), n, flagged, flagged / total if total else 0.0
        )
        for key, (n, flagged) in together.items()
    ]
    return scale, sorted(found, key=lambda share: -share.of_all)
