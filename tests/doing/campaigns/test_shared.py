"""A study on the machines of a cluster: real scheduler, real workers, real packets."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from delaylab.machines import LOCAL
from delaylab_study.dataset.store import read_study
from tests.doing.campaigns.cluster import cluster, study
from tests.doing.conftest import Run

pytestmark = pytest.mark.root


def test_two_workers_share_a_study_block_by_block(delaylab: Run, tmp_path: Path) -> None:
    out = tmp_path / "data"
    with cluster(tmp_path) as made:
        made.worker("lab1")
        made.worker("lab2")
        said = delaylab(
            *("run", str(study(tmp_path, repeats=4)), "--on", made.address, "--out", str(out))
        )
        assert not LOCAL.labs(), said.stderr
    found = read_study(out)
    assert [trial.status for trial in found.trials] == ["ok"] * 8
    machines = defaultdict(set)
    for trial in found.trials:
        assert trial.machine is not None
        machines[trial.repeat].add(trial.machine)
    assert {name for names in machines.values() for name in names} == {"lab1", "lab2"}
    assert all(len(names) == 1 for names in machines.values()), "a block stays on a machine"
    assert {"lab1", "lab2"} <= found.record.machines.keys()
    for trial in found.trials:
        assert len(found.stamps(trial.id)) > 0


def test_to_run_again_is_to_resume_with_or_without_the_cluster(
    delaylab: Run, tmp_path: Path
) -> None:
    out = tmp_path / "data"
    file = study(tmp_path, repeats=2)
    delaylab("run", str(file), "--out", str(out))
    before = {trial.id: trial.ended for trial in read_study(out).trials}
    with cluster(tmp_path) as made:
        made.worker("lab1")
        delaylab("run", "--resume", str(out), "--repeat", "3", "--on", made.address)
        again = ("--repeat", "3", "--out", str(out), "--on", made.address)
        delaylab("run", str(file), *again)
        assert len(read_study(out).trials) == 6, "all trials were there"
        file.write_text(file.read_text().replace("delay: 1ms", "delay: 2ms"))
        said = delaylab("run", str(file), *again, code=2)
        assert "a dataset of other trials" in said.stderr
        assert "it is another trial there" in said.stderr
    after = read_study(out).trials
    assert {trial.id: trial.ended for trial in after if trial.id in before} == before
    assert {trial.machine for trial in after if trial.id not in before} == {"lab1"}
    assert len(after) == 6
