"""A load that did not act makes a claim not testable, never a verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.analysis.group import groups
from delaylab.dataset.store import read_study
from delaylab.papers.findings import findings
from tests import synthetic
from tests.synthetic import Condition, constant

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
