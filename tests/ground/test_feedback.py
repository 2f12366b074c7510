"""`clean` of a probe in a study file: what is refused, in one line."""

from __future__ import annotations

import re

import pytest

from delaylab.errors import BadInput
from delaylab.spec.source import parse
from delaylab_study.papers.studies import find
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import study_from

STUDY = find("quickstart").read_text()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("interval: closed-loop, clean: {}", "a probe with `clean` has an `interval` of its own"),
        ("interval: 10ms, held: true, clean: {}", "and no `held`"),
        ("interval: 9ms, clean: {}", "a probe with `clean` has an `interval` of 10ms at least"),
        ("interval: 10ms, clean: {budget: -1}", "expected at least 0, got -1"),
        ("interval: 10ms, clean: {bugdet: 5}", "bugdet"),
        ("interval: 10ms, clean: 30s", "clean"),
    ],
)
def test_feedback_that_contradicts_its_probe_is_refused(given: str, says: str) -> None:
    with pytest.raises(BadInput, match=re.escape(says)) as refused:
        study_from(parse(STUDY.replace("interval: 10ms", given), "study.yaml"))
    assert "study.yaml" in str(refused.value)


def test_feedback_from_a_virtual_machine_is_refused() -> None:
    """Its packets have its own clock's times, by which none finds a sample of its machine."""
    said = STUDY.replace("interval: 10ms", "interval: 10ms, clean: {}")
    (each, *_) = combinations(study_from(parse(said, "s.yaml")), "quick")
    assert each.probe is not None
    assert each.probe.packets == each.probe.count * 2 + 3 * each.probe.at_rest
    wrong = said.replace("netns: {nodes.probe.kind: netns", "netns: {nodes.probe.kind: qemu")
    with pytest.raises(BadInput, match=r"s.yaml:24: .*has a clock of its own"):
        list(combinations(study_from(parse(wrong, "s.yaml")), "quick"))
