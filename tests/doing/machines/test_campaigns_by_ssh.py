"""A study on machines that ssh reaches: whole blocks run there, and nothing is deployed."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from delaylab_study.dataset.store import read_study
from tests.doing.campaigns.cluster import study
from tests.doing.machines.ssh_machines import NEEDED, Lan, machines, two

__all__ = ["machines", "two"]
pytestmark = NEEDED


def test_two_machines_share_a_study(two: Lan, tmp_path: Path) -> None:
    out = tmp_path / "data"
    file = study(tmp_path, repeats=4)
    two.delaylab("run", str(file), "--machines", "m1,m2", "--out", str(out))
    found = read_study(out)
    assert [trial.status for trial in found.trials] == ["ok"] * 8
    ran = defaultdict(set)
    for trial in found.trials:
        ran[trial.repeat].add(trial.machine)
        assert trial.hosts == {"here": trial.machine}
    assert all(len(names) == 1 for names in ran.values()), "a block stays on a machine"
    assert set().union(*ran.values()) == {"m1", "m2"}
    for name in ("m1", "m2"):
        assert json.loads(two.delaylab("ps", "--machine", name, "--json").stdout)["labs"] == []
    # One machine goes on alone.
    two.delaylab("run", "--resume", str(out), "--repeat", "5", "--machines", "m2")
    more = [trial for trial in read_study(out).trials if trial.repeat == 5]
    assert {(trial.status, trial.machine) for trial in more} == {("ok", "m2")}


def test_bad_machines_are_one_line(two: Lan, tmp_path: Path) -> None:
    file, out = str(study(tmp_path, repeats=1)), str(tmp_path / "data")
    for given, says in (
        ("", "--machines names none"),
        ("m1,m1", "'m1' is there twice"),
        ("m1;reboot", "no machine 'm1;reboot'"),
    ):
        said = two.delaylab("run", file, "--machines", given, "--out", out, code=2)
        assert says in said.stderr
        assert not Path(out).exists()
