"""Causes of a dataset's packets: a held CPU of known length is found in its segment."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from delaylab.api.causes import Cause
from delaylab_study.analysis.causes.explained import looked_at
from delaylab_study.analysis.causes.quantiles import SLOWEST, causes_of, slowest_of
from delaylab_study.dataset import store
from delaylab_study.trial.cpus import answered, chosen
from tests import synthetic
from tests.causes.dataset import HOG, QUICK_US, SENDER, SLOW_US, TENTH, write


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> store.Study:
    return store.read_study(write(tmp_path_factory.mktemp("causes") / "data"))


def test_the_slowest_packets_waited_for_the_hog_in_the_last_segment(study: store.Study) -> None:
    found = looked_at(study, study.trials[0])
    slow = [packet for packet in found.packets if packet.rtt_ns > SLOW_US * 1000]
    assert len(slow) >= 60
    for packet in slow:
        top = packet.explained.top
        assert top is not None
        assert (top.cause, top.task, top.of) == (Cause.HELD, HOG, SENDER)
        assert packet.segments[top.segment] == "receiving kernel to user space"
        assert sum(share.ns for share in packet.explained.shares) == packet.explained.excess_ns
        assert top.ns == pytest.approx((SLOW_US - QUICK_US) * 1000, rel=0.02)


def test_near_the_p99_the_hog_is_the_cause_and_near_the_median_nothing_is(
    study: store.Study,
) -> None:
    near = {each.name: each for each in causes_of(study, study.trials).near}
    assert near["p99"].causes[Cause.HELD] == pytest.approx(2.96e6, rel=0.02)
    assert abs(near["median"].causes.get(Cause.HELD, 0.0)) < 20_000
    assert "p99.9" not in near, "of 1000 packets one is beyond it"


def test_the_slowest_of_packets_under_way_at_the_same_time_stands_for_all(
    study: store.Study,
) -> None:
    found = looked_at(study, study.trials[0]).packets
    kept = slowest_of(found)
    assert len(kept) == SLOWEST
    assert kept[0].explained.excess_ns == max(each.explained.excess_ns for each in found)
    twin = replace(kept[0], seq=kept[0].seq + 1)
    assert slowest_of([*found, twin]) == kept
    assert causes_of(study, study.trials).slowest == kept


def test_usual_packets_are_those_at_rest_and_looked_at_are_the_slowest() -> None:
    stamps, probes = synthetic.tables(TENTH)
    app = (pl.col("leg") == "reply") & (pl.col("point") == "sender.app")
    ends = stamps.filter(app).with_columns(leg=pl.lit(1), point=pl.lit("app"))
    packets = answered(probes, ends)
    found = chosen(packets)
    usual = found.filter(pl.col("usual"))
    assert set(usual["phase"]) <= {"before", "after"}
    assert len(usual) >= 20
    slowest = packets.filter(pl.col("phase") == "load").top_k(100, by="took_ns")
    assert set(slowest["seq"]) <= set(found["seq"])
    assert not found.select("probe", "seq").is_duplicated().any()
