"""A damaged trial is set aside and named; the others are shown, and a resumed run repeats it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import polars as pl
import pytest

from delaylab.errors import BadInput
from delaylab_study.dataset import store
from delaylab_study.dataset.intact import check_intact, read_intact, set_aside
from tests import synthetic
from tests.command import delaylab
from tests.synthetic import Condition

FIRST, SECOND = Condition(load="rest", packets=20), Condition(load="cpu", packets=20)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return synthetic.write(tmp_path / "run", [FIRST, SECOND])


def damage_record(place: Path, trial: str = FIRST.id) -> Path:
    record = place / "trials" / trial / "trial.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "status": "great"}))
    return record


def damage_table(place: Path) -> Path:
    """Write a table as an earlier version did: its sum is right, one stamp is before 1970."""
    file = place / "trials" / FIRST.id / "stamps.parquet"
    with_old = pl.when(pl.int_range(pl.len()) == 0).then(-1).otherwise("time_ns")
    pl.read_parquet(file).with_columns(with_old.alias("time_ns")).write_parquet(file)
    record = file.with_name("trial.json")
    written = json.loads(record.read_text())
    content = file.read_bytes()
    sums = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    written["tables"]["stamps"] = sums
    record.write_text(json.dumps(written))
    return file


def test_what_a_reader_would_refuse_is_not_written(place: Path) -> None:
    third = Condition(load="io", packets=20)
    stamps, probes = synthetic.tables(third)
    old = stamps.with_columns(pl.lit(-1, pl.Int64).alias("time_ns"))
    with pytest.raises(BadInput, match=r"table 'stamps': column 'time_ns' has times before 1970"):
        synthetic.write_trial(place, synthetic.trial(third, 2), old, probes, synthetic.hosts())
    assert store.finished(place) == {FIRST.id, SECOND.id}


@pytest.mark.parametrize("damage", [damage_record, damage_table])
@pytest.mark.parametrize("verb", ["show", "report", "charts", "compare"])
def test_the_others_are_shown(place: Path, verb: str, damage: object) -> None:
    assert callable(damage)
    where = damage(place)
    more = [str(synthetic.write(place.parent / "other", [FIRST, SECOND]))] * (verb == "compare")
    done = delaylab(verb, str(place), *more, folder=place.parent)
    assert done.code == 2, done
    assert done.err.count("\n") == 1, done.err
    assert done.err.startswith(f"delaylab: {where}: trial {FIRST.id} is damaged: "), done.err
    assert "; the others are shown" in done.err
    if verb == "show":
        assert "cpu" in done.out, "the other trial is shown"
        assert f" {FIRST.id}: " in " ".join(done.out.split())
    if verb == "report":
        assert FIRST.id in (place / "report.html").read_text()


def test_json_names_it(place: Path) -> None:
    damage_record(place)
    done = delaylab("show", str(place), "--json", folder=place.parent)
    assert done.code == 2
    (damaged,) = json.loads(done.out)["damaged"]
    assert damaged["trial"] == FIRST.id
    assert "status" in damaged["what"]


def test_a_dataset_without_a_trial_that_can_be_read_is_refused(place: Path) -> None:
    for trial in (FIRST.id, SECOND.id):
        damage_record(place, trial)
    done = delaylab("show", str(place), folder=place.parent)
    assert (done.code, done.out) == (2, "")
    assert "damaged: status" in done.err
    assert "other damaged trials: 1" in done.err
    assert done.err.count("\n") == 1


def test_a_resumed_run_measures_it_again(place: Path) -> None:
    damage_record(place)
    (line,) = set_aside(place)
    assert f"trial {FIRST.id} is damaged: " in line.what
    assert "is measured again" in line.what
    assert store.finished(place) == {SECOND.id}
    check_intact(read_intact(place))
    (kept,) = (place / "trials").glob(".damaged-*")
    assert (kept / "trial.json").exists()
    assert set_aside(place) == []
