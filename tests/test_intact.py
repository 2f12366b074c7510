"""Damaged tables: one line each, and the other trials are still shown."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import threading
from pathlib import Path

import pytest

from delaylab.errors import BadInput, DelaylabError
from delaylab_study.dataset import store
from delaylab_study.dataset.intact import check_intact, read_intact
from tests import synthetic
from tests.command import delaylab
from tests.synthetic import Condition

FIRST, SECOND = Condition(load="rest", packets=20), Condition(load="cpu", packets=20)
CRASHING = Path(__file__).parent / "hostile" / "dataset" / "tables"
"""Tables with some changed bytes, at which Polars 2 ends the process: by SIGABRT, by a panic."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return synthetic.write(tmp_path / "run", [FIRST, SECOND])


def table(place: Path, name: str, trial: str = FIRST.id) -> Path:
    return place / "trials" / trial / f"{name}.parquet"


def forget_sums(place: Path) -> None:
    """Make a dataset as versions before the sums wrote it."""
    for record in place.glob("trials/*/trial.json"):
        written = json.loads(record.read_text())
        assert written.pop("tables")
        record.write_text(json.dumps(written))


def test_an_intact_dataset_is_read_whole_with_sums_and_without(place: Path) -> None:
    with_sums = read_intact(place)
    assert all(set(trial.tables) == {"stamps", "probes", "hosts"} for trial in with_sums.trials)
    forget_sums(place)
    for study in (with_sums, read_intact(place)):
        assert study.damaged == ()
        assert {trial.status for trial in study.trials} == {"ok"}
        check_intact(study)


@pytest.mark.parametrize("name", ["stamps", "probes", "hosts"])
def test_any_changed_byte_is_seen(place: Path, name: str) -> None:
    file = table(place, name)
    whole = file.read_bytes()
    choose = random.Random(1)
    for at in choose.sample(range(len(whole)), 40):
        changed = whole[:at] + bytes([whole[at] ^ 1 << choose.randrange(8)]) + whole[at + 1 :]
        file.write_bytes(changed)
        (damage,) = read_intact(place).damaged
        assert damage.where == str(file)
        assert damage.what == "damaged: its content has changed since it was written"


@pytest.mark.parametrize("verb", ["show", "report", "compare"])
@pytest.mark.parametrize("crash", ["abort", "panic"])
def test_a_table_that_ends_its_reader_is_one_line(place: Path, crash: str, verb: str) -> None:
    """Without a sum the table must be read to be judged, which another process does."""
    forget_sums(place)
    shutil.copy(CRASHING / f"hosts-{crash}.parquet", table(place, "hosts"))
    more = [str(synthetic.write(place.parent / "other", [FIRST, SECOND]))] * (verb == "compare")
    done = delaylab(verb, str(place), *more, folder=place.parent)
    assert done.code == 2, done
    assert done.err.count("\n") == 1, done.err
    assert done.err.startswith(f"delaylab: {table(place, 'hosts')}: trial {FIRST.id} is damaged: ")
    assert "reader crashed" in done.err
    if verb == "show":
        assert f"failed {FIRST.id}" in " ".join(done.out.split())
        assert "cpu" in done.out, "the other trial is shown"


def test_each_damaged_trial_is_named_once(place: Path) -> None:
    table(place, "hosts").unlink()
    table(place, "probes").write_bytes(b"")
    table(place, "stamps", SECOND.id).write_bytes(b"")
    study = read_intact(place)
    assert [trial.status for trial in study.trials] == ["failed", "failed"]
    assert study.trials[1].reason == "stamps.parquet: damaged: " + "".join(
        study.damaged[1].what.partition("its content")[1:]
    )
    with pytest.raises(BadInput) as caught:
        check_intact(study)
    assert len(caught.value.all) == 2


def test_a_lock_that_is_released_soon_is_waited_for(place: Path) -> None:
    """A killed run leaves it for a moment to a program that it was starting."""
    held = os.open(place, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    ended: list[bool] = []

    def end() -> None:
        ended.append(True)
        os.close(held)

    ending = threading.Timer(0.1, end)
    ending.start()
    with store.locked(place):
        assert ended
    ending.join()


def test_a_dataset_that_a_run_measures_into_is_locked(place: Path) -> None:
    with store.locked(place):
        with pytest.raises(DelaylabError, match="another run measures into this dataset"):
            store.locked(place).__enter__()
        store.read_study(place)
    with store.locked(place):
        pass
