"""Numbers in reports: what they are rounded to."""

from __future__ import annotations

import pytest

from delaylab.charts import words


@pytest.mark.parametrize(
    ("share", "written"),
    [
        (0.0, "0 %"),
        (-0.404, "−40 %"),
        (0.000_004, "0.0004 %"),
        (0.0004, "0.04 %"),
        (0.004, "0.4 %"),
        (0.5, "50 %"),
        (0.989, "99 %"),
        (0.995, "99.5 %"),
        (0.9996, "99.96 %"),
        (1.0, "100 %"),
        (1.004, "100.4 %"),
    ],
)
def test_a_share_is_never_rounded_to_all_or_nothing(share: float, written: str) -> None:
    assert words.share(share) == written
