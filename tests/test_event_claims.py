"""Claims about events before a study runs: what a dry run says of them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from delaylab.cli import whole
from delaylab.errors import BadInput
from delaylab_study.study import order
from delaylab_study.study_file.load import load_study

EVENTS = """\
study: events
lab:
  lab: events
  routing: ospf
  nodes: {a: {forwards: true}, b: {forwards: true}}
  links: [{between: [a, b], name: wire}]
factors:
  times:
    once: {timeline: [{at: 1s, down: wire}]}
    twice: {timeline: [{at: 1s, down: wire}, {at: 2s, up: wire}]}
claims:
  - {claim: soon, of: converged, event: NUMBER, LEVELS, median: {at-most: 1s}}
"""


def test_a_claim_about_an_event_has_no_expected_time(tmp_path: Path) -> None:
    """It is testable: only what routers will take is not known before."""
    text = EVENTS.replace("NUMBER", "2").replace("LEVELS", "group: {times: twice}")
    (tmp_path / "events.yaml").write_text(text)
    argv = ["run", str(tmp_path / "events.yaml"), "--dry-run", "--json"]
    done = CliRunner().invoke(whole(), argv)
    assert done.exit_code == 0, done.output
    (claim,) = json.loads(done.stdout)["claims"]
    assert (claim["verdict"], claim["effect"]) == (None, None)
    assert "is not known before" in claim["why"]


@pytest.mark.parametrize(
    ("number", "levels", "what"),
    [
        ("2", "group: {times: once}", "event 2, and the timeline with times=once has 1 event "),
        ("3", "in: some", "is about event 3, and the timeline has 2 events "),
        ("2", "group: {times: twice}, against: {times: once}", "with times=once has 1 event "),
    ],
)
def test_a_claim_about_an_event_that_there_is_not_is_refused(
    tmp_path: Path, number: str, levels: str, what: str
) -> None:
    study = tmp_path / "events.yaml"
    study.write_text(EVENTS.replace("NUMBER", number).replace("LEVELS", levels))
    with pytest.raises(BadInput) as refused:
        order.plan_trials(load_study(study), "quick", {})
    assert what in f"{refused.value.what} "
    assert refused.value.where == f"{study}:12"
    without = EVENTS.replace("NUMBER", "1").replace("LEVELS", "in: some")
    study.write_text(without.replace("  routing: ospf\n", ""))
    with pytest.raises(BadInput, match="is about routers, and the lab has no `routing`"):
        order.plan_trials(load_study(study), "quick", {})
