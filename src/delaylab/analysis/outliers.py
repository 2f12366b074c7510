"""Outliers are flagged, never dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Iglewicz and Hoaglin 1993, How to Detect and Handle Outliers: |modified z| above 3.5.
THRESHOLD = 3.5
_MAD_TO_SIGMA = 1.4826
_MEAN_DEVIATION_TO_SIGMA = 1.2533


def robust_z(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return each value's distance from the median in robust standard deviations.

    The scale is the median absolute deviation, or the mean one where more than half of the
    values are equal; all scores are 0 where all values are.
    """
    if len(values) == 0:
        return np.zeros(0)
    distance = values - np.median(values)
    scale = _MAD_TO_SIGMA * float(np.median(np.abs(distance)))
    if scale == 0:
        scale = _MEAN_DEVIATION_TO_SIGMA * float(np.mean(np.abs(distance)))
    return np.asarray(distance / scale if scale else np.zeros(len(values)), dtype=np.float64)


def outliers(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values lie further than `THRESHOLD` robust standard deviations away."""
    return np.abs(robust_z(values)) > THRESHOLD
