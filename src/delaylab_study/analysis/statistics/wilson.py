"""Wilson's interval of a share (1927, JASA 22:209)."""

from __future__ import annotations

from math import sqrt

NORMAL_95 = 1.959964
"""The 97.5 % quantile of the normal distribution."""


def wilson(share: float, n: float, z: float = NORMAL_95) -> tuple[float, float]:
    """Return Wilson's interval of a share seen in n trials."""
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(max(0.0, share * (1 - share)) / n + z * z / (4 * n * n))
    # Where none or all are seen, that end is 0 or 1 exactly; floats miss it by a little.
    low = 0.0 if share <= 0 else max(0.0, middle - half)
    return low, 1.0 if share >= 1 else min(1.0, middle + half)
