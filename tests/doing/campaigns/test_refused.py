"""Campaigns that cannot be: one line each, and nothing is lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from delaylab.errors import DelaylabError
from delaylab.machines import LOCAL
from delaylab_study.dataset.store import finished, read_study
from delaylab_study.study_file.load import load_study
from delaylab_study.verbs.campaigns import Cluster
from delaylab_study.verbs.studies import begin, planned_study, run
from tests.doing.campaigns.cluster import STUDY, cluster, study
from tests.doing.conftest import Run, only_line
from tests.waiting import wait_until_gone

pytestmark = pytest.mark.root


def test_a_scheduler_that_is_not_there_is_one_line(delaylab: Run, tmp_path: Path) -> None:
    out = tmp_path / "data"
    file = study(tmp_path, repeats=1)
    nowhere = "tcp://127.0.0.1:9"
    said = delaylab("run", str(file), "--out", str(out), "--on", nowhere, code=1)
    assert f"no scheduler at {nowhere}" in only_line(said.stderr)
    assert read_study(out).record.planned, "the study is begun: --resume goes on"
    said = delaylab("worker", nowhere, code=1, timeout=60)
    assert f"no scheduler at {nowhere}" in only_line(said.stderr)


def test_a_cluster_without_machines_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delaylab_study.campaign.coordinator.PATIENCE_S", 1.0)
    planned = planned_study(load_study(study(tmp_path, repeats=1)), "quick", {})
    folder = begin(planned, tmp_path / "data")
    with cluster(tmp_path) as made, pytest.raises(DelaylabError) as error:
        run(folder, Console(stderr=True), where=Cluster(made.address))
    assert str(error.value) == (
        "no machine to run 2 trials on (start `delaylab worker` on a machine, then resume the run)"
    )


def test_a_machine_that_cannot_run_the_kinds_is_named_and_left_alone(
    delaylab: Run, tmp_path: Path
) -> None:
    """It lacks the program of a load, as it may lack those of a kind."""
    out = tmp_path / "data"
    with cluster(tmp_path) as made:
        made.worker("able")
        made.environment = {**made.environment, "PATH": "/nowhere"}
        made.worker("unable")
        text = STUDY.replace("factors:\n", "factors:\n  load: {cpu: [{cpu: 1, on: other}]}\n")
        file = study(tmp_path, 2, text)
        said = delaylab("run", str(file), "--out", str(out), "--on", made.address)
    assert "machine unable is not used: it cannot run trial" in said.stderr
    assert {trial.machine for trial in read_study(out).trials} == {"able"}, said.stderr


def test_a_worker_of_another_version_is_named_and_not_used(delaylab: Run, tmp_path: Path) -> None:
    """The version is what Python says of the package that it finds first."""
    other = tmp_path / "other" / "delaylab-0.0.1.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: delaylab\nVersion: 0.0.1\n")
    out = tmp_path / "data"
    with cluster(tmp_path) as made:
        made.worker("same")
        made.environment = {**made.environment, "PYTHONPATH": str(other.parent)}
        made.worker("older")
        said = delaylab("run", str(study(tmp_path, 2)), "--out", str(out), "--on", made.address)
    line = next(each for each in said.stderr.splitlines() if "older" in each)
    assert "machine older is not used: it has delaylab 0.0.1, and this machine delaylab" in line
    assert {trial.machine for trial in read_study(out).trials} == {"same"}, said.stderr


def test_a_full_disk_is_one_line_and_loses_nothing(delaylab: Run, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160k", "dl", str(small)], check=True)
    try:
        with cluster(tmp_path) as made:
            made.worker("lab1")
            file, out = study(tmp_path, repeats=10), small / "data"
            said = delaylab("run", str(file), "--out", str(out), "--on", made.address, code=1)
            assert "No space left on device" in said.stderr.strip().splitlines()[-1]
            kept = finished(out)
            assert 0 < len(kept) < 20, "the disk was filled by trials"
            assert not list((out / "trials").glob(".*")), "no trial is there in part"
            wait_until_gone(LOCAL.labs)
            subprocess.run(["mount", "-o", "remount,size=100m", str(small)], check=True)
            before = {trial.id: trial.ended for trial in read_study(out).trials}
            delaylab("run", "--resume", str(out), "--on", made.address)
            after = read_study(out).trials
        assert [trial.status for trial in after] == ["ok"] * 20
        assert {trial.id: trial.ended for trial in after if trial.id in before} == before
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_tls_that_fails_is_one_line(delaylab: Run, tmp_path: Path) -> None:
    authority, other = _authority(tmp_path, "one"), _authority(tmp_path, "other")
    scheduler = [
        *("--protocol", "tls", "--tls-ca-file", str(authority / "ca.pem")),
        *("--tls-cert", str(authority / "ca.pem"), "--tls-key", str(authority / "ca.key")),
    ]
    with cluster(tmp_path, options=scheduler) as made:
        assert made.address.startswith("tls://")
        made.worker("lab1", *_files(authority))
        file = study(tmp_path, repeats=1)
        out = str(tmp_path / "data")
        said = delaylab(
            "run", str(file), "--out", out, "--on", made.address, *_files(other), code=1
        )
        assert f"no scheduler at {made.address}" in only_line(said.stderr)
        delaylab("run", "--resume", out, "--on", made.address, *_files(authority))
    assert len(finished(tmp_path / "data")) == 2


def test_some_files_of_tls_are_one_line(delaylab: Run, tmp_path: Path) -> None:
    said = delaylab("worker", "tls://127.0.0.1:9", "--tls-cert", str(tmp_path), code=2)
    assert "TLS needs --tls-ca-file and --tls-key, too" in only_line(said.stderr)


def _authority(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir()
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "1", "-subj", f"/CN={name}"),
            *("-keyout", str(made / "ca.key"), "-out", str(made / "ca.pem")),
        ],
        check=True,
        capture_output=True,
    )
    return made


def _files(authority: Path) -> list[str]:
    names = {"--tls-ca-file": "ca.pem", "--tls-cert": "ca.pem", "--tls-key": "ca.key"}
    return [part for option, name in names.items() for part in (option, str(authority / name))]
