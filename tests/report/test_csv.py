"""`show --csv` prints RFC 4180 with a unit in each delay's name."""

from __future__ import annotations

import csv
import io
from itertools import groupby
from pathlib import Path
from statistics import median

import pytest
from typer.testing import CliRunner

from delaylab.cli import whole
from tests import synthetic
from tests.synthetic import Condition


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lost = {3: ("request", "wire")}
    factors = {"load": "rest, twice"}
    trials = [Condition(packets=40, at_rest=5, lost_after=lost, factors=factors)]
    return synthetic.write(tmp_path_factory.mktemp("run"), trials)


def printed(place: Path, table: str) -> tuple[bytes, list[dict[str, str]]]:
    ran = CliRunner().invoke(whole(), ["show", str(place), "--csv", table])
    assert ran.exit_code == 0, ran.exception
    return ran.stdout_bytes, list(
        csv.DictReader(io.StringIO(ran.stdout_bytes.decode()), strict=True)
    )


def test_packets_are_one_row_each_with_those_lost(place: Path) -> None:
    raw, rows = printed(place, "packets")
    assert len(rows) == 50
    assert raw.count(b"\r\n") == raw.count(b"\n") == 51
    assert {row["factor.load"] for row in rows} == {"rest, twice"}
    (lost,) = (row for row in rows if row["outcome"] == "lost")
    assert (lost["seq"], lost["rtt_user_ns"]) == ("3", "")


def test_segments_sum_to_the_rtt_of_their_packet(place: Path) -> None:
    packets = {row["seq"]: row["rtt_user_ns"] for row in printed(place, "packets")[1]}
    _, rows = printed(place, "segments")
    assert {row["phase"] for row in rows} == {"before", "load", "after"}
    sums = {
        seq: sum(int(row["delay_ns"]) for row in of)
        for seq, of in groupby(rows, key=lambda row: row["seq"])
    }
    assert sums == {seq: int(rtt) for seq, rtt in packets.items() if rtt}


def test_trials_are_one_row_each_with_those_that_failed(tmp_path: Path) -> None:
    lost = {3: ("request", "wire")}
    trials = [
        Condition(packets=200, repeat=1, lost_after=lost),
        Condition(packets=600, repeat=2, seed=1),
        Condition(repeat=3, skipped="no room"),
    ]
    place = synthetic.write(tmp_path / "run", trials)
    _, rows = printed(place, "trials")
    assert [row["repeat"] for row in rows] == ["1", "2", "3"]
    assert [row["status"] for row in rows] == ["ok", "ok", "skipped"]
    assert [(row["sent"], row["lost"]) for row in rows] == [("200", "1"), ("600", "0"), ("", "")]
    packets = printed(place, "packets")[1]
    for row in rows[:2]:
        of_trial = [
            int(packet["rtt_user_ns"])
            for packet in packets
            if (packet["repeat"], packet["phase"]) == (row["repeat"], "load")
            and packet["rtt_user_ns"]
        ]
        assert float(row["rtt_user_median_us"]) == pytest.approx(median(of_trial) / 1000)
    # 200 packets do not carry a p99, 600 do.
    assert [bool(row["rtt_user_p99_us"]) for row in rows] == [False, True, False]


@pytest.mark.parametrize("table", ["packets", "segments", "trials"])
def test_every_table_tells_the_repeat(place: Path, table: str) -> None:
    _, rows = printed(place, table)
    assert [*rows[0]][:3] == ["trial", "factor.load", "repeat"]
    assert {row["repeat"] for row in rows} == {"1"}


def test_csv_and_json_exclude_each_other(place: Path) -> None:
    ran = CliRunner().invoke(whole(), ["show", str(place), "--csv", "packets", "--json"])
    assert "exclude each other" in str(ran.exception)


def test_doubts_and_flags_go_with_the_data(tmp_path: Path) -> None:
    place, trial = tmp_path / "run", Condition(packets=50)
    synthetic.write_study(place, synthetic.study([trial], []))
    disturbed = synthetic.hosts(samples=10, steal=0.2, busy=0.9)
    synthetic.write_trial(place, synthetic.trial(trial, 0), *synthetic.tables(trial), disturbed)
    (row,) = printed(place, "trials")[1]
    assert {"few-samples", "stolen-time"} <= {*row["doubts"].split(", ")}
    flags = [row["flagged"] for row in printed(place, "packets")[1]]
    assert flags.count("true") >= 40
