"""A load that did not act makes a claim not testable, never a verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from delaylab.records.doubts import DoubtKind, doubt
from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.claims import imagined
from delaylab_study.analysis.claims.imagined import Design
from delaylab_study.analysis.doubts.machine_state import PhaseState
from delaylab_study.analysis.doubts.reserved_cpus import ReservedSeen, reserved_seen
from delaylab_study.analysis.treatments.check import checks
from delaylab_study.dataset.records.trial import Load, ReservedCpus, TrialRecord
from delaylab_study.dataset.store import read_study
from delaylab_study.papers.findings import findings
from delaylab_study.study_file.loads import LOADS
from tests import synthetic
from tests.grouped import in_state
from tests.synthetic import Condition, constant

TIMEOUT_NS = 100_000_000
SLOW = {("request", "sender.uplink"): constant(5000)}


@pytest.mark.parametrize(
    ("load", "achieved", "said"),
    [
        ("network", {"sent_bps": 2e7, "received_bps": 1e7, "uplink_bps": 1e8}, "was 20 %"),
        ("network", {"sent_bps": 0, "received_bps": 0}, "rate on an uplink without a limit"),
        ("cpu", {"cpu_percent_per_worker": 3.0}, "CPU used by the workers together was 3 %"),
        ("cpu", {"other": 1.0}, "CPU used by the workers together is not known"),
        ("disk", {"operations_per_s": 9000.0, "written_bytes_per_s": 0.0}, "writing to storage"),
        ("disk", {"operations_per_s": 9000.0}, "writing to storage is not known"),
        ("io", {"operations_per_s": 0.0}, "operations per second"),
        ("memory", {"other": 1.0}, "operations per second is not known"),
        ("frames", {"sent_per_s": 5e4, "asked_per_s": 1e5}, "its rate that was sent was 50 %"),
        ("frames", {"other": 1.0}, "rate without a limit is not known"),
        ("requests", {"other": 1.0}, "its rate that was sent is not known"),
        ("requests", {"sent_per_s": 80.0, "asked_per_s": 1e2}, "its rate that was sent was 80 %"),
        (
            "requests",
            {
                "sent_per_s": 99.0,
                "asked_per_s": 1e2,
                "sent": 200.0,
                "answered_share": 0.5,
                "least_answered": 0.9,
            },
            "share of 200 requests with a good answer was 50 %, at least 90 % is needed",
        ),
    ],
)
def test_a_load_that_did_not_act_gives_no_verdict(
    tmp_path: Path, load: str, achieved: dict[str, float], said: str
) -> None:
    claim = "network-adds-most"
    other = "cpu" if load == "network" else "network"
    conditions = [Condition(load=load, delays=SLOW, achieved=achieved, seed=1)]
    if load != "network":
        conditions.append(Condition(load=other, delays=SLOW, seed=2))
    study = read_study(synthetic.write(tmp_path, conditions, [claim]))
    (finding,) = findings(study, list(groups(study)))
    assert finding.verdict == "not testable here"
    assert "its load did not act" in finding.why
    assert said in finding.why


@pytest.mark.parametrize("load", LOADS)
def test_each_load_acts_in_trials_that_are_imagined(tmp_path: Path, load: str) -> None:
    """A dry run says what a study can decide if its loads act."""
    study = read_study(synthetic.write(tmp_path, [Condition(load=load, delays=SLOW, seed=1)]))
    (group,) = groups(study)
    found = checks(group)
    assert found
    assert [check.text for check in found if not check.acted] == []


def test_a_trial_whose_link_somebody_changed_gives_no_verdict(tmp_path: Path) -> None:
    conditions = [Condition(load=load, delays=SLOW, seed=1) for load in ("network", "cpu")]
    folder = synthetic.write(tmp_path, conditions, ["network-adds-most"])
    study = read_study(folder)
    (before,) = findings(study, list(groups(study)))
    assert before.verdict != "not testable here"
    changed = [
        replace(group, trials=[_warned(trial) for trial in group.trials]) for group in groups(study)
    ]
    (finding,) = findings(study, changed)
    assert finding.verdict == "not testable here"
    assert "the conditions of a link were changed by `link set`" in finding.why
    assert "link wan" in finding.why


def _warned(trial: TrialRecord) -> TrialRecord:
    """Return a trial during which somebody changed a link."""
    changed = doubt(DoubtKind.CONDITIONS_CHANGED, "changed", "", link="wan", changes=1)
    return trial.model_copy(update={"warnings": [*trial.warnings, changed]})


@pytest.mark.parametrize(
    ("cpus", "others"), [([1], 0.4 - 0.1), ([0, 1], 0.4 - 0.1 / 2), ([7], None)]
)
def test_what_others_use_of_reserved_cpus_is_seen(cpus: list[int], others: float | None) -> None:
    """Each of the two CPUs is busy for 40 % of the time; node `probe` keeps 0.1 CPUs busy."""
    reserved = ReservedCpus(cpus=cpus, nodes=["probe"])
    record = {**synthetic.trial(Condition(), 0), "reserved": [reserved.model_dump()]}
    trial = TrialRecord.model_validate(record)
    hosts = synthetic.hosts(20, busy=0.4)
    end_ns = synthetic.START + 20 * synthetic.SAMPLE_NS
    phases = [("before", 0, synthetic.START), ("load", synthetic.START, end_ns)]
    (seen,) = reserved_seen(trial, hosts, phases, "load")
    assert seen.others == (None if others is None else pytest.approx(others))


@pytest.mark.parametrize(
    ("others", "acted"), [(0.0, True), (0.09, True), (0.11, False), (None, False)]
)
def test_reserved_cpus_that_others_used_are_none(others: float | None, acted: bool) -> None:
    group = imagined.group(Design({}), {"app": np.ones(40)})
    reserved = [ReservedSeen("t", [1], ["probe"], others)]
    (check,) = checks(replace(group, machine=replace(group.machine, reserved=reserved)))
    assert check.acted is acted
    assert check.text.startswith("CPU 1 of probe: time that others left")


def test_a_probe_that_was_in_no_closed_loop_gives_no_verdict(tmp_path: Path) -> None:
    """Its packets are 5 ms apart, as its record says that they were sent by replies of 5 ms."""
    conditions = [
        Condition(load="rest", seed=1),
        Condition(load="network", delays=SLOW, seed=2, timeout_ns=TIMEOUT_NS),
    ]
    study = read_study(synthetic.write(tmp_path, conditions, ["network-adds-most"]))
    (finding,) = findings(study, list(groups(study)))
    assert finding.verdict == "not testable here"
    assert "its probe was in no closed loop: netns, network: closed loop: " in finding.why
    assert "after the last one's reply or timeout was" in finding.why


def test_a_closed_loop_raises_no_doubt_of_its_slip(tmp_path: Path) -> None:
    """An interval of 0 is none that a slip could be a large part of."""
    conditions = [Condition(timeout_ns=TIMEOUT_NS), Condition(load="cpu", interval_ns=10)]
    study = read_study(synthetic.write(tmp_path, conditions, []))
    closed, opened = groups(study)
    assert DoubtKind.SEND_SLIP not in {doubt.kind for doubt in closed.doubts}
    assert DoubtKind.SEND_SLIP in {doubt.kind for doubt in opened.doubts}


def test_the_other_trials_still_decide(tmp_path: Path) -> None:
    conditions = [
        Condition(load="rest", seed=1),
        Condition(load="network", delays=SLOW, seed=2),
        Condition(load="cpu", achieved={"cpu_percent_per_worker": 3.0}, seed=3),
    ]
    study = read_study(synthetic.write(tmp_path, conditions, ["network-adds-most"]))
    (finding,) = findings(study, list(groups(study)))
    assert finding.verdict == "reproduced"
    assert "Left out, because its load did not act: netns, cpu: cpu" in finding.why


@pytest.mark.parametrize(
    ("cpus", "waited", "acted"),
    [(1, 0.0, True), (2, 0.0, False), (2, 0.02, True)],
    ids=["full CPUs", "a CPU is idle and nobody waited", "a CPU is idle, but tasks waited"],
)
def test_a_cpu_load_must_fill_its_cpus_or_make_tasks_wait(
    cpus: int, waited: float, acted: bool
) -> None:
    """A probe of four packets per second hardly waits in sum, even on a CPU that is full."""
    used = {"cpu_percent_per_worker": 99.0, "cpus": float(cpus)}
    load = Load.model_validate({"load": "cpu", "on": "noisy", "asked": 1, "achieved": used})
    phase = PhaseState("load", 100, 1.0, 0.0, waited, 0.0, {}, 40, 0)
    group = imagined.group(Design({"load": "cpu"}), {"app": np.ones(40)}, loads=[load])
    found = in_state(group, phases=[phase])
    assert all(check.acted for check in checks(found)) is acted


@pytest.mark.parametrize(
    ("used", "waited", "acted"),
    [(13.0, 0.99, True), (13.0, 0.2, False), (1.0, 0.99, False)],
    ids=["crowded CPUs", "CPUs with room", "it did nothing beside others"],
)
def test_where_other_work_crowds_the_cpus_a_load_gets_less_of_them(
    used: float, waited: float, acted: bool
) -> None:
    achieved = {"cpu_percent_per_worker": used, "cpus": 2.0}
    load = Load.model_validate({"load": "cpu", "on": "noisy", "asked": 1, "achieved": achieved})
    phase = PhaseState("load", 100, 1.0, 0.0, waited, 1.5, {}, 40, 0)
    group = imagined.group(Design({"load": "cpu"}), {"app": np.ones(40)}, loads=[load])
    found = in_state(group, phases=[phase])
    assert all(check.acted for check in checks(found)) is acted
