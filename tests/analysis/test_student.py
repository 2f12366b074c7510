"""Student's distribution is that of scipy, which takes long to load."""

from __future__ import annotations

import pytest
from scipy.stats import t

from delaylab_study.analysis.statistics.student import distance, p_value


@pytest.mark.parametrize("freedom", [1, 2, 3.7, 9, 30, 400, 1e4])
def test_it_is_scipys(freedom: float) -> None:
    for level in (0.9, 0.95, 0.99):
        assert distance(freedom, level) == pytest.approx(t.ppf((1 + level) / 2, freedom), rel=1e-4)
    for errors in (0, 0.5, 2, 5, -5):
        expected = 2 * t.sf(abs(errors), freedom)
        assert p_value(errors, freedom) == pytest.approx(expected, rel=1e-3)
