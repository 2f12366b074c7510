"""`show --csv` prints RFC 4180 with a unit in each delay's name."""

from __future__ import annotations

import csv
import io
from itertools import groupby
from pathlib import Path

import pytest
from typer.testing import CliRunner

from delaylab.cli import app
from tests import synthetic
from tests.synthetic import Condition


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lost = {3: ("request", "wire")}
    factors = {"load": "rest, twice"}
    trials = [Condition(packets=40, at_rest=5, lost_after=lost, factors=factors)]
    return synthetic.write(tmp_path_factory.mktemp("run"), trials)


def printed(place: Path, table: str) -> tuple[bytes, list[dict[str, str]]]:
    ran = CliRunner().invoke(app, ["show", str(place), "--csv", table])
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


def test_csv_and_json_exclude_each_other(place: Path) -> None:
    ran = CliRunner().invoke(app, ["show", str(place), "--csv", "packets", "--json"])
    assert "exclude each other" in str(ran.exception)
