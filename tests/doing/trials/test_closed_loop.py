"""A closed loop from a study's file to its report, over a link of known delay."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab_study.analysis.analyse import groups
from delaylab_study.dataset.store import read_study
from delaylab_study.study_file.probe import CLOSED_LOOP
from tests.doing.conftest import Run, as_json
from tests.grouped import of_packets

pytestmark = pytest.mark.root
RTT_MS = 20
STUDY = """
study: loops
lab:
  lab: loops
  nodes: {probe: {}, echo: {}}
  links: [{between: [probe, echo], name: wan, delay: 10ms}]
factors:
  protocol: {icmp: {probe.protocol: icmp}, udp: {probe.protocol: udp}, tcp: {probe.protocol: tcp}}
probe: {from: probe, to: echo, interval: closed-loop, timeout: 2s, count: 60, at_rest: 5,
  at_rest_interval: 5ms}
claims:
  - {claim: delayed, of: rtt.app, group: {protocol: icmp}, median: {more-than: 20ms}}
"""


def test_the_rate_is_that_of_the_links_round_trip(delaylab: Run, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    delaylab("run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "data"))
    study = read_study(tmp_path / "data")
    for trial in study.trials:
        assert (trial.interval_ns, trial.timeout_ns) == (0, 2_000_000_000)
        sent = study.probes(trial.id).filter(phase="load")["sent_ns"]
        gap = sent.diff().drop_nulls().median()
        assert isinstance(gap, float)
        assert RTT_MS <= gap / 1e6 < 2 * RTT_MS, trial.id
    for group in groups(study):
        (loop,) = of_packets(group).loops
        assert (loop.in_turn, loop.on_reply) == (1.0, 1.0)
        assert "send-slip" not in {doubt.kind for doubt in group.doubts}
    shown = as_json(delaylab("show", str(tmp_path / "data"), "--json"))
    (claim,) = shown["claims"]
    assert claim["verdict"] in ("holds", "open"), claim["why"]
    checked = shown["trials"][0]["loads"]
    assert {check["load"] for check in checked} == {CLOSED_LOOP.replace("-", " ")}
    assert all(check["acted"] for check in checked)
