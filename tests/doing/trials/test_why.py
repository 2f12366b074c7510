"""`delaylab why` names who made a trial's packets slow, from the dataset alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from delaylab_study.dataset.store import read_study
from tests.culprit import CULPRIT
from tests.doing.conftest import Run, as_json, skip_unless_runnable
from tests.truth.alone import alone

pytestmark = pytest.mark.root

GONE = """\
way=$(ip -4 route show table local type local dev line)
sleep 0.5
ip route del table local $way dev line
sleep 0.5
ip route add table local $way dev line
exec sleep 60
"""
FEWEST_NAMED = 5
"""The culprit is there for a tenth of the time: some 30 of 300 packets come then."""
STUDY = """\
study: why
lab:
  lab: why
  nodes: {one: {cpus: [0]}, two: {cpus: [1]}}
  links: [{between: [one, two], name: line, delay: 1ms}]
factors:
  load:
    none: []
    culprit: [{command: [python3, FOLDER/culprit.py], on: two}]
    gone: [{command: [sh, FOLDER/gone.sh], on: two}]
probe: {from: one, to: two, protocol: udp, count: 300, interval: 7ms, at_rest: 30, causes: true}
scales: {quick: {repeat: 1}}
"""
INSIDE = """\
study: inside
lab:
  lab: inside
  nodes: {one: {cpus: [0]}, two: {kind: qemu, memory: 512MiB, cpus: [1]}}
  links: [{between: [one, two], delay: 1ms}]
factors:
  load: {busy: [{command: [sh, -c, "while :; do :; done"], on: two}]}
probe: {from: one, to: two, protocol: udp, count: 200, interval: 20ms, at_rest: 40, causes: true}
scales: {quick: {repeat: 1}}
"""


def test_a_dataset_says_who_made_its_packets_slow(delaylab: Run, tmp_path: Path) -> None:
    (tmp_path / "culprit.py").write_text(CULPRIT)
    (tmp_path / "gone.sh").write_text(GONE)
    (tmp_path / "study.yaml").write_text(STUDY.replace("FOLDER", str(tmp_path)))
    dataset = tmp_path / "data"
    with alone():
        delaylab("run", str(tmp_path / "study.yaml"), "--out", str(dataset))
    _names_the_culprit(delaylab, dataset)
    _adds_up(delaylab, dataset)
    _says_it_of_one_trial(delaylab, dataset)
    _says_how_packets_were_lost(delaylab, dataset)
    for each in dataset.glob("trials/*/windows.parquet"):
        each.unlink()
    done = delaylab("why", str(dataset), code=2)
    (line,) = done.stderr.splitlines()
    assert "causes: true" in line


def test_a_kernel_that_does_not_describe_its_types_is_named(delaylab: Run, tmp_path: Path) -> None:
    """The machine's own kernel answers for its part all the same."""
    skip_unless_runnable("uml")
    (tmp_path / "study.yaml").write_text(INSIDE.replace("kind: qemu", "kind: uml"))
    dataset = tmp_path / "data"
    delaylab("run", str(tmp_path / "study.yaml"), "--out", str(dataset))
    study = read_study(dataset)
    (trial,) = study.trials
    (doubt,) = (each.message for each in trial.warnings if each.kind == "no-causes")
    assert "of node.two: " in doubt
    assert "BTF" in doubt
    assert set(study.of_cpus(trial.id)[0]["machine"]) == {"local"}
    assert "linux in node.two" in delaylab("why", str(dataset), "--slowest", "50").stdout


@pytest.mark.slow
def test_a_virtual_machine_says_what_happened_inside(delaylab: Run, tmp_path: Path) -> None:
    """Its own kernel records its CPUs; the machine's kernel sees the virtual CPU as one task."""
    skip_unless_runnable("qemu")
    (tmp_path / "study.yaml").write_text(INSIDE)
    dataset = tmp_path / "data"
    delaylab("run", str(tmp_path / "study.yaml"), "--out", str(dataset))
    study = read_study(dataset)
    (trial,) = study.trials
    assert set(study.of_cpus(trial.id)[0]["machine"]) == {"local", "node.two"}
    said = delaylab("why", str(dataset), "--slowest", "50").stdout
    assert "CPU 0/TCG in node.two" in said or "CPU 0/KVM in node.two" in said
    assert re.search(r"remote .* to .*: .*init in node\.two", said), said
    assert "unknown" not in said.partition("\n\n")[0]


def _names_the_culprit(delaylab: Run, dataset: Path) -> None:
    """The culprit is named with the segment, and each CPU has a line."""
    blocks = delaylab("why", str(dataset), "--slowest", "60").stdout.split("\n\n")
    assert blocks[0].startswith("load=")
    named = "node.two waited for a CPU that culprit in node.two had"
    assert sum(named in block for block in blocks[1:]) >= FEWEST_NAMED, blocks
    for block in blocks[1:]:
        lines = block.splitlines()
        assert "more than usual" in lines[0]
        assert any(line.startswith("  CPU 1 ") for line in lines)
        assert "each; · idle; A " in block


def _adds_up(delaylab: Run, dataset: Path) -> None:
    """The shares of a packet are its excess, and causes at quantiles are in JSON."""
    found = as_json(delaylab("why", str(dataset), "--slowest", "50", "--json"))
    for packet in found["slowest"]:
        assert sum(share["ns"] for share in packet["shares"]) == packet["excess_ns"]
    levels = {each["levels"]: each for each in found["levels"]}
    (near,) = (each for each in levels["load=culprit"]["at"] if each["quantile"] == "median")
    assert near["rtt_ns"] > 2_000_000, "twice the link's delay"
    assert levels["load=none"]["usual"] >= 10
    head, *rows = delaylab("show", str(dataset), "--csv", "causes").stdout.splitlines()
    assert head.startswith("levels,near,rtt_us,")
    assert "run_queue_wait_us" in head
    assert {"load=none,median", "culprit,median"} <= {",".join(row.split(",")[:2]) for row in rows}


def _says_it_of_one_trial(delaylab: Run, dataset: Path) -> None:
    (trial,) = (each.id for each in read_study(dataset).trials if each.factors["load"] == "culprit")
    said = delaylab("why", str(dataset), "--trial", trial, "--slowest", "1").stdout
    assert said.splitlines()[0].startswith("load=culprit: ")
    assert "load=none" not in said


def _says_how_packets_were_lost(delaylab: Run, dataset: Path) -> None:
    """For half a second the responder's node does not know its own address."""
    levels = as_json(delaylab("why", str(dataset), "--json"))["levels"]
    (lost,) = (each["lost"] for each in levels if each["levels"] == "load=gone")
    (text,) = (each for each in lost if each.endswith("(IP_INADDRERRORS)"))
    assert " of node.two: " in text
    assert lost[text] >= FEWEST_NAMED
    assert f"{lost[text]} packets lost: {text}" in delaylab("why", str(dataset)).stdout
