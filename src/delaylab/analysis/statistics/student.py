"""Student's distribution, which stands in for the normal one where the variance is estimated."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from delaylab.analysis.statistics.runs import Floats


@lru_cache(maxsize=4096)
def _distance(freedom: float, level: float) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415  slow to load, and not every verb needs it

    return float(stdtrit(freedom, (1 + level) / 2))


def distance(freedom: float, level: float) -> float:
    """Return the half width of an interval of this level, in standard errors.

    Degrees of freedom are rounded down to a tenth, so that few values are computed.
    """
    return _distance(max(1.0, math.floor(10 * min(freedom, 1e6)) / 10), level)


def p_value(errors: float, freedom: float) -> float:
    """Return p of the two-sided test of an estimate that is so many standard errors from 0."""
    from scipy.special import stdtr  # noqa: PLC0415  as above

    return float(min(1.0, 2 * stdtr(max(1.0, freedom), -abs(errors))))


def half_width(values: Floats, level: float) -> float:
    """Return half of Student's interval of the mean of values; 0 if there is only one."""
    if len(values) < 2:
        return 0.0
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return distance(len(values) - 1, level) * error


def error_of_difference(ours: Floats, theirs: Floats) -> tuple[float, float]:
    """Return the standard error of the difference of two means, and its degrees of freedom.

    They are Welch's (1947, Biometrika 34:28). A side with one value is taken to vary as the other
    does. If both have one, nothing tells by how much values vary, and the error is 0.
    """
    repeated = [values for values in (ours, theirs) if len(values) > 1]
    if not repeated:
        return 0.0, 1.0
    if len(repeated) == 1:
        variance = float(repeated[0].var(ddof=1)) * (1 / len(ours) + 1 / len(theirs))
        return math.sqrt(variance), len(repeated[0]) - 1.0
    return combined([(float(v.var(ddof=1)) / len(v), len(v) - 1.0) for v in (ours, theirs)])


def combined(parts: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the standard error of a sum, given each part's variance and degrees of freedom.

    The degrees of freedom are Satterthwaite's (1946, Biometrics Bulletin 2:110).
    """
    variance = sum(part for part, _ in parts)
    if not variance > 0:
        return 0.0, min((freedom for _, freedom in parts), default=1.0)
    freedom = variance**2 / sum(part**2 / max(freedom, 1e-9) for part, freedom in parts)
    return math.sqrt(variance), freedom


def finite(low: float, high: float) -> bool:
    """Return True if both ends of an interval are numbers."""
    return bool(np.isfinite(low) and np.isfinite(high))
