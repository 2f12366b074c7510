"""Rates and losses as they are asked, on the real engine, counted at both ends: for a long time."""

from __future__ import annotations

import math
from typing import Any

import pytest
from benches.conditions import LOSSES, MINIMUM, OVERHEAD, RATES, loss_kept, rate_kept
from benches.frames import FULL, SHORT

pytestmark = [pytest.mark.root, pytest.mark.slow]
REFILLS = 100


@pytest.mark.parametrize(("bps", "size"), RATES)
def test_a_rate_is_kept_for_short_frames_as_for_long_ones(bps: int, size: int) -> None:
    rate = rate_kept(bps, size)
    assert rate.offered > 1.1 * bps, "more was offered than may pass"
    assert rate.arrived == rate.left
    assert abs(rate.error) < 0.01, rate


@pytest.mark.parametrize(("bps", "size"), [(1_000_000, FULL), (1_000_000, SHORT), *RATES[:2]])
def test_a_budget_passes_whole_frames_while_a_byte_is_left(bps: int, size: int) -> None:
    framed = max(size + OVERHEAD, MINIMUM)
    budget = bps / 8 / REFILLS
    expected = math.ceil(budget / framed) * framed / budget
    rate = rate_kept(bps, size, refills=REFILLS)
    assert rate.offered > 1.1 * bps * expected, "more was offered than may pass"
    assert rate.arrived == rate.left
    assert abs(rate.achieved / rate.configured / expected - 1) < 0.01, rate


def test_one_frame_in_a_hundred_is_lost() -> None:
    kept = loss_kept(LOSSES["1 %, independent"])
    assert 0.009 < kept.check.achieved < 0.011, kept
    assert kept.lost_otherwise == 0, kept
    assert kept.missing == pytest.approx(kept.check.achieved), "the receiver misses the same"


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_a_loss_has_its_share_in_the_long_run(loss: Any) -> None:
    kept = loss_kept(loss)
    assert kept.check.agrees, kept
