"""A hostile agent costs its own trials, or ends a verb with one line; all else goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from delaylab_study.dataset import store
from tests.doing.conftest import DELAYLAB, own_run_directory

pytestmark = pytest.mark.root
ROOT = Path(__file__).parents[3]
STUDY = """\
study: guests
lab:
  lab: guests
  nodes: {probe: {}, honest: {}, hostile: {}}
  links: [{join: [probe, honest, hostile], name: lan}]
factors:
  load: {rest: []}
  answered: {honestly: {probe.to: honest}, as-it-likes: {probe.to: hostile}}
probe: {from: probe, to: honest, protocol: udp, count: 20, interval: 1ms, at_rest: 2, late: 200ms}
repeat: REPEAT
"""
LAB = """\
lab: watched
nodes: {a: {}, r: {forwards: true}, b: {}}
links: [{between: [a, r], name: near, delay: 1ms}, {between: [r, b], name: far}]
"""
VERBS = {
    "watch": ("observe", ["watch", "watched", "--for", "1s"]),
    "exec": ("exec", ["exec", "r", "--", "ip", "route"]),
    "link set": ("links,link-set", ["link", "set", "watched", "near", "delay=2ms"]),
    "ps": ("links,programs,addresses", ["ps", "--json"]),
    "ping": ("probe,clock,route", ["ping", "-c", "3", "-i", "1ms", "127.0.0.1"]),
    "up": ("build,exec,links", ["up", "other.yaml"]),
}


def lied_to(
    *argv: str, at: str, ops: str, often: float, seed: int, cwd: Path
) -> subprocess.CompletedProcess[str]:
    """Run a command that hears changed answers; check that it ends as a user is promised."""
    lies = {"AT": at, "OPS": ops, "OFTEN": str(often), "SEED": str(seed)}
    ran = subprocess.run(
        [sys.executable, "-m", "tests.doing.security.hostile_run", *argv],
        cwd=cwd,
        env={
            **os.environ,
            **{f"HOSTILE_{name}": value for name, value in lies.items()},
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "src"))),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in ran.stdout + ran.stderr, ran.stderr
    assert ran.returncode in (0, 1, 2), ran.stderr
    return ran


def study_with(seed: int, repeat: int, folder: Path) -> list[str]:
    """Check a study in which one responder lies; return the reasons for its failed trials."""
    folder.mkdir(exist_ok=True)
    (folder / "study.yaml").write_text(STUDY.replace("REPEAT", str(repeat)))
    with own_run_directory():
        argv = ("run", "study.yaml", "--out", "data")
        at, ops = "node.hostile", "reflect,counters"
        ran = lied_to(*argv, at=at, ops=ops, often=0.2, seed=seed, cwd=folder)
    trials = store.read_study(folder / "data").trials
    assert len(trials) == 2 * repeat, ran.stderr
    honest = [trial for trial in trials if trial.factors["answered"] == "honestly"]
    assert {trial.status for trial in honest} == {"ok"}, ran.stderr
    reasons = [trial.reason or "" for trial in trials if trial.status == "failed"]
    for reason in reasons:
        assert reason.startswith("node.hostile: ")
        assert len(reason.splitlines()) == 1
    assert (ran.returncode == 0) == (not reasons), ran.stderr
    return reasons


def test_trials_of_a_hostile_agent_fail_and_others_are_kept(tmp_path: Path) -> None:
    # Most changes are harmful; a trial fails if its second try does, too.
    assert any(study_with(seed, 2, tmp_path / str(seed)) for seed in range(1, 6))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_many_trials_of_a_hostile_agent(seed: int, tmp_path: Path) -> None:
    assert study_with(seed, 8, tmp_path), "most changes are harmful"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Bring a lab up, and return a folder with the file of another one."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "lab.yaml").write_text(LAB)
    (folder / "other.yaml").write_text(LAB.replace("watched", "other"))
    with own_run_directory():
        subprocess.run([DELAYLAB, "up", "lab.yaml"], cwd=folder, check=True, capture_output=True)
        try:
            yield folder
        finally:
            subprocess.run([DELAYLAB, "down", "watched"], check=True, capture_output=True)


def verb_with(seed: int, verb: str, lab: Path) -> bool:
    """Check a verb whose agents lie; return True if it fails."""
    ops, argv = VERBS[verb]
    ran = lied_to(*argv, at="*", ops=ops, often=0.7, seed=seed, cwd=lab)
    if verb == "up" and ran.returncode == 0:
        subprocess.run([DELAYLAB, "down", "other"], check=True, capture_output=True)
    last = ran.stderr.strip().splitlines()
    if ran.returncode:
        assert last[-1].startswith("delaylab: "), ran.stderr
        assert sum(line.startswith("delaylab: ") for line in last) == 1, ran.stderr
    return ran.returncode != 0


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_ends_in_one_line(lab: Path, verb: str) -> None:
    for seed in (1, 2):
        verb_with(seed, verb, lab)


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_ends_in_one_line_whatever_is_said(lab: Path, verb: str) -> None:
    failed = [verb_with(seed, verb, lab) for seed in range(3, 30)]
    assert any(failed) or verb == "ps", "else nothing was changed"
