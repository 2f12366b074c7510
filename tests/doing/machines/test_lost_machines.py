"""Labs whose machines are lost, restart or are renamed: each state has a command out of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from delaylab_study.dataset import store
from tests.doing.conftest import only_line
from tests.doing.machines.ssh_machines import LAB, NEEDED, Lan, machines, two
from tests.waiting import wait_until

__all__ = ["machines", "two"]
pytestmark = NEEDED

MIXED = """\
lab: mixed
machines: {lab2: {ssh: m1}}
hosts: {office: {}, site: {machine: lab2}}
nodes: {client: {host: office}, server: {host: site}}
links: [{between: [client, server], name: wan, delay: 10ms}]
"""
ALONE = """\
lab: pair
machines: {m1: {ssh: m1}}
hosts: {h1: {machine: m1}}
nodes: {a: {host: h1}, b: {host: h1}}
links: [{between: [a, b], name: wan}]
"""

STUDY = f"""\
study: lost
lab:
{"".join(f"  {line}" for line in LAB.splitlines(keepends=True))}
probe: {{from: a, to: b, count: 20, interval: 4ms, at_rest: 5}}
factors: {{size: {{small: {{probe.size: 64}}, large: {{probe.size: 1000}}}}}}
repeat: 1
"""


def test_a_lost_machine_is_given_up_and_cleared_when_it_is_back(two: Lan) -> None:
    two.up(LAB)
    with two.hidden("m2"):
        said = only_line(two.up(LAB, code=1))
        assert "lab pair: is up, but not on m2: cannot be reached" in said
        assert said.endswith("if it never comes back: delaylab down pair --forget m2)")
        wrong = two.delaylab("down", "pair", "--forget", "m3", code=2).stderr
        assert "has no machine 'm3' (one of: m1, m2)" in only_line(wrong)
        failed = only_line(two.delaylab("down", "pair", code=1).stderr)
        assert "taken down on m1; its part is still on m2: cannot be reached" in failed
        assert failed.endswith("delaylab down pair --forget m2)")
        said = only_line(two.up(LAB, code=1))
        assert "was taken down on m1, not on m2: cannot be reached" in said
        done = two.delaylab("down", "pair", "--forget", "m2").stdout
        assert "pair: machine m2: given up: cannot be reached" in done
        assert "delaylab down pair --machine m2" in done
        assert not two.labs()
    assert "m2: lab 'pair' is up there already (delaylab down pair --machine m2)" in two.up(
        LAB, code=1
    )
    # Another lab of this name is up meanwhile. It stays.
    two.up(ALONE)
    found = only_line(two.delaylab("ps", "--machine", "m2", code=1).stderr)
    assert "delaylab down pair --machine m2 takes it down" in found
    done = two.delaylab("down", "pair", "--machine", "m2").stdout
    assert "pair: machine m2: an older lab of this name: taken down" in done
    two.wait_until_gone("m2")
    (lab,) = two.labs()
    assert not lab["unreachable"]


def test_a_machine_that_restarts_is_one_command_away_from_up(two: Lan) -> None:
    two.up(LAB)
    two.switch_off("m2", power=False)
    two.switch_on("m2")
    said = only_line(two.up(LAB, code=1))
    assert "is up, but not on m2: the lab has ended there" in said
    assert "delaylab down pair takes down the rest; then up again" in said
    done = two.delaylab("down", "pair").stdout
    assert "pair: machine m1: taken down" in done
    assert "pair: machine m2: the lab has ended there" in done
    two.wait_until_gone()
    two.up(LAB)
    # All of them: nothing is left that would have to be taken down.
    for name in two.names:
        two.switch_off(name, power=False)
        two.switch_on(name)
    two.up(LAB)


def test_a_lab_with_hosts_here_goes_down_after_this_machine_has_restarted(
    two: Lan, run_directory: Path
) -> None:
    two.up(MIXED)
    known = run_directory / ".clusters"
    keeper = json.loads((known / "mixed.json").read_text())["parts"]["local"]["built"]["pid"]
    # A restart: the part here has ended, and nothing is known of the lab any more.
    os.kill(keeper, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{keeper}").exists())
    shutil.rmtree(known)
    shutil.rmtree(run_directory / "mixed")
    said = only_line(two.up(MIXED, code=1))
    assert said.endswith("lab 'mixed' is up there already (delaylab down mixed --machine m1)")
    done = two.delaylab("down", "mixed", "--machine", "m1").stdout
    assert "mixed: machine lab2: taken down" in done
    assert "mixed: machine local: the lab has ended there" in done
    two.wait_until_gone()


def test_a_part_that_this_machine_has_of_an_unknown_lab_is_taken_down_from_here(
    two: Lan, run_directory: Path
) -> None:
    two.up(MIXED)
    shutil.rmtree(run_directory / ".clusters")
    done = two.delaylab("down", "mixed").stdout
    assert "mixed: machine local: taken down" in done
    assert "mixed: machine lab2: taken down" in done
    two.wait_until_gone()


def test_a_user_with_other_names_for_ssh_adopts_a_lab_part_by_part(
    two: Lan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.up(LAB)
    own = tmp_path / "other"
    own.mkdir(mode=0o700)
    config = two.folder / "ssh_config"
    before = config.read_text()
    with monkeypatch.context() as patched:
        patched.setenv("DELAYLAB_RUN", str(own))
        # Here m1 is the other machine, and m2 is none.
        names = {"Host m1\n": "Host srv1\n", "Host m2\n": "Host m1 srv2\n"}
        text = before
        for old, new in names.items():
            text = text.replace(old, new)
        config.write_text(text)
        try:
            said = two.delaylab("ps", "--machine", "srv2").stdout
            assert "pair: machine m1: ssh's 'm1' is another machine" in said
            assert "delaylab down pair --machine SSH" in said
            two.delaylab("exec", "b", "--", "true")
            two.delaylab("ps", "--machine", "srv1")
            (lab,) = two.labs()
            assert lab["unreachable"] == {}
            two.delaylab("exec", "a", "--", "ping", "-c", "1", "b.wan")
            done = two.delaylab("down", "pair").stdout
            assert "pair: machine m1: taken down" in done
            assert "pair: machine m2: taken down" in done
        finally:
            config.write_text(before)
    two.wait_until_gone()
    # For the first user it has ended on all machines: nothing stands in the way of another one.
    two.up(LAB)


def test_trials_that_failed_by_a_lost_machine_are_run_again_when_a_study_is_resumed(
    two: Lan,
) -> None:
    (two.folder / "study.yaml").write_text(STUDY)
    ssh = two.folder / "bin" / "ssh"
    plain = ssh.read_text()
    once = f'case "$*" in *m2*) mkdir {two.folder}/asked || exit 255 ;; esac\n'
    # m2 describes itself when the study begins, and is not to be reached any more then.
    ssh.write_text(plain.replace("exec", f"{once}exec"))
    try:
        said = two.delaylab("run", "study.yaml", "--out", "out", code=1).stderr
    finally:
        ssh.write_text(plain)
    assert "trials failed since a machine was lost: m2; run them again with: " in said
    assert "delaylab run --resume out" in said
    out = two.folder / "out"
    first = store.read_study(out).trials
    assert [(trial.status, trial.lost) for trial in first] == [("failed", "m2")] * 2
    again = two.delaylab("run", "--resume", "out")
    assert f"run again, since a machine was lost: {first[0].id}" in again.stderr
    trials = store.read_study(out).trials
    assert [(trial.status, trial.lost) for trial in trials] == [("ok", None)] * 2
