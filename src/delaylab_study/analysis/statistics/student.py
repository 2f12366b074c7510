"""Student's distribution, which stands in for the normal one where the variance is estimated."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from delaylab_study.analysis.statistics.runs import LEVEL, Floats

# Standard errors beyond which nothing of the distribution is left, and steps up to there.
FAR, STEPS = 15, 4000


@lru_cache(maxsize=1024)
def _beyond(freedom: float) -> tuple[Floats, Floats]:
    """Return distances from 0 in standard errors, and the probability of lying further out.

    With the distance as the tangent of an angle, the density is a power of its cosine.
    """
    angles = np.linspace(0, min(math.pi / 2, FAR / math.sqrt(freedom)), STEPS + 1)
    density = np.cos(angles) ** (freedom - 1)
    steps = (density[1:] + density[:-1]) / 2
    left = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
    return math.sqrt(freedom) * np.tan(angles), left / left[0]


def _rounded(freedom: float) -> float:
    """Return degrees of freedom rounded down, so that few distributions are computed."""
    freedom = min(max(freedom, 1.0), 1e5)
    return math.floor(10 * freedom) / 10 if freedom < 50 else float(f"{freedom:.2g}")


def distance(freedom: float, level: float) -> float:
    """Return the half width of an interval of this level, in standard errors."""
    distances, beyond = _beyond(_rounded(freedom))
    return float(np.interp(-(1 - level), -beyond, distances))


def p_value(errors: float, freedom: float) -> float:
    """Return p of the two-sided test of an estimate that is so many standard errors from 0."""
    distances, beyond = _beyond(_rounded(freedom))
    return float(np.interp(abs(errors), distances, beyond))


def half_width(values: Floats, level: float = LEVEL) -> float:
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
