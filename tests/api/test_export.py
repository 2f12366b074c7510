"""Tables for other programs, and replication packages that other machines read."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pytest
import yaml
from rocrate.rocrate import ROCrate

from delaylab.errors import BadInput
from delaylab_study.api.datasets import Dataset, dataset_of
from delaylab_study.api.export import DICTIONARY, NAMES, Format, export, names_of, table_of
from delaylab_study.api.replication import Credit, package
from delaylab_study.dataset.store import read_study
from delaylab_study.verbs import datasets
from tests import synthetic
from tests.synthetic import Condition, constant

CREDIT = Credit(("Curie, Marie", "The delay group"), "CC-BY-4.0")


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    slow = {("request", "sender.uplink"): constant(5000)}
    conditions = [Condition("native"), Condition("native", "network", delays=slow, seed=1)]
    place = synthetic.write(tmp_path / "data", conditions, ["network-adds-most"])
    return dataset_of(read_study(place), None)


@pytest.mark.parametrize("form", ["parquet", "csv", "arrow"])
def test_each_table_is_read_back_as_it_was(dataset: Dataset, tmp_path: Path, form: Format) -> None:
    readers: dict[Format, Callable[[Path], pl.DataFrame]] = {
        "parquet": pl.read_parquet,
        "csv": pl.read_csv,
        "arrow": pl.read_ipc,
    }
    written = export(dataset, tmp_path / "out", NAMES, form)
    assert {each.table for each in written} == {
        *("packets", "segments", "trials", "claims", "scenarios", "dictionary")
    }
    for each in written:
        if each.table != "dictionary":
            expected = table_of(dataset, names_of([each.table])[0])
            found = readers[form](each.path)
            assert found.columns == expected.columns
            assert len(found) == len(expected) == each.rows > 0


def test_the_dictionary_has_each_column_of_each_table(dataset: Dataset, tmp_path: Path) -> None:
    written = export(dataset, tmp_path / "out", NAMES, "parquet")
    told = pl.read_csv(tmp_path / "out" / DICTIONARY)
    columns = {
        (each.table, column)
        for each in written
        if each.table != "dictionary"
        for column in pl.read_parquet_schema(each.path)
    }
    assert set(told.select("table", "column").iter_rows()) == columns
    assert told["meaning"].str.ends_with(".").all()
    units = dict(told.select("column", "unit").iter_rows())
    assert (units["rtt_user_ns"], units["rtt_user_median_us"], units["seq"]) == ("ns", "µs", "")


def test_a_file_that_is_there_is_not_overwritten(dataset: Dataset, tmp_path: Path) -> None:
    export(dataset, tmp_path / "out", ["claims"], "csv")
    with pytest.raises(BadInput, match="the file is there already"):
        export(dataset, tmp_path / "out", ["trials"], "csv")
    with pytest.raises(BadInput, match="no table 'stamp'"):
        names_of(["stamp"])


def test_a_package_is_a_dataset_elsewhere(dataset: Dataset, tmp_path: Path) -> None:
    archive = package(dataset, tmp_path / "made.zip", CREDIT)
    there = tmp_path / "elsewhere"
    with zipfile.ZipFile(archive) as file:
        file.extractall(there)
    before, after = (
        datasets.numbers(read_study(place), None, ()) for place in (dataset.directory, there)
    )
    assert after == before
    assert not list(tmp_path.glob(".made*")), "no partial archive is left"


def test_a_package_is_an_ro_crate(dataset: Dataset, tmp_path: Path) -> None:
    """It is read by the library that others read crates with."""
    archive = package(dataset, tmp_path / "made.zip", CREDIT)
    crate = ROCrate(archive)
    assert crate.name == "A study with a known answer"
    assert crate.license == "https://spdx.org/licenses/CC-BY-4.0"
    assert [each["name"] for each in crate.root_dataset["author"]] == list(CREDIT.authors)
    with zipfile.ZipFile(archive) as file:
        names = {name for name in file.namelist() if not name.endswith("/")}
        parts = {unquote(each.id) for each in crate.root_dataset["hasPart"]}
        assert parts == names - {"ro-crate-metadata.json"}
        cited = yaml.safe_load(file.read("CITATION.cff"))
        checks = json.loads(file.read("checks.json"))
    assert cited["authors"] == [
        {"family-names": "Curie", "given-names": "Marie"},
        {"name": "The delay group"},
    ]
    assert [each["status"] for each in checks] == ["ok", "ok"]


@pytest.mark.parametrize("credit", [Credit((), "CC0-1.0"), Credit(("A",), "")])
def test_a_package_names_people_and_a_licence(
    dataset: Dataset, tmp_path: Path, credit: Credit
) -> None:
    with pytest.raises(BadInput, match="names its authors and its licence"):
        package(dataset, tmp_path / "made.zip", credit)
    assert not (tmp_path / "made.zip").exists()
