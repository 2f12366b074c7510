"""Repeats of the same levels keep their trials apart, and their interval is between trials."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.quantiles import summarise
from delaylab_study.dataset import store
from tests import synthetic
from tests.grouped import of_packets
from tests.synthetic import Condition, lognormal

SLOW = ("request", "sender.uplink")
LEVELS_US = (100.0, 130.0, 160.0)


@pytest.fixture
def group(tmp_path: Path) -> Group:
    conditions = [
        Condition(
            repeat=number, packets=100 + number, seed=number, delays={SLOW: lognormal(us, 0.05)}
        )
        for number, us in enumerate(LEVELS_US, start=1)
    ]
    lost = {5: ("request", "wire"), 60: ("reply", "wire")}
    conditions[1].lost_after = lost
    synthetic.write(tmp_path, conditions)
    return next(groups(store.read_study(tmp_path)))


def test_packets_come_with_their_trial(group: Group) -> None:
    series = of_packets(group).series("app")
    assert [len(trial) for trial in series] == [101, 100, 103]
    medians = [float(np.median(trial)) for trial in series]
    assert np.diff(medians) == pytest.approx(np.diff(LEVELS_US), abs=8)
    pooled = of_packets(group).samples["app"].drop_nulls().to_numpy() / 1000
    assert np.concatenate(series).tolist() == pooled.tolist()


def test_the_interval_of_repeats_is_between_trials(group: Group) -> None:
    everything = np.concatenate(of_packets(group).series("app")) * 1000
    alone, found = summarise(everything).median, group.rtt["app"].median
    assert found.value == alone.value
    assert found.interval is not None
    half = (found.interval[1] - found.interval[0]) / 2
    assert half > 4.3 * 25 / np.sqrt(3)
    part = max(group.segments, key=lambda each: each.delay.median.value or 0)
    assert part.delay.median.interval is not None
    low, high = part.delay.median.interval
    assert high - low == pytest.approx(2 * half, rel=0.2)
