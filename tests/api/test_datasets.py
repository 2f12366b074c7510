"""Datasets by the Python API: packets, segments and claims of synthetic trials."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import delaylab
import delaylab_study
from delaylab_study.report.show import as_json
from tests import synthetic
from tests.papers.cases import EXAMPLE, dataset
from tests.plain import plain
from tests.synthetic import Condition, lognormal

SLOW = ("request", "sender.vif")
CLAIMS = ["network-adds-most", "sending-not-receiving"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    conditions = [
        Condition(
            "netns",
            "network",
            packets=120,
            at_rest=10,
            untapped=5,
            delays={SLOW: lognormal(500)},
            lost_after={20: ("request", "wire")},
            unseen=[(30, "request", "sender.vif")],
        ),
        Condition("native", "rest", packets=120, seed=2),
        Condition("netns", "cpu", packets=10, skipped="no room"),
    ]
    return synthetic.write(tmp_path_factory.mktemp("data"), conditions, CLAIMS)


def test_trials_are_records(data: Path) -> None:
    found = delaylab_study.read(data)
    assert [trial.status for trial in found.trials] == ["ok", "ok", "skipped"]
    assert found.trials[2].reason == "no room"
    assert found.study.title == "A study with a known answer"


def test_packets_are_one_row_each_lost_ones_too(data: Path) -> None:
    packets = delaylab_study.read(data).packets
    loaded = packets.filter(pl.col("factor.load") == "network")
    assert len(loaded) == 120 + 2 * 10 + 5
    assert loaded.filter(phase="load")["outcome"].value_counts(sort=True).rows() == [
        ("replied", 119),
        ("lost", 1),
    ]
    lost = loaded.filter(outcome="lost")
    assert lost["seq"].to_list() == [20]
    assert lost["rtt_user_ns"].to_list() == [None]
    replied = loaded.filter(outcome="replied", phase="load").drop_nulls("rtt_wire_ns")
    assert (replied["rtt_user_ns"] > replied["rtt_kernel_ns"]).all()
    assert (replied["rtt_kernel_ns"] > replied["rtt_wire_ns"]).all()


def test_segments_of_every_packet_sum_exactly_to_its_rtt(data: Path) -> None:
    found = delaylab_study.read(data)
    keys = ("trial", "probe", "seq")
    sums = found.segments(phase=None).group_by(keys).agg(pl.col("delay_ns").sum())
    answered = found.packets.drop_nulls("rtt_user_ns")
    both = answered.join(sums, on=keys, how="left")
    assert len(both) == len(answered) > 250
    assert (both["delay_ns"] == both["rtt_user_ns"]).all()


def test_segments_are_in_order_and_named_as_in_the_report(data: Path) -> None:
    found = delaylab_study.read(data)
    rows = found.segments()
    assert rows["phase"].unique().to_list() == ["load"]
    one = rows.filter(pl.col("factor.load") == "network", pl.col("seq") == 40)
    assert one["step"].to_list() == sorted(one["step"].to_list())
    assert one["from"].to_list()[0] == "sender.app"
    assert one["to"].to_list()[-1] == "sender.app"
    merged = rows.filter(pl.col("factor.load") == "network", pl.col("seq") == 30, merged=True)
    assert merged["to"].to_list() == ["sender.uplink"]
    shown = plain(as_json(data))["trials"][0]["segments"]
    medians = {(s["leg"], s["from"], s["to"]): s for s in shown if s["layer"] != "send slip"}
    kept = rows.filter(pl.col("trial") == found.trials[0].id)
    groups = kept.group_by("leg", "from", "to", "layer", "direction").agg(
        pl.col("delay_ns").median(), pl.len()
    )
    assert len(groups) == len(medians)
    for row in groups.iter_rows(named=True):
        known = medians[row["leg"], row["from"], row["to"]]
        assert (row["layer"], row["direction"]) == (known["layer"], known["direction"])
        assert row["len"] == known["n"]
        assert row["delay_ns"] / 1000 == pytest.approx(known["median_us"])


def test_units_are_in_the_names_of_columns(data: Path) -> None:
    found = delaylab_study.read(data)
    for table in (found.packets, found.segments()):
        times = [name for name, kind in table.schema.items() if kind in (pl.Int64, pl.Float64)]
        assert times
        assert all(name.endswith("_ns") for name in times)


def test_claims_are_findings_as_show_prints_them(data: Path) -> None:
    found = delaylab_study.read(data).claims()
    shown = plain(as_json(data))["claims"]
    assert [each.id for each in found] == [claim["id"] for claim in shown] == CLAIMS
    assert [each.verdict for each in found] == [claim["verdict"] for claim in shown]
    assert [each.effect for each in found] == [claim["effect"] for claim in shown]


def test_a_papers_folder_brings_its_claims(tmp_path: Path) -> None:
    place = dataset(tmp_path / "data", ["interface-adds-delay"], "mypaper")
    (untested,) = delaylab_study.read(place).claims()
    assert untested.verdict == "not testable here"
    found = delaylab_study.read(place, paper=EXAMPLE)
    assert found.claims()[0].verdict == "reproduced"
    assert "Median RTT" in found.report().read_text(encoding="utf-8")


def test_a_study_without_trials_has_empty_tables(tmp_path: Path) -> None:
    found = delaylab_study.read(synthetic.write(tmp_path, [], []))
    assert found.trials == []
    assert len(found.packets) == len(found.segments()) == 0
    assert "delay_ns" in found.segments().columns
    assert found.claims() == []


def test_what_is_no_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(delaylab.BadInput, match="not a dataset"):
        delaylab_study.read(tmp_path)
