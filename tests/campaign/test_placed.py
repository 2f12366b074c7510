"""A study's labs on another machine: what a lab file with `machines:` would say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from delaylab.errors import BadInput
from delaylab_study.study.order import plan_trials
from delaylab_study.study_file.load import load_study
from delaylab_study.verbs.campaigns import Cluster, check_movable, machines_of, where_of

STUDY = """\
study: one
lab:
  lab: one
  {}
  nodes: {{a: {{{}}}, b: {{{}}}}}
  links: [{{between: [a, b], name: line, delay: 1ms}}]
probe: {{from: a, to: b, count: 20, interval: 5ms}}
"""


def hosts_of(folder: Path, lab: str, machine: str) -> dict[str, str | None]:
    """Return the machine of each host of the study's lab."""
    file = folder / "study.yaml"
    file.write_text(STUDY.format(lab, *(("host: x", "host: y") if lab else ("", ""))))
    study = load_study(file)
    (placed,) = machines_of(machine, study)
    (trial,) = plan_trials(replace(study, machine=placed), "quick", {})
    return {name: host.machine for name, host in trial.combination.lab.hosts.items()}


@pytest.mark.parametrize(
    ("lab", "expected"),
    [
        ("", {"here": "lab2"}),
        ("hosts: {x: {}, y: {cpus: [0]}}", {"x": "lab2", "y": "lab2"}),
        ("machines: {m: {ssh: m}}\n  hosts: {x: {}, y: {}}", {"x": "lab2", "y": "lab2"}),
        (
            "machines: {m: {ssh: m}}\n  hosts: {x: {machine: m}, y: {machine: m}}",
            {"x": "lab2", "y": "lab2"},
        ),
    ],
)
def test_all_hosts_are_on_the_machine(
    tmp_path: Path, lab: str, expected: dict[str, str | None]
) -> None:
    assert hosts_of(tmp_path, lab, "lab2") == expected


@pytest.mark.parametrize(
    ("hosts", "by_ssh", "by_cluster"),
    [
        ("{x: {}, y: {}}", True, True),
        ("{x: {machine: m}, y: {machine: m}}", True, False),
        ("{x: {}, y: {machine: m}}", False, False),
    ],
)
def test_a_lab_that_spans_machines_is_refused(
    tmp_path: Path, hosts: str, by_ssh: bool, by_cluster: bool
) -> None:
    file = tmp_path / "study.yaml"
    lab = f"machines: {{m: {{ssh: m}}}}\n  hosts: {hosts}"
    file.write_text(STUDY.format(lab, "host: x", "host: y"))
    study = load_study(file)
    planned = plan_trials(study, "quick", {})
    for where, expected in (
        (machines_of("lab2", study), by_ssh),
        (Cluster("tcp://x:1"), by_cluster),
        (None, True),
    ):
        if expected:
            check_movable(where, planned)
            continue
        with pytest.raises(BadInput, match="the hosts of its lab are on machines that it names"):
            check_movable(where, planned)


def test_names_are_those_of_the_lab_or_of_ssh(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(STUDY.format("machines: {m: {ssh: root@192.0.2.1, sudo: true}}", "", ""))
    study = load_study(file)
    own, other = machines_of("m, root@192.0.2.9", study)
    assert (own.name, own.spec.ssh, own.spec.sudo) == ("m", "root@192.0.2.1", True)
    assert (other.name, other.spec.ssh) == ("192-0-2-9", "root@192.0.2.9")
    with pytest.raises(BadInput, match="exclude each other"):
        where_of(Cluster("tcp://x:1"), "m", study)
