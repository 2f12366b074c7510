"""Datasets of one study are shown together; the round trips of all packets are in one file."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from delaylab.cli import whole
from delaylab_study.api.datasets import read
from tests import synthetic
from tests.synthetic import Condition


def write(place: Path, machine: str, study: str = "synthetic", seed: int = 1) -> str:
    place.mkdir()
    synthetic.write(place, [Condition(packets=60, seed=seed)])
    raw = json.loads((place / "study.json").read_text())
    machines = raw.get("machines") or {"local": raw["machine"]}
    machines["local"]["hostname"] = machine
    raw.pop("machine", None)
    (place / "study.json").write_text(json.dumps(raw | {"study": study, "machines": machines}))
    return str(place)


def said(*argv: str, code: int = 0) -> str:
    done = CliRunner().invoke(whole(), ["show", *argv], env={"COLUMNS": "140"})
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else str(done.output) or str(done.exception)


def test_the_machine_is_a_factor_of_datasets_that_are_shown_together(tmp_path: Path) -> None:
    both = [write(tmp_path / "a", "near"), write(tmp_path / "b", "far", seed=2)]
    text = said(*both)
    assert "Levels of machine, against near" in text
    rows = pl.read_csv(said(*both, "--csv", "rtt").encode())
    assert sorted({row.partition(",")[0] for row in rows["trials"]}) == ["far", "near"]
    packets = pl.read_csv(said(*both, "--csv", "packets").encode())
    assert packets.columns[0] == "factor.machine"
    assert packets["factor.machine"].value_counts()["count"].to_list() == [60, 60]


def test_datasets_of_one_machine_are_told_apart_by_their_directory(tmp_path: Path) -> None:
    both = [write(tmp_path / "a", "near"), write(tmp_path / "b", "near", seed=2)]
    assert "Levels of dataset, against a" in said(*both)


def test_datasets_of_different_studies_are_refused_in_one_line(tmp_path: Path) -> None:
    both = [write(tmp_path / "a", "near"), write(tmp_path / "b", "far", "other")]
    for more in ((), ("--csv", "packets")):
        done = CliRunner().invoke(whole(), ["show", *both, *more])
        assert done.exit_code != 0
        assert "it is of study 'other'" in str(done.exception) + done.output


def test_json_is_of_one_dataset(tmp_path: Path) -> None:
    both = [write(tmp_path / "a", "near"), write(tmp_path / "b", "far")]
    done = CliRunner().invoke(whole(), ["show", *both, "--json"])
    assert done.exit_code != 0
    assert "--json is of one dataset" in str(done.exception) + done.output


def test_the_round_trips_of_all_packets_are_one_file(tmp_path: Path) -> None:
    dataset = read(write(tmp_path / "a", "near"))
    place = dataset.write_packets()
    assert place == tmp_path / "a" / "packets.parquet"
    table = pl.read_parquet(place)
    assert table.equals(dataset.packets)
    assert table["rtt_user_ns"].null_count() == 0
    assert len(table) == 60


@pytest.mark.parametrize("option", [[], ["--csv", "delays"]])
def test_one_dataset_has_no_factor_more(tmp_path: Path, option: list[str]) -> None:
    assert "machine=" not in said(write(tmp_path / "a", "near"), *option)
