"""The dataset: whole trials or none, and one clear line where it is damaged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from delaylab.errors import BadInput, DelaylabError
from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.claims.doubted import kinds_by_trial
from delaylab_study.dataset import store
from delaylab_study.dataset.records.tables import STAMPS
from tests import synthetic
from tests.synthetic import Condition

FIRST, SECOND = Condition(load="rest", packets=20), Condition(load="cpu", packets=20)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return synthetic.write(tmp_path / "run", [FIRST, SECOND])


def test_what_is_written_is_read(place: Path) -> None:
    study = store.read_study(place)
    assert study.record.study == "synthetic"
    assert [trial.id for trial in study.trials] == [FIRST.id, SECOND.id]
    stamps, probes = synthetic.tables(FIRST)
    assert study.stamps(FIRST.id).equals(stamps)
    assert dict(study.stamps(FIRST.id).schema) == {name: kind() for name, kind in STAMPS.items()}
    assert study.probes(FIRST.id).equals(probes)
    assert study.hosts(FIRST.id).equals(synthetic.hosts())
    assert store.finished(place) == {FIRST.id, SECOND.id}


def test_the_table_of_trials_has_one_row_each(place: Path) -> None:
    store.write_trials_table(place)
    table = pl.read_parquet(place / "trials.parquet")
    assert table["id"].to_list() == [FIRST.id, SECOND.id]
    assert table["factor.load"].to_list() == ["rest", "cpu"]
    assert table["doubts"].to_list() == [None, None]


def test_the_table_of_trials_has_the_doubts_of_an_analysis(place: Path) -> None:
    found = kinds_by_trial(list(groups(store.read_study(place))))
    store.write_trials_table(place, found)
    doubts = pl.read_parquet(place / "trials.parquet")["doubts"].to_list()
    assert doubts == [", ".join(found[each.id]) for each in (FIRST, SECOND)]


def test_a_factor_may_be_called_as_a_column_of_trials(tmp_path: Path) -> None:
    trial = replace(FIRST, factors={"index": "near", "id": "one"})
    place = synthetic.write(tmp_path / "run", [trial])
    store.write_trials_table(place)
    (row,) = pl.read_parquet(place / "trials.parquet").iter_rows(named=True)
    assert (row["id"], row["index"]) == (trial.id, 0)
    assert (row["factor.id"], row["factor.index"]) == ("one", "near")


def test_a_trial_is_never_written_twice(place: Path) -> None:
    with pytest.raises(DelaylabError, match="never changed"):
        synthetic.write_trial(
            place, synthetic.trial(FIRST, 0), *synthetic.tables(FIRST), synthetic.hosts()
        )


def test_a_partial_trial_is_no_trial(place: Path) -> None:
    (place / "trials" / ".partial-x").mkdir()
    (place / "trials" / ".partial-x" / "trial.json").write_text("{}")
    assert store.finished(place) == {FIRST.id, SECOND.id}
    assert len(store.read_study(place).trials) == 2


def test_an_interrupted_trial_is_written_whole(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = pl.DataFrame.write_parquet

    def interrupted(table: pl.DataFrame, *given: object, **named: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        write(table, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(pl.DataFrame, "write_parquet", interrupted)
    third = Condition(load="io", packets=20)
    record = synthetic.trial(third, 2)
    with pytest.raises(KeyboardInterrupt):
        synthetic.write_trial(place, record, *synthetic.tables(third), synthetic.hosts())
    assert store.finished(place) == {FIRST.id, SECOND.id, third.id}
    assert not [*(place / "trials").glob(".*")]
    assert store.read_study(place).stamps(third.id).equals(synthetic.tables(third)[0])


def test_a_record_that_lacks_a_field_is_refused_by_name(place: Path) -> None:
    record = synthetic.trial(Condition(load="io"), 2)
    del record["status"]
    with pytest.raises(BadInput, match="status"):
        synthetic.write_trial(place, record, *synthetic.tables(FIRST), synthetic.hosts())


def test_a_table_with_a_wrong_column_is_refused_by_name(place: Path) -> None:
    stamps, probes = synthetic.tables(SECOND)
    record = synthetic.trial(Condition(load="io"), 2)
    with pytest.raises(BadInput, match="not a table of stamps"):
        synthetic.write_trial(place, record, stamps.drop("clock"), probes, synthetic.hosts())


def test_an_id_that_is_no_directory_name_is_refused(place: Path) -> None:
    record = synthetic.trial(FIRST, 2) | {"id": "load=a/b"}
    with pytest.raises(BadInput, match="rename the level"):
        synthetic.write_trial(place, record, *synthetic.tables(FIRST), synthetic.hosts())


def one_line(error: DelaylabError, *words: str) -> None:
    assert "\n" not in str(error)
    for word in words:
        assert word in str(error)


def test_a_directory_without_a_study_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        store.read_study(tmp_path)
    one_line(caught.value, str(tmp_path), "not a dataset")


def test_an_unknown_format_is_refused(place: Path) -> None:
    raw = json.loads((place / "study.json").read_text()) | {"format": 3}
    (place / "study.json").write_text(json.dumps(raw))
    with pytest.raises(BadInput) as caught:
        store.read_study(place)
    one_line(caught.value, "format 3", "study.json")


@pytest.mark.parametrize("content", ["", "[]", '{"format": 1', '{"id": 3}'])
def test_a_damaged_trial_record_is_named(place: Path, content: str) -> None:
    (place / "trials" / FIRST.id / "trial.json").write_text(content)
    study = store.read_study(place)
    assert [trial.id for trial in study.trials] == [SECOND.id]
    one_line(study.damaged[0], FIRST.id, "trial.json", "damaged")


@pytest.mark.parametrize("keep", [0, 100, 0.5])
def test_a_cut_table_is_named(place: Path, keep: float) -> None:
    table = place / "trials" / FIRST.id / "stamps.parquet"
    whole = table.read_bytes()
    table.write_bytes(whole[: int(keep * len(whole)) if keep < 1 else int(keep)])
    with pytest.raises(BadInput) as caught:
        store.read_study(place).stamps(FIRST.id)
    one_line(caught.value, "stamps.parquet", "damaged")


def test_a_missing_table_is_named(place: Path) -> None:
    (place / "trials" / FIRST.id / "probes.parquet").unlink()
    with pytest.raises(BadInput) as caught:
        store.read_study(place).probes(FIRST.id)
    one_line(caught.value, "probes.parquet", "missing")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_full_disk_keeps_the_trials_before_and_says_so(small_disk: Path) -> None:
    synthetic.write(small_disk, [FIRST])
    large = Condition(load="network", packets=20_000)
    with pytest.raises(DelaylabError) as caught:
        synthetic.write_trial(
            small_disk, synthetic.trial(large, 1), *synthetic.tables(large), synthetic.hosts()
        )
    one_line(caught.value, large.id, "kept: the 1 trials finished before")
    assert [path.name for path in (small_disk / "trials").iterdir()] == [FIRST.id]
    assert store.read_study(small_disk).stamps(FIRST.id).height > 0
