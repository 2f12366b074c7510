"""`probe: {clean: …}` from a study's file to its report, beside a load that pauses."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab_study.analysis.analyse import groups
from delaylab_study.dataset.store import read_study
from tests.doing.conftest import Run, as_json
from tests.grouped import of_packets

pytestmark = pytest.mark.root
STUDY = """
study: cleaned
lab:
  lab: cleaned
  nodes: {probe: {}, noisy: {}, echo: {}}
  links: [{join: [probe, noisy, echo], name: lan}]
factors:
  load:
    rest: []
    always: [{cpu: 4, on: noisy}]
    network: [{network: both-ways, on: noisy, to: echo}]
probe: {from: probe, to: echo, count: 40, interval: 20ms, at_rest: 5, at_rest_interval: 20ms,
  clean: {budget: 20, deadline: 2s}}
"""


def test_biased_packets_are_refused_and_sent_again_and_the_raw_ones_stay(
    delaylab: Run, tmp_path: Path
) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    delaylab("run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "data"))
    study = read_study(tmp_path / "data")
    by_load = {trial.factors["load"]: trial for trial in study.trials}
    for trial in study.trials:
        feedback, probes = trial.clean, study.probes(trial.id)
        assert feedback is not None
        assert (feedback.asked, feedback.budget) == (40, 20)
        assert len(probes.filter(phase="load")) == 40
        assert len(probes.filter(phase="again")) == feedback.sent <= 20
    # Four programs that compute leave no CPU for a while, and bulk TCP fills an interface.
    for load in ("always", "network"):
        found = by_load[load].clean
        assert found is not None
        assert (found.sent, found.ended_by) == (0, "deadline")
        # How long depends on how long a busy machine took to send; a packet takes far less.
        assert found.waited_ns > 10**8
    shown = delaylab("show", str(tmp_path / "data")).stdout
    assert "always: clean: 0 packets kept, 40 refused" in shown
    assert "fewer clean packets than asked for: the deadline came first" in shown
    for group in groups(study):
        (trial,), seen = group.trials, of_packets(group).clean
        assert seen is not None
        assert trial.clean is not None
        assert seen.kept + seen.refused + seen.unknown == 40 + trial.clean.sent
        if trial.clean.ended_by == "enough":
            assert seen.kept >= 40
        # The raw estimate is that of a study without feedback: packets on schedule.
        assert seen.raw.n == group.answered == 40
    rows = as_json(delaylab("show", str(tmp_path / "data"), "--json"))
    assert rows
    csv = delaylab("show", str(tmp_path / "data"), "--csv", "clean").stdout
    head, *lines = csv.splitlines()
    assert {"kept", "refused", "clean_median_us", "raw_median_us"} <= set(head.split(","))
    assert len(lines) == 3
